/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast metrics become text: series per second on one core, beside a plain loop of memcpy and digits over the same
 * series, which is about what the memory allows.
 */
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "metrics/metrics.h"

#define N_CPUS 10000
#define ROUNDS 20

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct {
    struct metric metric;
    unsigned decimals;
} families[] = {
    {{"perf_cpu_cycles_total", "CPU cycles.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_instructions_total", "Retired instructions.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_cache_references_total", "Cache references.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_cache_misses_total", "Cache misses.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_context_switches_total", "Context switches.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_cpu_migrations_total", "Migrations.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_minor_faults_total", "Minor page faults.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_major_faults_total", "Major page faults.", "", METRIC_COUNTER}, 0},
    {{"perf_cpu_group_enabled_seconds_total", "Time enabled.", "seconds", METRIC_COUNTER}, 9},
    {{"perf_cpu_group_running_seconds_total", "Time running.", "seconds", METRIC_COUNTER}, 9},
};

static int fill(struct metrics *metrics)
{
    uint64_t random = 1;
    char cpu[16];

    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        for (unsigned k = 0; k < N_CPUS; k++) {
            snprintf(cpu, sizeof(cpu), "%u", k);
            const struct label labels[] = {{"cpu", cpu}, {"pmu", "armv8_cortex_a76"}, {"group", "core"}};
            struct series *series =
                metrics_add(metrics, &families[i].metric, 0, families[i].decimals, labels, ARRAY_SIZE(labels));
            if (!series)
                return -ENOMEM;
            random = random * UINT64_C(6364136223846793005) + 1;
            series_set(series, random >> 20);
        }
    return 0;
}

static char *plain_digits(char *to, uint64_t value)
{
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *to++ = digits[--n];
    return to;
}

static size_t plain(const struct metrics *metrics, char *start)
{
    char *to = start;

    for (size_t i = 0; i < metrics->n; i++)
        for (size_t k = 0; k < metrics->families[i]->n; k++) {
            const struct family *family = metrics->families[i];
            const struct series *series = family->series[k];
            memcpy(to, family->name, family->name_size);
            memcpy(to + family->name_size, series->text, series->size);
            to = plain_digits(to + family->name_size + series->size, series->value);
            *to++ = '\n';
        }
    return (size_t)(to - start);
}

int main(void)
{
    _cleanup_(metrics_done) struct metrics metrics = {0};
    _cleanup_(buffer_done) struct buffer buffer = {0};
    double best = 1e9, best_plain = 1e9, start;
    double n = (double)ARRAY_SIZE(families) * N_CPUS;

    if (fill(&metrics) < 0 || exposition_write(&buffer, &metrics, 1, EXPOSITION_TEXT) < 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        buffer_clear(&buffer);
        start = now();
        exposition_write(&buffer, &metrics, 1, EXPOSITION_OPENMETRICS);
        best = MIN(best, now() - start);
        start = now();
        plain(&metrics, buffer.data);
        best_plain = MIN(best_plain, now() - start);
    }
    printf("render: %.0f series, %.1f million a second; a plain loop of memcpy and digits %.1f; ratio %.2f\n", n,
           n / best / 1e6, n / best_plain / 1e6, best_plain / best);
    return 0;
}
