/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of this machine's clocks: their ends, slow clients, records that are lost, pauses. */
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "tests/unit/sampled.h"
#include "tests/unit/test.h"

/* The number of records that was asked for, in the order of time. Nothing is open without a client. */
static void test_max(void **state)
{
    struct sampled *f = *state;
    struct reader a, *all[] = {&a};

    assert_int_equal(count_perf_fds(), 0);
    sampled_start(f, &(struct stream_request){.max = 50}, &a);
    assert_int_equal(count_perf_fds(), cpuset_count(&f->machine->online));
    sampled_run(f, 10, all, 1);
    const char *text = reader_text_of(&a);
    assert_true(str_starts(text, "begin "));
    assert_int_equal(count_words(text, "sample "), 50);
    assert_non_null(strstr(text, "end max 50 0\n"));
    uint64_t last = 0;
    for (const char *at = text; (at = strstr(at, "sample ")); at++) {
        uint64_t time = strtoull(at + strlen("sample "), NULL, 10);
        assert_true(time >= last);
        last = time;
    }
    sampled_run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0); /* the client is there still */
    reader_stop(&a);
}

/* A client that takes nothing loses whole records, and learns how many; others lose none. */
static void test_slow(void **state)
{
    struct sampled *f = *state;
    struct stream_request request = {.seconds = 1, .period = 100000};
    struct reader slow, fast, *all[] = {&slow, &fast};
    uint64_t records, dropped;

    sampled_start(f, &request, &slow);
    sampled_start(f, &request, &fast);
    slow.lazy = true;
    seen.room = SIZE_MAX;
    sampled_run(f, 10, all, 2);
    assert_true(seen.room < (size_t)15 << 20); /* what waits is not for tables of symbols */
    slow.lazy = false;
    sampled_run(f, 10, (struct reader *[]){&slow}, 1);
    const char *fast_end = strstr(reader_text_of(&fast), "end seconds ");
    assert_non_null(fast_end);
    assert_int_equal(sscanf(fast_end, "end seconds %" SCNu64 " %" SCNu64, &records, &dropped), 2);
    assert_int_equal(dropped, 0);
    assert_int_equal(count_words(fast.text.data, "sample "), records);
    uint64_t all_records = records;
    const char *slow_end = strstr(reader_text_of(&slow), "end seconds ");
    assert_non_null(slow_end);
    assert_int_equal(sscanf(slow_end, "end seconds %" SCNu64 " %" SCNu64, &records, &dropped), 2);
    assert_true(dropped > 0);
    assert_true(slow.text.size < 4 * 1024 * 1024); /* of two clients, so half of it and a margin */
    assert_int_equal(count_words(slow.text.data, "sample "), records);
    /* They began and ended at almost the same time. */
    assert_true(records + dropped >= all_records - all_records / 10);
    reader_stop(&slow);
    reader_stop(&fast);
}

/* Keeps the CPU busy, and looks at no ring. */
static void lose(double seconds)
{
    for (double until = monotonic_seconds() + seconds; monotonic_seconds() < until;)
        continue;
}

/* Records of processes may be lost: then /proc is read again, at most once a second. */
static void test_lost(void **state)
{
    struct sampled *f = *state;
    struct reader a;

    f->config.ring_pages = 1;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    double begun = monotonic_seconds();
    sampled_start(f, &(struct stream_request){.seconds = 20, .period = 100000}, &a);
    sampled_run(f, 0.01, NULL, 0);
    seen.n_scans = 0;
    while (monotonic_seconds() < begun + 10 && seen.n_scans < 2) {
        lose(0.05);
        sampled_run(f, 0.01, NULL, 0);
        assert_true(seen.n_scans <= monotonic_seconds() - begun);
    }
    assert_int_equal(seen.n_scans, 2);
    sampled_run(f, 0.05, NULL, 0);
    reader_drain(&a);
    buffer_append_char(&a.text, '\0');
    assert_int_equal(count_words(a.text.data, "rescanned"), 2);
    reader_stop(&a);
    sampled_run(f, 0.01, NULL, 0);
}

/* A ring of the test's own. */
static struct perf_event_mmap_page *page;

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

/* A malformed record does not end the stream. Its ring is given up, so /proc is read again. */
static void test_malformed(void **state)
{
    struct sampled *f = *state;
    struct reader a, *all[] = {&a};

    f->sys.mmap = map_own;
    sampled_start(f, &(struct stream_request){.seconds = 1.5}, &a);
    sampled_run(f, 0.05, all, 1);
    seen.n_scans = 0;
    page->data_head = sizeof(struct perf_event_header); /* of a record of 0 bytes */
    sampled_run(f, 5, all, 1);
    assert_int_equal(seen.n_scans, 1);
    const char *text = reader_text_of(&a);
    assert_non_null(strstr(text, "malformed 1\n"));
    assert_int_equal(count_words(text, "rescanned"), 1);
    assert_non_null(strstr(text, "end seconds "));
    reader_stop(&a);
    sampled_run(f, 0.01, NULL, 0);
}

/* Whether a line of the text begins with the word; then the number that follows. */
static bool has_time(const char *line, const char *word, uint64_t *ret)
{
    bool has = strncmp(line, word, strlen(word)) == 0;

    *ret = has ? strtoull(line + strlen(word), NULL, 10) : 0;
    return has;
}

/* Samples before a pause are earlier, those after its end later. */
static void check_outside(const char *text)
{
    uint64_t resumed = 0, last = 0, time;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (has_time(line, "sample ", &time)) {
            assert_true(time > resumed);
            last = MAX(last, time);
        } else if (has_time(line, "pause ", &time)) {
            assert_true(time > last);
        } else if (has_time(line, "resume ", &time)) {
            resumed = time;
        }
    }
}

/* The writer learns of a pause, and no sample lies in it. */
static void check_pause(const char *text)
{
    const char *pause = strstr(text, "pause "), *resume = strstr(text, "resume ");

    assert_non_null(pause);
    assert_non_null(resume);
    assert_true(pause < resume);
    check_outside(text);
    uint64_t from = strtoull(pause + strlen("pause "), NULL, 10);
    for (const char *at = text; (at = strstr(at, "sample ")); at++)
        assert_true((strtoull(at + strlen("sample "), NULL, 10) < from) == (at < pause));
    assert_non_null(strstr(resume, "rescanned\n"));
}

/* Nothing is sampled in a pause, and seconds go on. A stream that is opened in a pause begins with it. */
static void test_pause(void **state)
{
    struct sampled *f = *state;
    struct stream_request request = {.seconds = 1.2, .max = 0};
    struct reader a, b, *all[] = {&a, &b};

    sampled_start(f, &request, &a);
    double begun = monotonic_seconds();
    sampled_run(f, 0.3, all, 1);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    request.period = 2000000; /* rings of its own */
    sampled_start(f, &request, &b);
    sampled_run(f, 0.3, all, 2);
    size_t before = a.text.size;
    sampler_cpus_changed(f->sampler, f->machine, &f->machine->online); /* opened again, and paused */
    sampled_run(f, 0.2, all, 2);
    assert_int_equal(a.text.size, before);
    assert_int_equal(sampler_pause(f->sampler, false), 0);
    sampled_run(f, 5, all, 1);
    assert_true(monotonic_seconds() - begun < 2);
    sampled_run(f, 5, all, 2);
    check_pause(reader_text_of(&a));
    check_pause(reader_text_of(&b));
    assert_int_equal(count_words(a.text.data, "pause "), 1);
    assert_int_equal(count_words(b.text.data, "sample ") > 10, true);
    assert_null(memmem(b.text.data, (size_t)(strstr(b.text.data, "pause ") - b.text.data), "sample ", 7));
    assert_non_null(strstr(a.text.data, "end seconds "));
    assert_non_null(strstr(strstr(a.text.data, "resume "), "sample "));
    reader_stop(&a);
    reader_stop(&b);
    sampled_run(f, 0.01, NULL, 0);
}

/* Many pauses cause few scans of /proc; the last scan begins after the last pause. */
static void test_many_pauses(void **state)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct stream_request){.seconds = 10}, &a);
    sampled_run(f, 0.05, NULL, 0);
    seen.n_scans = 0;
    for (unsigned i = 0; i < 50; i++) {
        sampler_pause(f->sampler, true);
        sampler_pause(f->sampler, false);
    }
    assert_int_equal(seen.n_scans, 1);
    sampled_run(f, 0.2, NULL, 0);
    assert_int_equal(seen.n_scans, 2);
    reader_drain(&a);
    buffer_append_char(&a.text, '\0');
    assert_int_equal(count_words(a.text.data, "rescanned"), 1);
    reader_stop(&a);
}

/* The first samples after a pause are later than its end, however soon they come. */
static void test_end_of_pause(void **state)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct stream_request){.seconds = 20, .period = 100000}, &a);
    sampled_run(f, 0.05, NULL, 0);
    for (unsigned i = 0; i < 200; i++) {
        sampler_pause(f->sampler, true);
        sampler_pause(f->sampler, false);
        sampled_run(f, 0.001, NULL, 0);
    }
    reader_drain(&a);
    buffer_append_char(&a.text, '\0');
    assert_int_equal(count_words(a.text.data, "resume "), 200);
    assert_true(count_words(a.text.data, "sample ") > 200);
    check_outside(a.text.data);
    reader_stop(&a);
}

/* A format that needs all symbols at its end asks until none is missing, but not for ever. */
static void test_settles(void **state)
{
    struct sampled *f = *state;
    struct stream_request request = {.seconds = 0.05};
    struct reader a, *all[] = {&a};

    seen.unsettled = 3;
    sampled_start_writer(f, &request, &writer_settled, &a);
    sampled_run(f, 10, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    assert_int_equal(seen.unsettled, 0);
    reader_stop(&a);
    seen.unsettled = UINT_MAX;
    sampled_start_writer(f, &request, &writer_settled, &a);
    double began = monotonic_seconds();
    sampled_run(f, 20, all, 1);
    assert_non_null(strstr(reader_text_of(&a), "end seconds "));
    assert_true(monotonic_seconds() - began > 4);
    seen.unsettled = 0;
    reader_stop(&a);
    sampled_run(f, 0.01, NULL, 0);
}

/* A client that leaves while /proc is read is not called any more. */
static void test_gone_early(void **state)
{
    struct sampled *f = *state;
    struct reader a;

    sampled_start(f, &(struct stream_request){0}, &a);
    assert_false(seen.symbols->all_ended);
    reader_stop(&a);
    sampled_run(f, 0.05, NULL, 0);
    assert_true(seen.symbols->all_ended);
    assert_int_equal(a.calls, 0);
    assert_int_equal(count_perf_fds(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_max, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_slow, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_lost, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_malformed, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_settles, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_gone_early, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_pause, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_many_pauses, sampled_begin, sampled_end),
        cmocka_unit_test_setup_teardown(test_end_of_pause, sampled_begin, sampled_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
