/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of this machine's clocks, by a format of a line a record, without symbols. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "sampler/stream.h"
#include "tests/unit/test.h"

/* The format: a line for each record and notice; samples are long. */
#define PADDING 600

static void *write_begin(const struct writer_source *source, struct buffer *out)
{
    buffer_appendf(out, "begin %zu\n", source->n_ids);
    return (void *)source;
}

static bool write_record(void *state, const struct record *record, struct buffer *out)
{
    (void)state;
    if (record->type == PERF_RECORD_SAMPLE)
        buffer_appendf(out, "sample %" PRIu64 " %" PRIu32 " %" PRIu32 "\n%*c\n", record->id.time, record->id.cpu,
                       record->id.pid, PADDING, '.');
    return record->type == PERF_RECORD_SAMPLE;
}

static void write_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    (void)state;
    if (notice->kind == WRITER_DROPPED)
        buffer_appendf(out, "dropped %" PRIu64 "\n", notice->n);
    else if (notice->kind == WRITER_PAUSED || notice->kind == WRITER_RESUMED)
        buffer_appendf(out, "%s %" PRIu64 "\n", notice->kind == WRITER_PAUSED ? "pause" : "resume", notice->time_ns);
    else if (notice->kind == WRITER_RESCANNED)
        buffer_append_text(out, "rescanned\n");
}

/* A format may describe the events at its end, even if their CPUs have left. */
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

static unsigned unsettled; /* how often it returns false */

static bool write_settle(void *state)
{
    (void)state;
    return unsettled == 0 || --unsettled == 0;
}

#define LINES .begin = write_begin, .record = write_record, .notice = write_notice, .end = write_end, .free = write_free

static const struct writer lines = {LINES}, settled = {LINES, .seconds = 30, .settle = write_settle};

/* Symbols that know nothing. */

struct symbols {
    sd_event *event;
    void (*done)(void *userdata);
    const void *cancelled;
    bool all_ended;
};

int symbols_new(struct sys *sys, sd_event *event, struct symbols **ret)
{
    (void)sys;
    *ret = calloc(1, sizeof(**ret));
    assert_non_null(*ret);
    (*ret)->event = event;
    return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
    free(symbols);
    return NULL;
}

/* The name and CPU of the last record of a new name. */
static char renamed[16];

void symbols_update(struct symbols *symbols, const struct record *record)
{
    (void)symbols;
    if (record->type == PERF_RECORD_COMM && record->id.cpu != UINT32_MAX && str_starts(record->comm.comm, "renamed"))
        snprintf(renamed, sizeof(renamed), "%s-%" PRIu32, record->comm.comm, record->id.cpu);
}

void symbols_end_all(struct symbols *symbols)
{
    symbols->all_ended = true;
}

static sd_event_handler_t on_scanned;
static struct symbols *scanned_symbols;
static unsigned n_scans;

static int call_done(sd_event_source *source, void *userdata)
{
    sd_event_source_disable_unref(source);
    if (scanned_symbols->cancelled != userdata)
        scanned_symbols->done(userdata);
    return 0;
}

int symbols_scan(struct symbols *symbols, uint32_t pid, void (*done)(void *userdata), void *userdata)
{
    sd_event_source *source;

    (void)pid;
    on_scanned = call_done;
    scanned_symbols = symbols;
    n_scans++;
    symbols->done = done;
    symbols->cancelled = NULL;
    return MIN(sd_event_add_defer(symbols->event, &source, on_scanned, userdata), 0);
}

void symbols_cancel(struct symbols *symbols, const void *userdata)
{
    symbols->cancelled = userdata;
}

/* The room that the sampler leaves for tables of symbols. */
static size_t room;

size_t symbols_bytes(const struct symbols *symbols)
{
    (void)symbols;
    return 0;
}

void symbols_set_room(struct symbols *symbols, size_t bytes)
{
    (void)symbols;
    room = bytes;
}

static void (*on_idle)(void *userdata);
static struct symbols *idle_symbols;

static int call_idle(sd_event_source *source, void *userdata)
{
    sd_event_source_disable_unref(source);
    if (idle_symbols->cancelled != userdata)
        on_idle(userdata);
    return 0;
}

int symbols_when_idle(struct symbols *symbols, void (*idle)(void *userdata), void *userdata)
{
    sd_event_source *source;

    on_idle = idle;
    idle_symbols = symbols;
    return MIN(sd_event_add_defer(symbols->event, &source, call_idle, userdata), 0);
}

/* A sampler of this machine. */

struct fixture {
    struct sys sys;
    sd_event *event;
    struct machine *machine;
    struct config_sampler config;
    enum standing admits; /* nothing: also what a test does not say the standing of */
    struct sampler *sampler;
};

struct reader {
    struct stream *stream;
    struct buffer text; /* ends with NUL when it has ended */
    unsigned calls;
    bool lazy; /* takes nothing */
    bool ended;
};

static unsigned count_perf_fds(void)
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

    while (!reader->ended && !reader->lazy && (n = stream_read(reader->stream, bytes, sizeof(bytes))) != 0) {
        reader->ended = n == -ENODATA;
        if (n > 0)
            buffer_append(&reader->text, bytes, (size_t)n);
    }
}

static void on_ready(void *userdata)
{
    struct reader *reader = userdata;

    reader->calls++;
}

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct error error;

    sys_init(&f->sys);
    f->config = (struct config_sampler){.enabled = true,
                                        .event = (char *)"cpu-clock",
                                        .period = 1000000,
                                        .ring_pages = 16,
                                        .max_clients = 4,
                                        .max_seconds = 60};
    assert_true(sd_event_new(&f->event) >= 0);
    assert_int_equal(machine_load(&f->sys, &f->machine, &error), 0);
    assert_int_equal(sampler_new(&f->sys, f->event, &f->sampler), 0);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;

    sampler_free(f->sampler);
    machine_free(f->machine);
    sd_event_unref(f->event);
    free(f);
    return count_perf_fds() == 0 ? 0 : -1;
}

/* False, with a message, if this machine or container does not allow to sample. */
static bool start_writer(struct fixture *f, const struct stream_request *request, const struct writer *writer,
                         struct reader *reader)
{
    struct error error = {0};

    *reader = (struct reader){0};
    int r = stream_open(f->sampler, request, writer, on_ready, reader, &reader->stream, &error);
    if (r == -EACCES || r == -EPERM) {
        print_message("skipped: %s\n", error.message);
        return false;
    }
    if (r < 0)
        fail_msg("%s", error.message);
    return true;
}

static bool start(struct fixture *f, const struct stream_request *request, struct reader *reader)
{
    return start_writer(f, request, &lines, reader);
}

static void stop(struct reader *reader)
{
    reader->stream = stream_free(reader->stream);
    buffer_done(&reader->text);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs until all readers that are not lazy have ended, at most for `seconds`; busy, so that clocks tick on a CPU. */
static void run(struct fixture *f, double seconds, struct reader *const *readers, size_t n)
{
    double until = now() + seconds;
    bool all = false;

    while (now() < until && !all) {
        sd_event_run(f->event, 1000);
        all = n > 0;
        for (size_t i = 0; i < n; i++) {
            drain(readers[i]);
            all &= readers[i]->ended || readers[i]->lazy;
        }
    }
}

static char *text_of(struct reader *reader)
{
    assert_true(reader->ended);
    buffer_append_char(&reader->text, '\0');
    assert_false(reader->text.failed);
    return reader->text.data;
}

/* By memmem(), as AddressSanitizer measures the rest of the text at each strstr(). */
static unsigned count(const char *text, const char *word)
{
    const char *end = text + strlen(text);
    unsigned n = 0;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, strlen(word))); at += strlen(word))
        n++;
    return n;
}

/* The number of records that was asked for, in the order of time. Nothing is open without a client. */
static void test_max(void **state)
{
    struct fixture *f = *state;
    struct reader a, *all[] = {&a};

    assert_int_equal(count_perf_fds(), 0);
    if (!start(f, &(struct stream_request){.max = 50}, &a))
        return;
    assert_int_equal(count_perf_fds(), cpuset_count(&f->machine->online));
    run(f, 10, all, 1);
    const char *text = text_of(&a);
    assert_true(str_starts(text, "begin "));
    assert_int_equal(count(text, "sample "), 50);
    assert_non_null(strstr(text, "end max 50 0\n"));
    uint64_t last = 0;
    for (const char *at = text; (at = strstr(at, "sample ")); at++) {
        uint64_t time = strtoull(at + strlen("sample "), NULL, 10);
        assert_true(time >= last);
        last = time;
    }
    run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0); /* the client is there still */
    stop(&a);
}

/* Clients of equal specs share one capture. A client that leaves ends no stream of others. */
static void test_sharing(void **state)
{
    struct fixture *f = *state;
    struct stream_request request = {.seconds = 0.5};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a, b, c, *all[] = {&a, &b};

    if (!start(f, &request, &a) || !start(f, &request, &b))
        return;
    assert_int_equal(count_perf_fds(), n);
    request.period = 2000000;
    assert_true(start(f, &request, &c));
    assert_int_equal(count_perf_fds(), 2 * n);
    stop(&c);
    run(f, 0.05, NULL, 0);
    assert_int_equal(count_perf_fds(), n);
    run(f, 10, all, 2);
    assert_non_null(strstr(text_of(&a), "end seconds "));
    assert_true(count(a.text.data, "sample ") > 20);
    assert_non_null(strstr(text_of(&b), "end seconds "));
    stop(&a);
    stop(&b);
    run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

/* A client that takes nothing loses whole records, and learns how many; others lose none. */
static void test_slow(void **state)
{
    struct fixture *f = *state;
    struct stream_request request = {.seconds = 1, .period = 100000};
    struct reader slow, fast, *all[] = {&slow, &fast};
    uint64_t records, dropped;

    if (!start(f, &request, &slow) || !start(f, &request, &fast))
        return;
    slow.lazy = true;
    room = SIZE_MAX;
    run(f, 10, all, 2);
    assert_true(room < (size_t)15 << 20); /* what waits is not for tables of symbols */
    slow.lazy = false;
    run(f, 10, (struct reader *[]){&slow}, 1);
    const char *fast_end = strstr(text_of(&fast), "end seconds ");
    assert_non_null(fast_end);
    assert_int_equal(sscanf(fast_end, "end seconds %" SCNu64 " %" SCNu64, &records, &dropped), 2);
    assert_int_equal(dropped, 0);
    assert_int_equal(count(fast.text.data, "sample "), records);
    uint64_t all_records = records;
    const char *slow_end = strstr(text_of(&slow), "end seconds ");
    assert_non_null(slow_end);
    assert_int_equal(sscanf(slow_end, "end seconds %" SCNu64 " %" SCNu64, &records, &dropped), 2);
    assert_true(dropped > 0);
    assert_true(slow.text.size < 4 * 1024 * 1024); /* of two clients, so half of it and a margin */
    assert_int_equal(count(slow.text.data, "sample "), records);
    /* They began and ended at almost the same time. */
    assert_true(records + dropped >= all_records - all_records / 10);
    stop(&slow);
    stop(&fast);
}

static void test_refused(void **state)
{
    struct fixture *f = *state;
    struct error error = {0};
    struct reader a, b, *all[] = {&a};
    struct stream *none;

    f->config.max_clients = 1;
    if (!start(f, &(struct stream_request){0}, &a))
        return;
    assert_int_equal(stream_open(f->sampler, &(struct stream_request){0}, &lines, on_ready, &b, &none, &error), -EBUSY);
    assert_string_equal(error.message,
                        "1 clients have samples already, as many as sampler.max_clients allows; try again later");
    run(f, 0.05, NULL, 0);
    drain(&a);
    f->config.enabled = false;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    run(f, 5, all, 1);
    assert_non_null(strstr(text_of(&a), "end reload "));
    stop(&a);
    assert_int_equal(stream_open(f->sampler, &(struct stream_request){0}, &lines, on_ready, &b, &none, &error),
                     -EOPNOTSUPP);
    assert_non_null(strstr(error.message, "sampler.enabled"));
    assert_int_equal(sampler_admit(f->sampler, STANDING_OPERATOR, &error), -EOPNOTSUPP);
    f->config.enabled = true;
    assert_int_equal(sampler_admit(f->sampler, STANDING_OPERATOR, &error), 0);
    assert_int_equal(
        stream_open(f->sampler, &(struct stream_request){.seconds = 61}, &lines, on_ready, &b, &none, &error), -EINVAL);
    assert_string_equal(error.message, "61 seconds are over the limit of 60, sampler.max_seconds");
    run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

/* A CPU leaves and comes back: its ring is closed, and another opened. */
static void test_hotplug(void **state)
{
    struct fixture *f = *state;
    struct machine fewer = *f->machine;
    _cleanup_(cpuset_done) struct cpuset left = {0}, rest = {0};
    size_t n = cpuset_count(&f->machine->online);
    struct reader a, *all[] = {&a};

    if (n < 2) {
        print_message("skipped: there is one CPU\n");
        return;
    }
    if (!start(f, &(struct stream_request){.seconds = 1}, &a))
        return;
    run(f, 0.2, NULL, 0);
    int gone = cpuset_next(&f->machine->online, -1);
    assert_int_equal(cpuset_copy(&f->machine->online, &rest), 0);
    cpuset_remove(&rest, (unsigned)gone);
    fewer.online = rest;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    assert_int_equal(count_perf_fds(), n - 1);
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    assert_int_equal(count_perf_fds(), n);
    assert_int_equal(cpuset_add(&left, (unsigned)gone), 0);
    sampler_cpus_changed(f->sampler, f->machine, &left); /* it left and is back already */
    assert_int_equal(count_perf_fds(), n);
    run(f, 10, all, 1);
    assert_non_null(strstr(text_of(&a), "end seconds "));
    stop(&a);
    /* The last one takes the capture with it. */
    assert_true(start(f, &(struct stream_request){.seconds = 10}, &a));
    run(f, 0.05, NULL, 0);
    struct cpuset none = {0};
    fewer.online = none;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    run(f, 5, all, 1);
    assert_non_null(strstr(text_of(&a), "end no CPU is left to sample "));
    stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
}

/* Records of processes come also from CPUs that are not sampled, since processes move. */
static void test_other_cpus(void **state)
{
    struct fixture *f = *state;
    struct reader a, *all[] = {&a};
    unsigned other = (unsigned)cpuset_next(&f->machine->online, -1);
    int sampled = cpuset_next(&f->machine->online, (int)other);
    char cpus[16], expected[16];
    cpu_set_t set;

    if (sampled < 0) {
        print_message("skipped: there is one CPU\n");
        return;
    }
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    snprintf(expected, sizeof(expected), "renamed-%u", other);
    renamed[0] = '\0';
    if (!start(f, &(struct stream_request){.seconds = 1, .cpus = cpus}, &a))
        return;
    assert_int_equal(count_perf_fds(), cpuset_count(&f->machine->online));
    run(f, 0.1, NULL, 0);
    pid_t child = fork();
    if (child == 0) {
        CPU_ZERO(&set);
        CPU_SET(other, &set);
        _exit(sched_setaffinity(0, sizeof(set), &set) < 0 || prctl(PR_SET_NAME, "renamed") < 0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    run(f, 10, all, 1);
    assert_string_equal(renamed, expected);
    stop(&a);
    /* Without its CPU, nothing is sampled, even if other CPUs are still tracked. */
    struct machine fewer = *f->machine;
    _cleanup_(cpuset_done) struct cpuset rest = {0};
    assert_true(start(f, &(struct stream_request){.seconds = 10, .cpus = cpus}, &a));
    run(f, 0.05, NULL, 0);
    assert_int_equal(cpuset_copy(&f->machine->online, &rest), 0);
    cpuset_remove(&rest, (unsigned)sampled);
    fewer.online = rest;
    sampler_cpus_changed(f->sampler, &fewer, NULL);
    run(f, 5, all, 1);
    assert_non_null(strstr(text_of(&a), "end no CPU is left to sample "));
    stop(&a);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    run(f, 0.01, NULL, 0);
}

static int (*real_mmap)(struct sys *sys, int fd, size_t size, int protection, void **ret);
static int (*real_munmap)(struct sys *sys, void *address, size_t size);
static unsigned n_mappable; /* rings that the limit of locked memory has room for */
static size_t mapped[2];    /* bytes */

static int map_few(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    if (n_mappable == 0)
        return -EPERM;
    int r = real_mmap(sys, fd, size, protection, ret);
    mapped[--n_mappable] = size;
    return r;
}

static int unmap(struct sys *sys, void *address, size_t size)
{
    n_mappable++;
    return real_munmap(sys, address, size);
}

/* On one CPU; the frequency distinguishes it from other streams. */
static bool start_on(struct fixture *f, int cpu, uint64_t frequency, struct reader *reader)
{
    char cpus[16];

    snprintf(cpus, sizeof(cpus), "%d", cpu);
    return start(f, &(struct stream_request){.seconds = 0.2, .cpus = cpus, .frequency = frequency}, reader);
}

/* Lanes that only track are closed for a client that comes later and needs their memory. */
static void test_memory_for_samples(void **state)
{
    struct fixture *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    struct reader a, b, *both[] = {&a, &b};

    if (sampled < 0) {
        print_message("skipped: there is one CPU\n");
        return;
    }
    real_mmap = f->sys.mmap;
    real_munmap = f->sys.munmap;
    f->sys.mmap = map_few;
    f->sys.munmap = unmap;
    n_mappable = 2;
    if (!start_on(f, sampled, 100, &a))
        return;
    assert_int_equal(n_mappable, 0);
    assert_true(start_on(f, sampled, 101, &b));
    assert_int_equal(count_perf_fds(), 2);
    run(f, 5, both, 2);
    assert_non_null(strstr(text_of(&a), "end seconds "));
    assert_non_null(strstr(text_of(&b), "end seconds "));
    stop(&a);
    stop(&b);
    run(f, 0.01, NULL, 0);
}

/* If there is memory for one ring only, it is that of the sampled CPU; other rings are small. */
static void test_locked_memory(void **state)
{
    struct fixture *f = *state;
    int first = cpuset_next(&f->machine->online, -1), sampled = cpuset_next(&f->machine->online, first);
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct reader a, *all[] = {&a};
    char cpus[16];

    if (sampled < 0) {
        print_message("skipped: there is one CPU\n");
        return;
    }
    snprintf(cpus, sizeof(cpus), "%d", sampled);
    real_mmap = f->sys.mmap;
    f->sys.mmap = map_few;
    for (unsigned rings = 2; rings > 0; rings--) {
        n_mappable = rings;
        if (!start(f, &(struct stream_request){.seconds = 0.2, .cpus = cpus}, &a))
            return;
        assert_int_equal(count_perf_fds(), rings);
        assert_int_equal(mapped[rings - 1], (1 + f->config.ring_pages) * page_size);
        run(f, 5, all, 1);
        assert_non_null(strstr(text_of(&a), "end seconds "));
        stop(&a);
        run(f, 0.01, NULL, 0);
    }
    assert_int_equal(f->config.ring_pages, 16);
    assert_int_equal(mapped[0], (1 + f->config.ring_pages) * page_size);
}

/* Keeps the CPU busy, and looks at no ring. */
static void lose(double seconds)
{
    for (double until = now() + seconds; now() < until;)
        continue;
}

/* Records of processes may be lost: then /proc is read again, at most once a second. */
static void test_lost(void **state)
{
    struct fixture *f = *state;
    struct reader a;

    f->config.ring_pages = 1;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    double begun = now();
    if (!start(f, &(struct stream_request){.seconds = 20, .period = 100000}, &a))
        return;
    run(f, 0.01, NULL, 0);
    n_scans = 0;
    while (now() < begun + 10 && n_scans < 2) {
        lose(0.05);
        run(f, 0.01, NULL, 0);
        assert_true(n_scans <= now() - begun);
    }
    assert_int_equal(n_scans, 2);
    run(f, 0.05, NULL, 0);
    drain(&a);
    buffer_append_char(&a.text, '\0');
    assert_int_equal(count(a.text.data, "rescanned"), 2);
    stop(&a);
    run(f, 0.01, NULL, 0);
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
    struct fixture *f = *state;
    struct reader a, *all[] = {&a};

    f->sys.mmap = map_own;
    if (!start(f, &(struct stream_request){.seconds = 1.5}, &a))
        return;
    run(f, 0.05, all, 1);
    n_scans = 0;
    page->data_head = sizeof(struct perf_event_header); /* of a record of 0 bytes */
    run(f, 5, all, 1);
    assert_int_equal(n_scans, 1);
    const char *text = text_of(&a);
    assert_non_null(strstr(text, "malformed 1\n"));
    assert_int_equal(count(text, "rescanned"), 1);
    assert_non_null(strstr(text, "end seconds "));
    stop(&a);
    run(f, 0.01, NULL, 0);
}

/* One process is sampled and no other, with its child; the stream ends with it. */
static void test_process(void **state)
{
    struct fixture *f = *state;
    struct reader a, *all[] = {&a};
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        double until = now() + 0.7;
        while (now() < until)
            continue;
        _exit(0);
    }
    if (start(f, &(struct stream_request){.pid = (uint32_t)child}, &a)) {
        run(f, 0.3, NULL, 0);
        waitpid(child, NULL, 0);
        run(f, 5, all, 1);
        char word[32], *text = text_of(&a);
        snprintf(word, sizeof(word), " %d\n", (int)child);
        assert_true(count(text, "sample ") > 50);
        assert_int_equal(count(text, word), count(text, "sample "));
        assert_non_null(strstr(text, "end the process has ended "));
        stop(&a);
    } else {
        waitpid(child, NULL, 0);
    }
}

static const struct {
    enum standing in_admits, in_standing;
    int out;
    const char *out_remedy;
} admissions[] = {
    {STANDING_OPERATOR, STANDING_OPERATOR, 0, NULL},
    {STANDING_OPERATOR, STANDING_LOCAL, -EACCES, "\"sampler.allow: local\""},
    {STANDING_OPERATOR, STANDING_LOCAL, -EACCES, "curl --unix-socket"},
    {STANDING_OPERATOR, STANDING_EVERYBODY, -EACCES, "are for operators: clients with a password or certificate"},
    {STANDING_LOCAL, STANDING_OPERATOR, 0, NULL},
    {STANDING_LOCAL, STANDING_LOCAL, 0, NULL},
    {STANDING_LOCAL, STANDING_EVERYBODY, -EACCES, "\"sampler.allow: everybody\""},
    {STANDING_EVERYBODY, STANDING_LOCAL, 0, NULL},
    {STANDING_EVERYBODY, STANDING_EVERYBODY, 0, NULL},
    {STANDING_EVERYBODY, STANDING_PAGE, -EACCES, "samples are for"},
};

static void test_admission(void **state)
{
    struct fixture *f = *state;
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(admissions); i++) {
        sampler_configure(f->sampler, f->machine, &f->config, admissions[i].in_admits);
        assert_int_equal(sampler_admit(f->sampler, admissions[i].in_standing, &error), admissions[i].out);
        if (admissions[i].out < 0 && !strstr(error.message, admissions[i].out_remedy))
            fail_msg("%s", error.message);
    }
}

/* A stream ends if a setting that it depends on changes; a stream that named its own goes on. */
static void test_reload(void **state)
{
    struct fixture *f = *state;
    struct stream_request usual = {.standing = STANDING_LOCAL}, other = {.standing = STANDING_EVERYBODY};
    struct stream_request own = {.standing = STANDING_LOCAL, .event = (char *)"cpu-clock", .period = 2000000};
    struct reader a, b, c, *of_a[] = {&a}, *of_b[] = {&b}, *of_c[] = {&c};

    f->admits = STANDING_EVERYBODY;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    if (!start(f, &usual, &a) || !start(f, &own, &b) || !start(f, &other, &c))
        return;
    run(f, 0.1, NULL, 0);
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    f->admits = STANDING_LOCAL;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    run(f, 5, of_c, 1);
    assert_non_null(strstr(text_of(&c), "end reload "));
    run(f, 0.1, of_a, 1);
    assert_false(a.ended);
    f->config.period = 3000000;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    run(f, 5, of_a, 1);
    assert_non_null(strstr(text_of(&a), "end reload "));
    assert_true(count(a.text.data, "sample ") > 10);
    f->config.event = (char *)"task-clock";
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    run(f, 0.1, of_b, 1);
    assert_false(b.ended);
    f->config.ring_pages = 32;
    sampler_configure(f->sampler, f->machine, &f->config, f->admits);
    /* The rings are another's before its last records were taken. */
    sampler_cpus_changed(f->sampler, f->machine, NULL);
    run(f, 5, of_b, 1);
    assert_non_null(strstr(text_of(&b), "end reload "));
    stop(&a);
    stop(&b);
    stop(&c);
    run(f, 0.01, NULL, 0);
}

static void count_call(void *userdata)
{
    (*(unsigned *)userdata)++;
}

/* All streams end with what they have, even while /proc is still read. `ended` is called; no client may join. */
static void test_shutdown(void **state)
{
    struct fixture *f = *state;
    struct reader a, b, *all[] = {&a, &b};
    unsigned n_ended = 0;
    struct error error;
    struct stream *none;

    if (!start(f, &(struct stream_request){0}, &a))
        return;
    run(f, 0.2, NULL, 0);
    assert_true(start(f, &(struct stream_request){0}, &b));
    assert_true(sampler_end(f->sampler, count_call, &n_ended));
    run(f, 5, all, 2);
    assert_non_null(strstr(text_of(&a), "end shutdown "));
    assert_true(count(a.text.data, "sample ") > 10);
    assert_true(str_starts(text_of(&b), "begin "));
    assert_non_null(strstr(b.text.data, "end shutdown 0 "));
    assert_int_equal(stream_open(f->sampler, &(struct stream_request){0}, &lines, on_ready, &b, &none, &error), -EBUSY);
    assert_string_equal(error.message, "perfcountd is ending");
    stop(&a);
    assert_int_equal(n_ended, 0);
    stop(&b);
    assert_int_equal(n_ended, 1);
    run(f, 0.01, NULL, 0);
    assert_false(sampler_end(f->sampler, count_call, &n_ended));
}

/* The writer learns of a pause, and no sample lies in it. */
static void check_pause(const char *text)
{
    const char *pause = strstr(text, "pause "), *resume = strstr(text, "resume ");

    assert_non_null(pause);
    assert_non_null(resume);
    assert_true(pause < resume);
    uint64_t from = strtoull(pause + strlen("pause "), NULL, 10), to = strtoull(resume + strlen("resume "), NULL, 10);
    for (const char *at = text; (at = strstr(at, "sample ")); at++) {
        uint64_t time = strtoull(at + strlen("sample "), NULL, 10);
        assert_true(time < from || time > to);
        assert_true((time < from) == (at < pause));
    }
    assert_non_null(strstr(resume, "rescanned\n"));
}

/* Nothing is sampled in a pause, and seconds go on. A stream that is opened in a pause begins with it. */
static void test_pause(void **state)
{
    struct fixture *f = *state;
    struct stream_request request = {.seconds = 1.2, .max = 0};
    struct reader a, b, *all[] = {&a, &b};

    if (!start(f, &request, &a))
        return;
    double begun = now();
    run(f, 0.3, all, 1);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    request.period = 2000000; /* rings of its own */
    assert_true(start(f, &request, &b));
    run(f, 0.3, all, 2);
    size_t before = a.text.size;
    sampler_cpus_changed(f->sampler, f->machine, &f->machine->online); /* opened again, and paused */
    run(f, 0.2, all, 2);
    assert_int_equal(a.text.size, before);
    assert_int_equal(sampler_pause(f->sampler, false), 0);
    run(f, 5, all, 1);
    assert_true(now() - begun < 2);
    run(f, 5, all, 2);
    check_pause(text_of(&a));
    check_pause(text_of(&b));
    assert_int_equal(count(a.text.data, "pause "), 1);
    assert_int_equal(count(b.text.data, "sample ") > 10, true);
    assert_null(memmem(b.text.data, (size_t)(strstr(b.text.data, "pause ") - b.text.data), "sample ", 7));
    assert_non_null(strstr(a.text.data, "end seconds "));
    assert_non_null(strstr(strstr(a.text.data, "resume "), "sample "));
    stop(&a);
    stop(&b);
    run(f, 0.01, NULL, 0);
}

/* Many pauses cause few scans of /proc; the last scan begins after the last pause. */
static void test_many_pauses(void **state)
{
    struct fixture *f = *state;
    struct reader a;

    if (!start(f, &(struct stream_request){.seconds = 10}, &a))
        return;
    run(f, 0.05, NULL, 0);
    n_scans = 0;
    for (unsigned i = 0; i < 50; i++) {
        sampler_pause(f->sampler, true);
        sampler_pause(f->sampler, false);
    }
    assert_int_equal(n_scans, 1);
    run(f, 0.2, NULL, 0);
    assert_int_equal(n_scans, 2);
    drain(&a);
    buffer_append_char(&a.text, '\0');
    assert_int_equal(count(a.text.data, "rescanned"), 1);
    stop(&a);
}

static int (*real_ioctl)(struct sys *sys, int fd, unsigned long request, unsigned long argument);

static int refuse_to_enable(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    return request == PERF_EVENT_IOC_ENABLE ? -ENODEV : real_ioctl(sys, fd, request, argument);
}

/* An event that the kernel does not enable again is an error; a stream that needs it is not opened. */
static void test_resume_fails(void **state)
{
    struct fixture *f = *state;
    struct error error;
    struct stream *none;
    struct reader a, b;

    if (!start(f, &(struct stream_request){0}, &a))
        return;
    assert_int_equal(sampler_pause(f->sampler, true), 0);
    real_ioctl = f->sys.ioctl;
    f->sys.ioctl = refuse_to_enable;
    assert_int_equal(sampler_pause(f->sampler, false), -ENODEV);
    struct stream_request other = {.period = 2000000};
    assert_int_equal(stream_open(f->sampler, &other, &lines, on_ready, &b, &none, &error), -ENODEV);
    assert_true(str_starts(error.message, "sampling cannot start: "));
    stop(&a);
    run(f, 0.01, NULL, 0);
    assert_int_equal(count_perf_fds(), 0);
}

/* A format that needs all symbols at its end asks until none is missing, but not for ever. */
static void test_settles(void **state)
{
    struct fixture *f = *state;
    struct stream_request request = {.seconds = 0.05};
    struct reader a, *all[] = {&a};

    unsettled = 3;
    if (!start_writer(f, &request, &settled, &a))
        return;
    run(f, 10, all, 1);
    assert_non_null(strstr(text_of(&a), "end seconds "));
    assert_int_equal(unsettled, 0);
    stop(&a);
    unsettled = UINT_MAX;
    assert_true(start_writer(f, &request, &settled, &a));
    double began = now();
    run(f, 20, all, 1);
    assert_non_null(strstr(text_of(&a), "end seconds "));
    assert_true(now() - began > 4);
    unsettled = 0;
    stop(&a);
    run(f, 0.01, NULL, 0);
}

/* A client that leaves while /proc is read is not called any more. */
static void test_gone_early(void **state)
{
    struct fixture *f = *state;
    struct reader a;

    if (!start(f, &(struct stream_request){0}, &a))
        return;
    assert_false(scanned_symbols->all_ended);
    stop(&a);
    run(f, 0.05, NULL, 0);
    assert_true(scanned_symbols->all_ended);
    assert_int_equal(a.calls, 0);
    assert_int_equal(count_perf_fds(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_max, begin, end),
        cmocka_unit_test_setup_teardown(test_sharing, begin, end),
        cmocka_unit_test_setup_teardown(test_slow, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_hotplug, begin, end),
        cmocka_unit_test_setup_teardown(test_other_cpus, begin, end),
        cmocka_unit_test_setup_teardown(test_locked_memory, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_for_samples, begin, end),
        cmocka_unit_test_setup_teardown(test_lost, begin, end),
        cmocka_unit_test_setup_teardown(test_malformed, begin, end),
        cmocka_unit_test_setup_teardown(test_process, begin, end),
        cmocka_unit_test_setup_teardown(test_settles, begin, end),
        cmocka_unit_test_setup_teardown(test_gone_early, begin, end),
        cmocka_unit_test_setup_teardown(test_admission, begin, end),
        cmocka_unit_test_setup_teardown(test_reload, begin, end),
        cmocka_unit_test_setup_teardown(test_shutdown, begin, end),
        cmocka_unit_test_setup_teardown(test_pause, begin, end),
        cmocka_unit_test_setup_teardown(test_many_pauses, begin, end),
        cmocka_unit_test_setup_teardown(test_resume_fails, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
