/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sampled.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

/* Writers that print a line for each record and notice */

struct seen seen;

static void *write_begin(const struct writer_source *source, struct buffer *out)
{
    buffer_appendf(out, "begin %zu\n", source->n_ids);
    return (void *)source;
}

static bool write_record(void *state, const struct record *record, struct buffer *out)
{
    (void)state;
    if (record->type == PERF_RECORD_SAMPLE)
        buffer_appendf(out, "sample %" PRIu64 " %" PRIu32 " %" PRIu32 "\n", record->id.time, record->id.cpu,
                       record->id.pid);
    return record->type == PERF_RECORD_SAMPLE;
}

static void write_mark(void *state, const struct writer_mark *mark, struct buffer *out)
{
    (void)state;
    if (mark->kind == WRITER_DROPPED)
        buffer_appendf(out, "dropped %" PRIu64 "\n", mark->n);
    else if (mark->kind == WRITER_PAUSED || mark->kind == WRITER_RESUMED)
        buffer_appendf(out, "%s %" PRIu64 "\n", mark->kind == WRITER_PAUSED ? "pause" : "resume", mark->time_ns);
    else if (mark->kind == WRITER_RESCANNED)
        buffer_append_text(out, "rescanned\n");
}

/* Checks that the events are still valid at the end of the stream, when their CPUs may be offline. */
static void write_end(void *state, const struct writer_end *end, struct buffer *out)
{
    const struct writer_source *source = state;

    assert_int_equal(source->n_events, 1);
    assert_string_equal(source->events[0].name, "cpu-clock");
    assert_int_equal(source->events[0].attr->type, PERF_TYPE_SOFTWARE);
    buffer_appendf(out, "end %s %" PRIu64 " %" PRIu64 "\nmalformed %" PRIu64 "\n", end->reason, end->records,
                   end->dropped, end->malformed);
}

static void write_free(void *state)
{
    (void)state;
}

static bool write_settle(void *state)
{
    (void)state;
    return seen.unsettled == 0 || --seen.unsettled == 0;
}

#define LINES .begin = write_begin, .record = write_record, .mark = write_mark, .end = write_end, .free = write_free

const struct writer writer_lines = {LINES}, writer_settled = {LINES, .seconds = 30, .settle = write_settle};

/* Stub symbols that resolve nothing */

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret)
{
    (void)sys;
    *ret = calloc(1, sizeof(**ret));
    assert_non_null(*ret);
    (*ret)->event = event;
    return 0;
}

void symbols_set_child(struct symbols *symbols, struct child *child)
{
    (void)symbols;
    (void)child;
}

struct symbols *symbols_free(struct symbols *symbols)
{
    free(symbols);
    return NULL;
}

void symbols_update(struct symbols *symbols, const struct record *record)
{
    (void)symbols;
    if (record->type == PERF_RECORD_COMM && record->id.cpu != UINT32_MAX && str_starts(record->comm.comm, "renamed"))
        snprintf(seen.renamed, sizeof(seen.renamed), "%s-%" PRIu32, record->comm.comm, record->id.cpu);
}

void symbols_resolve(struct symbols *symbols, uint32_t pid, bool kernel, uint64_t ip, struct frame *ret)
{
    (void)symbols;
    (void)pid;
    *ret = (struct frame){.ip = ip, .kernel = kernel};
}

void symbols_end_all(struct symbols *symbols)
{
    symbols->all_ended = true;
}

static int call_done(sd_event_source *source, void *userdata)
{
    struct symbols *symbols = seen.symbols;

    (void)source;
    for (size_t i = 0; i < ARRAY_SIZE(symbols->scans); i++) {
        struct scan scan = symbols->scans[i];
        symbols->scans[i] = (struct scan){0};
        if (scan.done)
            scan.done(scan.userdata);
    }
    return 0;
}

int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata)
{
    (void)pid;
    seen.symbols = symbols;
    seen.n_scans++;
    size_t free_one = 0;
    symbols->cancelled = NULL;
    while (symbols->scans[free_one].done)
        assert_true(++free_one < ARRAY_SIZE(symbols->scans));
    symbols->scans[free_one] = (struct scan){done, userdata};
    return MIN(sd_event_add_defer(symbols->event, NULL, call_done, NULL), 0);
}

void symbols_cancel(struct symbols *symbols, const void *userdata)
{
    symbols->cancelled = userdata;
    for (size_t i = 0; i < ARRAY_SIZE(symbols->scans); i++)
        if (symbols->scans[i].userdata == userdata)
            symbols->scans[i] = (struct scan){0};
}

size_t symbols_bytes(const struct symbols *symbols)
{
    (void)symbols;
    return 0;
}

void symbols_set_room(struct symbols *symbols, size_t bytes)
{
    (void)symbols;
    seen.room = bytes;
}

static void (*on_idle)(void *userdata);
static struct symbols *idle_symbols;

static int call_idle(sd_event_source *source, void *userdata)
{
    (void)source;
    if (idle_symbols->cancelled != userdata)
        on_idle(userdata);
    return 0;
}

int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata)
{
    on_idle = idle;
    idle_symbols = symbols;
    return MIN(sd_event_add_defer(symbols->event, NULL, call_idle, userdata), 0);
}

/* A sampler of this machine. */

unsigned count_perf_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    char target[64];
    unsigned n = 0;

    while ((entry = readdir(directory))) {
        ssize_t size = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
        target[MAX(size, 0)] = '\0';
        n += strstr(target, "perf_event") != NULL;
    }
    closedir(directory);
    return n;
}

static void drain(struct reader *reader)
{
    char bytes[4096];
    ssize_t n;

    while (!reader->ended && (n = stream_read(reader->stream, bytes, sizeof(bytes))) != 0) {
        reader->ended = n == -ENODATA;
        if (n > 0)
            buffer_append(&reader->text, bytes, (size_t)n);
    }
}

void reader_on_ready(void *userdata)
{
    struct reader *reader = userdata;

    reader->calls++;
}

int sampled_begin(void **state)
{
    struct sampled *f = calloc(1, sizeof(*f));
    struct error error;

    seen = (struct seen){0};
    sys_init(&f->sys);
    f->config = (struct config_sampler){.enabled = true,
                                        .event = (char *)"cpu-clock",
                                        .period = 1000000,
                                        .ring_pages = 16,
                                        .max_clients = 4,
                                        .max_seconds = 60,
                                        .memory = 16 << 20};
    assert_true(sd_event_new(&f->event) >= 0);
    assert_int_equal(machine_load(&f->sys, &f->machine, &error), 0);
    assert_int_equal(sampler_new(&f->sys, f->event, &f->symboliser, NULL, &f->sampler), 0);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    *state = f;
    return 0;
}

int sampled_end(void **state)
{
    struct sampled *f = *state;

    sampler_free(f->sampler);
    machine_free(f->machine);
    sd_event_unref(f->event);
    free(f);
    return count_perf_fds() == 0 ? 0 : -1;
}

void sampled_start_writer(struct sampled *f, const struct record_request *request, const struct writer *writer,
                          struct reader *reader)
{
    struct error error = {0};

    *reader = (struct reader){0};
    int r = stream_open(f->sampler, request, writer, reader_on_ready, reader, &reader->stream, &error);
    if (r == -EACCES || r == -EPERM || r == -ENOSYS) {
        print_message("%s\n", error.message);
        skip_because("the right to sample");
    }
    if (r < 0)
        fail_msg("%s", error.message);
}

void sampled_start(struct sampled *f, const struct record_request *request, struct reader *reader)
{
    sampled_start_writer(f, request, &writer_lines, reader);
}

void reader_stop(struct reader *reader)
{
    reader->stream = stream_free(reader->stream);
    buffer_done(&reader->text);
}

void sampled_turn(struct sampled *f, const char *condition, time_t *limit)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (*limit == 0)
        *limit = now.tv_sec + 60;
    if (now.tv_sec > *limit)
        fail_msg("waited for %s", condition);
    sd_event_run(f->event, 1000);
}

bool reader_has(struct reader *reader, const char *word, unsigned n)
{
    drain(reader);
    return reader->text.size > 0 && count_words(reader_text_of(reader), word) >= n;
}

bool reader_ended(struct reader *reader)
{
    drain(reader);
    return reader->ended;
}

const char *sampled_disable(struct sampled *f, struct reader *reader)
{
    f->config.enabled = false;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    sampled_until(f, reader_ended(reader));
    return reader_text_of(reader);
}

const char *reader_text_of(struct reader *reader)
{
    buffer_append_char(&reader->text, '\0');
    assert_false(reader->text.failed);
    reader->text.size--;
    return reader->text.data;
}

/* Uses memmem(), since AddressSanitizer measures the rest of the text at each strstr(). */
unsigned count_words(const char *text, const char *word)
{
    const char *end = text + strlen(text);
    unsigned n = 0;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, strlen(word))); at += strlen(word))
        n++;
    return n;
}
