/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/made-samples.h"

#include <stdlib.h>

#include "base/util.h"

#define DEPTH 10
#define SAMPLE_TYPE                                                                                                    \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static size_t put_sample(uint64_t *words, uint64_t number, unsigned n_cpus)
{
    uint64_t user = 0x10000 + 37 * number % 0x400;
    uint32_t thread[2] = {100, (uint32_t)(100 + number % 7)};
    size_t n = 1;

    words[n++] = 17; /* id */
    words[n++] = user;
    memcpy(&words[n++], thread, sizeof(thread));
    words[n++] = 1000 * NSEC_PER_SEC + number * 250000;
    words[n++] = number % n_cpus;
    words[n++] = 250000;
    words[n++] = DEPTH + 1;
    words[n++] = (uint64_t)PERF_CONTEXT_USER;
    for (uint64_t i = 0; i < DEPTH; i++)
        words[n++] = user + 16 * i;
    const struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)(n * sizeof(words[0]))};
    memcpy(words, &header, sizeof(header));
    return n;
}

int made_samples_init(struct made_samples *samples, size_t n, unsigned n_cpus)
{
    static const uint64_t id = 17;
    static const struct perf_event_attr attr = {.sample_type = SAMPLE_TYPE, .sample_id_all = 1, .sample_freq = 99};
    static const struct writer_event event = {.name = "cycles", .attr = &attr, .ids = &id};
    uint64_t words[64];

    *samples = (struct made_samples){.bytes = malloc(n * sizeof(words))};
    if (!samples->bytes)
        return -ENOMEM;
    for (uint64_t i = 0; i < n; i++) {
        size_t size = put_sample(words, i, n_cpus) * sizeof(words[0]);
        memcpy(samples->bytes + samples->size, words, size);
        samples->size += size;
    }
    samples->source = (struct writer_source){
        .events = &event,
        .n_events = 1,
        .n_ids = 1,
        .n_cpus = 1,
        .layout = record_layout_of(&attr),
        .start_realtime_ns = 1700000000 * NSEC_PER_SEC,
        .start_monotonic_ns = 1000 * NSEC_PER_SEC,
        .seconds = 1,
    };
    return 0;
}

void made_samples_done(struct made_samples *samples)
{
    free(samples->bytes);
    *samples = (struct made_samples){0};
}
