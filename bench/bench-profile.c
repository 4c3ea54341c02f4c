/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast samples are summed up by stack, and how long the end of a profile takes, since the event loop does it in one
 * turn: 20,000 stacks of ten frames at addresses of this program, by the real tables of symbols.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "formats/profile.h"
#include "formats/writers.h"
#include "symbols/symboliser.h"

#define STACKS 20000
#define DEPTH 10
#define ADDRESSES 4000
#define SAMPLES 1000000

extern const char __executable_start, etext;

struct bench {
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;
    uint64_t chains[STACKS][DEPTH + 1];
    uint64_t random;
    bool ready;
};

static uint64_t any(struct bench *bench, uint64_t n)
{
    bench->random = bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (bench->random >> 33) % n;
}

static void make_chains(struct bench *bench)
{
    uint64_t size = (uint64_t)(&etext - &__executable_start);

    for (size_t i = 0; i < STACKS; i++) {
        bench->chains[i][0] = (uint64_t)PERF_CONTEXT_USER;
        for (size_t k = 1; k <= DEPTH; k++)
            bench->chains[i][k] = (uintptr_t)&__executable_start + any(bench, ADDRESSES) * (size / ADDRESSES) % size;
    }
}

static double now(const struct bench *bench)
{
    struct sys *sys = (struct sys *)&bench->sys;
    return (double)sys->now(sys, CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void on_ready(void *userdata)
{
    ((struct bench *)userdata)->ready = true;
}

static void wait_ready(struct bench *bench)
{
    while (!bench->ready)
        sd_event_run(bench->event, UINT64_MAX);
    bench->ready = false;
}

static void add(struct bench *bench, const struct writer *writer, void *state, size_t n, struct buffer *out)
{
    struct record record = {.type = PERF_RECORD_SAMPLE,
                            .misc = PERF_RECORD_MISC_USER,
                            .id = {.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid()},
                            .sample = {.period = 1, .n_callchain = DEPTH + 1}};

    for (size_t i = 0; i < n; i++) {
        record.sample.callchain = bench->chains[i % STACKS];
        writer->record(state, &record, out);
    }
}

static void run(struct bench *bench, const char *name, const struct writer *writer)
{
    static const struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE};
    const struct writer_event event = {.name = "cycles", .attr = &attr};
    const struct writer_source source = {.events = &event, .n_events = 1, .symbols = bench->symbols};
    const struct writer_end end = {.reason = "seconds"};
    _cleanup_(buffer_done) struct buffer out = {0};

    void *state = writer->begin(&source, &out);
    add(bench, writer, state, STACKS, &out);
    symbols_when_idle(bench->symbols, on_ready, bench);
    wait_ready(bench);
    double start = now(bench);
    add(bench, writer, state, SAMPLES, &out);
    double added = now(bench);
    while (!writer->settle(state))
        ;
    double settled = now(bench);
    writer->end(state, &end, &out);
    printf("profile: %s: %.0f thousand samples a second, settled in %.1f ms, ended in %.1f ms (%zu bytes)\n", name,
           SAMPLES / (added - start) / 1e3, (settled - added) * 1e3, (now(bench) - settled) * 1e3, out.size);
    writer->free(state);
}

int main(int argc, char **argv)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    if (argc == 2 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve();
    sys_init(&bench->sys);
    make_chains(bench);
    if (sd_event_new(&bench->event) < 0 || symbols_new(&bench->sys, bench->event, &bench->symbols) < 0 ||
        symbols_scan(bench->symbols, (uint32_t)getpid(), on_ready, bench) < 0)
        return 1;
    wait_ready(bench);
    run(bench, "pprof", &writer_pprof);
    run(bench, "folded", &writer_folded);
    symbols_free(bench->symbols);
    sd_event_unref(bench->event);
    free(bench);
    return 0;
}
