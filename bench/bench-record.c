/* SPDX-License-Identifier: Apache-2.0 */
/* How fast records are decoded: samples per second on one core, from memory as large as a ring, over and over. */
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "perf/record.h"

#define RING_SIZE (512 * 1024) /* 128 pages */
#define SAMPLES 10000000

struct samples {
    char *bytes;
    size_t size, n;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct {
    const char *name;
    uint64_t sample_type;
    size_t depth; /* of the callchain */
} cases[] = {
    {"no callchain",
     PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
         PERF_SAMPLE_PERIOD,
     0},
    {"ten-deep callchain",
     PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
         PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
     10},
};

/* One sample in words: returns how many. */
static size_t put_sample(uint64_t *words, uint64_t number, uint64_t sample_type, size_t depth)
{
    size_t n = 1;

    words[n++] = 17; /* id */
    words[n++] = 0x401000 + number;
    words[n++] = 1000 + number % 50;
    words[n++] = number * 1000;
    words[n++] = number % 8;
    words[n++] = 1;
    if (sample_type & PERF_SAMPLE_CALLCHAIN) {
        words[n++] = depth;
        for (size_t i = 0; i < depth; i++)
            words[n++] = 0x401000 + number + 64 * i;
    }
    const struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)(n * sizeof(uint64_t))};
    memcpy(words, &header, sizeof(header));
    return n;
}

static int fill(struct samples *samples, uint64_t sample_type, size_t depth)
{
    uint64_t words[64];

    samples->bytes = malloc(RING_SIZE);
    if (!samples->bytes)
        return -ENOMEM;
    for (;;) {
        size_t size = put_sample(words, samples->n, sample_type, depth) * sizeof(uint64_t);
        if (samples->size + size > RING_SIZE)
            return 0;
        memcpy(samples->bytes + samples->size, words, size);
        samples->size += size;
        samples->n++;
    }
}

/* The sum of the fields that a reader would look at. */
static int decode(const struct samples *samples, const struct record_layout *layout, uint64_t *sum)
{
    struct record record;

    for (size_t at = 0; at < samples->size; at += record.size) {
        if (record_decode(samples->bytes + at, samples->size - at, layout, &record) < 0)
            return -EBADMSG;
        *sum += record.id.time + record.sample.ip;
        for (size_t i = 0; i < record.sample.n_callchain; i++)
            *sum += record.sample.callchain[i];
    }
    return 0;
}

static int run(size_t n)
{
    const struct record_layout layout = {.sample_type = cases[n].sample_type};
    struct samples samples = {0};
    size_t decoded = 0;
    uint64_t sum = 0;

    int r = fill(&samples, cases[n].sample_type, cases[n].depth);
    double start = now();
    for (; r == 0 && decoded < SAMPLES; decoded += samples.n)
        r = decode(&samples, &layout, &sum);
    double seconds = now() - start;
    if (r == 0)
        printf("record: %s: %zu samples, %.1f million a second (sum %016llx)\n", cases[n].name, decoded,
               (double)decoded / seconds / 1e6, (unsigned long long)sum);
    free(samples.bytes);
    return r;
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (run(i) < 0)
            return 1;
    return 0;
}
