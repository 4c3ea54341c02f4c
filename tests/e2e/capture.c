/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture of all CPUs by their clocks, written by one of the sampler's writers to standard output.
 *
 * usage: capture ndjson|perf-data|pprof|folded SECONDS FREQUENCY [callchain] [read]
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/ring.h"
#include "sampler/symboliser.h"
#include "sampler/writer.h"

#define CPUS_MAX 64
#define PAGES 64
#define ROUND_NS (50 * NSEC_PER_MSEC)

struct capture {
    struct sys sys;
    sd_event *event;
    const struct writer *writer;
    void *state;
    struct perf_event_attr attrs[2];
    struct writer_event events[2];
    uint64_t ids[2][CPUS_MAX];
    int fds[2][CPUS_MAX];
    struct ring *rings[CPUS_MAX];
    size_t n_cpus;
    struct writer_source source;
    struct writer_end end;
    struct buffer out;
    bool learned;
};

static void set_attrs(struct capture *capture, uint64_t frequency, bool callchain, bool read)
{
    struct perf_event_attr *attr = &capture->attrs[0];

    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(*attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = frequency,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                       PERF_SAMPLE_PERIOD | (callchain ? PERF_SAMPLE_CALLCHAIN : 0) | (read ? PERF_SAMPLE_READ : 0),
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    capture->attrs[1] = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(*attr),
        .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
        .read_format = attr->read_format,
        .use_clockid = 1, /* the kernel wants the same clock in all of a group */
        .clockid = CLOCK_MONOTONIC,
    };
    capture->source.n_events = read ? 2 : 1;
    capture->source.read = read;
    capture->source.layout = record_layout_of(attr);
    for (size_t i = 0; i < ARRAY_SIZE(capture->events); i++)
        capture->events[i] = (struct writer_event){
            .name = i ? "context-switches" : "cpu-clock", .attr = &capture->attrs[i], .ids = capture->ids[i]};
}

static void open_cpus(struct capture *capture)
{
    struct sys *sys = &capture->sys;

    capture->n_cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (capture->n_cpus > CPUS_MAX)
        errx(1, "more than %d CPUs", CPUS_MAX);
    for (size_t cpu = 0; cpu < capture->n_cpus; cpu++) {
        for (size_t i = 0; i < capture->source.n_events; i++) {
            int fd = sys->perf_event_open(sys, &capture->attrs[i], -1, (int)cpu, i ? capture->fds[0][cpu] : -1,
                                          PERF_FLAG_FD_CLOEXEC);
            if (fd < 0 || sys->ioctl(sys, fd, PERF_EVENT_IOC_ID, (unsigned long)&capture->ids[i][cpu]) < 0)
                errx(1, "cpu %zu: %s", cpu, strerror(-fd));
            capture->fds[i][cpu] = fd;
        }
        int r = ring_open(sys, capture->fds[0][cpu], PAGES, &capture->rings[cpu]);
        if (r < 0)
            errx(1, "ring of cpu %zu: %s", cpu, strerror(-r));
    }
}

static void on_learned(void *userdata)
{
    struct capture *capture = userdata;

    capture->learned = true;
}

static void start(struct capture *capture, double seconds)
{
    struct symbols *symbols;

    if (sd_event_new(&capture->event) < 0 || symbols_new(&capture->sys, capture->event, &symbols) < 0 ||
        symbols_learn(symbols, 0, on_learned, capture) < 0)
        errx(1, "no symbols");
    while (!capture->learned)
        sd_event_run(capture->event, UINT64_MAX);
    capture->source.events = capture->events;
    capture->source.n_ids = capture->n_cpus;
    capture->source.symbols = symbols;
    capture->source.sys = &capture->sys;
    capture->source.start_realtime_ns = capture->sys.now(&capture->sys, CLOCK_REALTIME);
    capture->source.start_monotonic_ns = capture->sys.now(&capture->sys, CLOCK_MONOTONIC);
    capture->source.seconds = seconds;
    capture->state = capture->writer->begin(&capture->source, &capture->out);
    for (size_t cpu = 0; cpu < capture->n_cpus; cpu++)
        capture->sys.ioctl(&capture->sys, capture->fds[0][cpu], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static void drain(struct capture *capture, struct ring *ring)
{
    const struct perf_event_header *header;
    struct record record;

    while (ring_next(ring, &header) == 0 && header) {
        if (record_decode(header, header->size, &capture->source.layout, &record) == 0) {
            symbols_take(capture->source.symbols, &record);
            if (record.type == PERF_RECORD_LOST)
                capture->end.lost += record.lost.lost;
            capture->end.records += capture->writer->record(capture->state, &record, &capture->out);
        }
        ring_take(ring);
    }
    ring_release(ring);
}

static void flush(struct capture *capture)
{
    if (capture->out.failed)
        errx(1, "out of memory");
    for (size_t at = 0; at < capture->out.size;) {
        ssize_t n = write(STDOUT_FILENO, capture->out.data + at, capture->out.size - at);
        if (n < 0)
            err(1, "write");
        at += (size_t)n;
    }
    buffer_clear(&capture->out);
}

static void run(struct capture *capture)
{
    uint64_t begin = capture->source.start_monotonic_ns;
    uint64_t until = begin + (uint64_t)(capture->source.seconds * 1e9);

    do {
        sd_event_run(capture->event, ROUND_NS / 1000);
        for (size_t cpu = 0; cpu < capture->n_cpus; cpu++)
            drain(capture, capture->rings[cpu]);
        if (capture->writer->round)
            capture->writer->round(capture->state, &capture->out);
        flush(capture);
        capture->end.duration_ns = capture->sys.now(&capture->sys, CLOCK_MONOTONIC) - begin;
    } while (begin + capture->end.duration_ns < until);
    capture->end.reason = "seconds";
    for (int i = 0; i < 40 && capture->writer->settled && !capture->writer->settled(capture->state); i++)
        sd_event_run(capture->event, ROUND_NS / 1000);
    capture->writer->end(capture->state, &capture->end, &capture->out);
    flush(capture);
}

static void finish(struct capture *capture)
{
    capture->writer->free(capture->state);
    for (size_t cpu = 0; cpu < capture->n_cpus; cpu++)
        ring_free(capture->rings[cpu]);
    symbols_free(capture->source.symbols);
    sd_event_unref(capture->event);
    buffer_done(&capture->out);
}

static const struct {
    const char *name;
    const struct writer *writer;
} writers[] = {
    {"ndjson", &writer_ndjson},
    {"perf-data", &writer_perf_data},
    {"pprof", &writer_pprof},
    {"folded", &writer_folded},
};

int main(int argc, char **argv)
{
    struct capture capture = {0};
    struct error error;
    bool callchain = false, read = false;

    if (argc == 2 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve(SYMBOLISER_SOCKET);
    if (argc < 4)
        errx(2, "usage: capture ndjson|perf-data|pprof|folded SECONDS FREQUENCY [callchain] [read]");
    for (int i = 4; i < argc; i++) {
        callchain |= str_equal(argv[i], "callchain");
        read |= str_equal(argv[i], "read");
    }
    sys_init(&capture.sys);
    for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
        if (str_equal(argv[1], writers[i].name))
            capture.writer = writers[i].writer;
    if (!capture.writer)
        errx(2, "no format %s", argv[1]);
    if (capture.writer->check && capture.writer->check(&error) < 0)
        errx(77, "%s", error.message);
    set_attrs(&capture, strtoull(argv[3], NULL, 10), callchain, read);
    open_cpus(&capture);
    start(&capture, strtod(argv[2], NULL));
    run(&capture);
    finish(&capture);
    return 0;
}
