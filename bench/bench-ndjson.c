/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how many samples per second one core decodes and writes as NDJSON. The samples fill memory of the size of a
 * ring buffer and are decoded repeatedly: first without symbols, then with callchains of ten frames at random
 * addresses of this program and its libraries, resolved by the real symbol tables.
 */
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "symbols/symboliser.h"

#define RING_SIZE ((size_t)512 * 1024) /* 128 pages */
#define TURN_NS NSEC_PER_SEC
#define DEPTH 10
#define RANGES_MAX 16

#define SAMPLE_TYPE                                                                                                    \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD)

/* The executable mappings of this process. */
struct code {
    struct {
        uint64_t start, size;
    } ranges[RANGES_MAX];
    size_t n;
};

struct bench {
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;
    struct code code;
    uint64_t random;
    char *bytes;
    size_t size, n; /* the samples' size in bytes and their number */
    bool ready;
};

static int add_code(struct dl_phdr_info *info, size_t size, void *userdata)
{
    struct code *code = userdata;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && code->n < RANGES_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        code->ranges[code->n].start = info->dlpi_addr + header->p_vaddr;
        code->ranges[code->n++].size = header->p_memsz;
    }
    return 0;
}

static uint64_t any(struct bench *bench, uint64_t n)
{
    bench->random = bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (bench->random >> 33) % n;
}

static uint64_t any_code(struct bench *bench)
{
    size_t range = any(bench, bench->code.n);

    return bench->code.ranges[range].start + any(bench, bench->code.ranges[range].size);
}

/* Writes one sample and returns its length in words. If `known` is true, it is a sample of this process. */
static size_t put_sample(struct bench *bench, uint64_t *words, bool known)
{
    uint32_t thread[2] = {known ? (uint32_t)getpid() : 1000000000, known ? (uint32_t)getpid() : 1000000000};
    size_t n = 1;

    words[n++] = 17; /* id */
    words[n++] = known ? any_code(bench) : UINT64_C(0x7f0000401000) + 16 * bench->n;
    memcpy(&words[n++], thread, sizeof(thread));
    words[n++] = 1000000000000 + bench->n * 250000;
    words[n++] = bench->n % 8;
    words[n++] = 250000;
    if (known) {
        words[n++] = DEPTH + 1;
        words[n++] = (uint64_t)PERF_CONTEXT_USER;
        for (size_t i = 0; i < DEPTH; i++)
            words[n++] = any_code(bench);
    }
    const struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)(n * sizeof(words[0]))};
    memcpy(words, &header, sizeof(header));
    return n;
}

static void fill(struct bench *bench, bool known)
{
    uint64_t words[32];

    bench->n = bench->size = 0;
    for (;;) {
        size_t size = put_sample(bench, words, known) * sizeof(words[0]);
        if (bench->size + size > RING_SIZE)
            return;
        memcpy(bench->bytes + bench->size, words, size);
        bench->size += size;
        bench->n++;
    }
}

static void write_all(const struct bench *bench, const struct writer_source *source, void *state, struct buffer *out)
{
    struct record record;

    for (size_t at = 0; at < bench->size; at += record.size) {
        if (record_decode(bench->bytes + at, bench->size - at, &source->layout, &record) < 0)
            abort();
        writer_ndjson.record(state, &record, out);
    }
}

static void on_ready(void *userdata)
{
    bool *ready = userdata;

    *ready = true;
}

static void wait_for(struct bench *bench)
{
    while (!bench->ready)
        sd_event_run(bench->event, UINT64_MAX);
    bench->ready = false;
}

/* Counts the frames that have a symbol. */
static double share_known(const struct buffer *out)
{
    size_t frames = 0, unknown = 0;
    const char *end = out->data + out->size;

    for (const char *at = out->data; (at = memmem(at, (size_t)(end - at), "\"symbol\":\"", 10)); at += 10) {
        frames++;
        unknown += at[10] == '[';
    }
    return frames ? 1 - (double)unknown / (double)frames : 0;
}

static void run(struct bench *bench, bool known)
{
    struct perf_event_attr attr = {.sample_type = SAMPLE_TYPE | (known ? PERF_SAMPLE_CALLCHAIN : 0)};
    struct writer_event event = {.name = "cpu-clock", .attr = &attr};
    struct writer_source source = {.events = &event,
                                   .n_events = 1,
                                   .layout = record_layout_of(&attr),
                                   .symbols = bench->symbols,
                                   .sys = &bench->sys,
                                   .start_realtime_ns = UINT64_C(1700000000123456789)};
    _cleanup_(buffer_done) struct buffer out = {0};
    uint64_t spent = 0, samples = 0, bytes = 0;

    void *state = writer_ndjson.begin(&source, &out);
    fill(bench, known);
    write_all(bench, &source, state, &out); /* makes the symboliser read the symbol tables */
    symbols_when_idle(bench->symbols, on_ready, &bench->ready);
    wait_for(bench);
    for (uint64_t start = sys_now(&bench->sys, CLOCK_PROCESS_CPUTIME_ID); spent < TURN_NS;
         spent = sys_now(&bench->sys, CLOCK_PROCESS_CPUTIME_ID) - start) {
        buffer_clear(&out);
        write_all(bench, &source, state, &out);
        samples += bench->n;
        bytes += out.size;
    }
    printf("ndjson: %s: %.0f samples a second, %.0f bytes each, %.1f %% of the frames have a symbol\n",
           known ? "ten-deep callchain" : "no symbols", (double)samples * 1e9 / (double)spent,
           (double)bytes / (double)samples, 100 * share_known(&out));
    writer_ndjson.free(state);
}

int main(int argc, char **argv)
{
    struct bench bench = {.random = 1};

    if (argc == 2 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve();
    sys_init(&bench.sys);
    dl_iterate_phdr(add_code, &bench.code);
    bench.bytes = malloc(RING_SIZE);
    if (!bench.bytes || sd_event_new(&bench.event) < 0 || symbols_new(&bench.sys, bench.event, &bench.symbols) < 0 ||
        symbols_scan(bench.symbols, (uint32_t)getpid(), on_ready, &bench.ready) < 0)
        return 1;
    wait_for(&bench);
    run(&bench, false);
    run(&bench, true);
    symbols_free(bench.symbols);
    sd_event_unref(bench.event);
    free(bench.bytes);
    return 0;
}
