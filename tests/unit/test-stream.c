/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of this machine's clock events: lost records, pauses, and clients that leave early. tests/e2e/sampler.sh and
 * pause.sh cover how streams end, slow clients, and what a client sees of a pause.
 */
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "sampler/stream.h"
#include "tests/unit/build-record.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/* --- the output queue of a client --- */

static void append(struct output_queue *output_queue, size_t size)
{
    char *room = buffer_reserve(&output_queue->bytes, size);

    assert_non_null(room);
    memset(room, 'x', size);
    buffer_advance(&output_queue->bytes, size);
}

/*
 * If memory runs out, output is lost. The stream then ends with an error, even after all bytes in the queue have been
 * sent.
 */
TEST(test_cut_short)
{
    const size_t sizes[] = {4, (size_t)2 << 20};
    static char bytes[(size_t)2 << 20];

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(output_queue_done) struct output_queue output_queue = {0};
        append(&output_queue, sizes[i]);
        assert_null(buffer_reserve(&output_queue.bytes, SIZE_MAX));
        assert_int_equal(output_queue_take(&output_queue, bytes, sizes[i]), sizes[i]);
        output_queue.complete = true;
        assert_int_equal(output_queue_take(&output_queue, bytes, sizes[i]), -ENOMEM);
    }
}

/* --- streams --- */

/* A ring buffer and a clock that the test controls. */
static struct perf_event_mmap_page *page;
static uint64_t skew_ns;
static struct sys_calls real;

static uint64_t now_skewed(struct sys *sys, clockid_t clock)
{
    return real.now(sys, clock) + skew_ns;
}

static int map_own(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    (void)sys;
    (void)fd;
    page = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    page->data_offset = page_size;
    page->data_size = size - page_size;
    *ret = page;
    return 0;
}

static void put_into_ring(const void *bytes, size_t size)
{
    memcpy((char *)page + page->data_offset + page->data_head, bytes, size);
    page->data_head += size;
}

/* A stream continues after lost records, and also after a malformed record, although its ring buffer is given up. */
TEST_WITH(test_lost_and_malformed, sampled_begin, sampled_end)
{
    static const struct perf_event_header malformed = {.size = 0};
    struct sampled *f = *state;
    struct reader a;
    struct built lost;

    real = wrap_calls(&f->sys, (struct sys_calls){.mmap = map_own, .now = now_skewed});
    sampled_start(f, &(struct record_request){0}, &a);
    sampled_until(f, reader_has(&a, "begin ", 1));
    start_record(&lost, PERF_RECORD_LOST, 0);
    put8(&lost, 1);
    put8(&lost, 7);
    put_trailer(&lost, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    set_record_size(lost.bytes, lost.size);
    for (unsigned i = 0; i < 2; i++) {
        seen.n_scans = 0;
        if (i == 0)
            put_into_ring(lost.bytes, lost.size);
        else
            put_into_ring(&malformed, sizeof(malformed));
        skew_ns += 2 * NSEC_PER_SEC;
        sampled_until(f, reader_has(&a, "rescanned", i + 1));
        assert_int_equal(seen.n_scans, 1);
    }
    assert_non_null(strstr(sampled_disable(f, &a), "malformed 1\n"));
    reader_stop(&a);
}

/*
 * Asserts that no sample was taken during a pause, however late it is delivered on a busy machine. Returns the number
 * of pauses.
 */
static unsigned check_pauses(const char *text)
{
    uint64_t paused = 0, resumed = 0;
    unsigned n = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (str_starts(line, "sample ")) {
            uint64_t time = strtoull(line + strlen("sample "), NULL, 10);
            assert_true(time <= paused || (resumed >= paused && time > resumed));
        } else if (str_starts(line, "pause ")) {
            paused = strtoull(line + strlen("pause "), NULL, 10);
            n++;
        } else if (str_starts(line, "resume ")) {
            resumed = strtoull(line + strlen("resume "), NULL, 10);
        }
    }
    return n;
}

/* Many pauses cause only a few scans of /proc, the last of which begins after the last pause. */
TEST_WITH(test_many_pauses, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct record_request){0}, &a);
    sampled_until(f, reader_has(&a, "begin ", 1));
    seen.n_scans = 0;
    for (unsigned i = 0; i < 50; i++) {
        sampler_pause(f->sampler, true);
        sampler_pause(f->sampler, false);
    }
    assert_int_equal(seen.n_scans, 1);
    sampled_until(f, reader_has(&a, "rescanned", 1));
    assert_int_equal(seen.n_scans, 2);
    /* The first samples after a pause have times after its end, however soon they arrive. */
    for (unsigned i = 0; i < 50; i++) {
        sampler_pause(f->sampler, true);
        sampler_pause(f->sampler, false);
        sampled_until(f, reader_has(&a, "sample ", count_words(reader_text_of(&a), "sample ") + 1));
    }
    assert_int_equal(check_pauses(sampled_disable(f, &a)), 100);
    reader_stop(&a);
}

/* A format that needs all symbols at its end waits until none is missing, but not forever. */
TEST_WITH(test_settles, sampled_begin, sampled_end)
{
    static const unsigned unsettled[] = {3, UINT_MAX};
    struct sampled *f = *state;
    struct reader a;

    for (size_t i = 0; i < ARRAY_SIZE(unsettled); i++) {
        seen.unsettled = unsettled[i];
        sampled_start_writer(f, &(struct record_request){.seconds = 0.05}, &writer_settled, &a);
        sampled_until(f, reader_ended(&a));
        assert_non_null(strstr(reader_text_of(&a), "end seconds "));
        assert_true(i == 0 ? seen.unsettled == 0 : seen.unsettled > 0);
        reader_stop(&a);
    }
}

/*
 * A stream that is stopped ends with all samples taken until then, their number and the reason, even if it has not
 * begun.
 */
TEST_WITH(test_stopped, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct record_request){0}, &a);
    assert_null(stream_source(a.stream));
    sampled_until(f, reader_has(&a, "sample ", 5));
    assert_string_equal(stream_source(a.stream)->events[0].name, "cpu-clock");
    stream_stop(a.stream, "enough");
    stream_stop(a.stream, "ignored");
    sampled_until(f, reader_ended(&a));
    assert_non_null(strstr(reader_text_of(&a), "end enough "));
    assert_int_equal(stream_end(a.stream)->samples, count_words(reader_text_of(&a), "sample "));
    reader_stop(&a);
    sampled_start(f, &(struct record_request){0}, &a);
    stream_stop(a.stream, "early");
    sampled_until(f, reader_ended(&a));
    assert_string_equal(strstr(reader_text_of(&a), "end "), "end early 0 0\nmalformed 0\n");
    reader_stop(&a);
}

/* The callbacks of a client that leaves while /proc is read are not called again. */
TEST_WITH(test_gone_early, sampled_begin, sampled_end)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct record_request){0}, &a);
    assert_false(seen.symbols->all_ended);
    reader_stop(&a);
    sampled_until(f, seen.symbols->all_ended && count_perf_fds() == 0);
    assert_int_equal(a.calls, 0);
}

TEST_MAIN(NULL, NULL)
