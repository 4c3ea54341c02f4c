/* SPDX-License-Identifier: Apache-2.0 */
/* Cost and gain of each level of compression on an exposition: size, time and memory. base/gzip.c follows it. */
#include <libdeflate.h>
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "metrics/metrics.h"

#define LEVEL_MAX 9
#define BYTES_PER_ROUND 4000000

static const char *const events[] = {"cycles", "instructions", "context_switches", "minor_faults", "major_faults"};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fill(struct metrics *metrics, unsigned n)
{
    uint64_t random = 1;
    char cpu[16], name[64];

    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        for (unsigned k = 0; k < n / ARRAY_SIZE(events); k++) {
            snprintf(cpu, sizeof(cpu), "%u", k);
            snprintf(name, sizeof(name), "perf_cpu_%s_total", events[i]);
            const struct label labels[] = {{"cpu", cpu}, {"pmu", "cpu"}, {"group", "core"}};
            const struct metric metric = {name, "A counter.", "", METRIC_COUNTER};
            struct series *series = metrics_add(metrics, &metric, 0, 0, labels, ARRAY_SIZE(labels));
            if (!series)
                return -ENOMEM;
            random = random * UINT64_C(6364136223846793005) + 1;
            series_set(series, random >> (20 + i * 8));
        }
    return 0;
}

static int measure(const struct buffer *text, unsigned n, int level)
{
    unsigned rounds = 1 + BYTES_PER_ROUND / (unsigned)text->size;
    struct mallinfo2 before = mallinfo2();
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
    size_t size = 0;

    if (!compressor)
        return -ENOMEM;
    struct mallinfo2 after = mallinfo2();
    size_t bound = libdeflate_gzip_compress_bound(compressor, text->size);
    _cleanup_(freep) char *out = malloc(bound);
    double start = now();
    for (unsigned i = 0; out && i < rounds; i++)
        size = libdeflate_gzip_compress(compressor, text->data, text->size, out, bound);
    printf("%6u series, %7zu bytes, level %d: %6zu bytes, %8.1f us, compressor of %zu bytes\n", n, text->size, level,
           size, (now() - start) / rounds * 1e6,
           (size_t)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd));
    libdeflate_free_compressor(compressor);
    return 0;
}

int main(void)
{
    static const unsigned sizes[] = {100, 1000, 10000};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        _cleanup_(buffer_done) struct buffer text = {0};
        if (fill(&metrics, sizes[i]) < 0 || exposition_write(&text, &metrics, 1, EXPOSITION_TEXT) < 0)
            return 1;
        for (int level = 1; level <= LEVEL_MAX; level++)
            if (measure(&text, sizes[i], level) < 0)
                return 1;
    }
    return 0;
}
