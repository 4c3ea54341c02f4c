/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the cost of 100,000 series on a fake machine, which has the built-in groups of version 0.1.0 and enough
 * CPUs. Prints the time to render the text exposition and the JSON document and to compress the text, the allocations
 * and the peak memory of each, and the memory held per series. `bench/run scrapes` checks these figures.
 *
 * usage: bench-series [SERIES]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/gzip.h"
#include "base/number.h"
#include "collectors/registry.h"
#include "formats/counters.h"
#include "metrics/metrics.h"
#include "tests/unit/count-allocations.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

#define DEFAULT_SERIES 100000
#define ROUNDS 15

/* The built-in groups of version 0.1.0. Each group has a series for each counter and two for its times. */
static const char groups[] = "collectors:\n"
                             "  self: {enabled: false}\n"
                             "  cgroup: {enabled: false}\n"
                             "  cpu:\n"
                             "    groups:\n"
                             "      - {name: core, events: '{cycles,instructions}'}\n"
                             "      - {name: cache, events: '{cache-references,cache-misses}'}\n"
                             "      - {name: branch, events: '{branches,branch-misses}'}\n"
                             "      - {name: software, events: '{cs,cpu-migrations,minor-faults,major-faults}'}\n";
#define SERIES_PER_CPU 18

/* --- simulated system calls; their only state is the number of events in each descriptor's group */

static struct {
    uint8_t *members;
    size_t n;
    uint64_t time;
} kernel;

static void open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    int leader = group->leader;

    (void)sys;
    for (size_t i = 0; i < group->n; i++) {
        ret[i] = (int)kernel.n++;
        leader = leader < 0 ? ret[i] : leader;
        kernel.members[leader]++;
    }
}

static int control(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    (void)sys;
    if (request == PERF_EVENT_IOC_ID)
        *(uint64_t *)argument = (uint64_t)fd;
    return 0;
}

static int close_event(struct sys *sys, int fd)
{
    (void)sys;
    (void)fd;
    return 0;
}

/* Returns pseudo-random values, which are as large as counts after a day of uptime. */
static uint64_t random_of(uint64_t seed)
{
    seed = (seed + 1) * UINT64_C(6364136223846793005);
    return (seed ^ seed >> 29) * UINT64_C(6364136223846793005) >> 32;
}

static ssize_t read_group(struct sys *sys, int fd, void *buffer, size_t size)
{
    uint64_t *to = buffer, n = kernel.members[fd], enabled = kernel.time + random_of((uint64_t)fd);

    (void)sys;
    (void)size;
    *to++ = n;
    *to++ = enabled;
    *to++ = enabled / 3;
    for (uint64_t i = 0; i < n; i++) {
        *to++ = kernel.time / 1000 * (random_of((uint64_t)fd + i) % 1000);
        *to++ = (uint64_t)fd + i;
    }
    return (ssize_t)((3 + 2 * n) * sizeof(uint64_t));
}

static struct fake_sys *sim_machine(unsigned n_cpus)
{
    struct fake_sys *fake = fake_sys_new();
    char list[32];

    snprintf(list, sizeof(list), "0-%u", n_cpus - 1);
    fake_cpus(fake, list);
    fake_add_pmu(fake, "software", 1, NULL, list)->software = true;
    fake_add_pmu(fake, "cpu", 4, "cpus", list)->core = true;
    wrap_calls(&fake->sys, (struct sys_calls){
                               .open_group = open_group, .ioctl = control, .close = close_event, .read = read_group});
    return fake;
}

/* --- measurements */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t held(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Returns the value of `key` in /proc/self/status, in bytes. */
static double status_of(const char *key)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/self/status", "re");
    char line[128];

    while (file && fgets(line, sizeof(line), file))
        if (str_starts(line, key))
            return strtod(line + strlen(key), NULL) * 1024;
    return 0;
}

static void forget_peak(void)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/self/clear_refs", "we");

    if (file)
        fputs("5", file);
}

struct figure {
    const char *name;
    int (*write)(struct buffer *buffer, const struct snapshot *snapshot);
    double seconds, peak;
    size_t size, allocations;
};

static int write_text(struct buffer *buffer, const struct snapshot *snapshot)
{
    return exposition_write(buffer, &snapshot->metrics, UINT32_MAX, EXPOSITION_TEXT);
}

static int write_openmetrics(struct buffer *buffer, const struct snapshot *snapshot)
{
    return exposition_write(buffer, &snapshot->metrics, UINT32_MAX, EXPOSITION_OPENMETRICS);
}

static int write_json(struct buffer *buffer, const struct snapshot *snapshot)
{
    return counters_write(buffer, snapshot, NULL, "localhost");
}

static int write_gzip(struct buffer *buffer, const struct snapshot *snapshot)
{
    int r = write_text(buffer, snapshot);

    return r < 0 ? r : gzip_compress(buffer);
}

static void measure(struct figure *figure, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};

    malloc_trim(0);
    forget_peak();
    double before = status_of("VmRSS:"), start = now();
    allocations = 0;
    if (figure->write(&buffer, snapshot) < 0)
        exit(1);
    figure->seconds = MIN(figure->seconds, now() - start);
    figure->allocations = allocations;
    figure->peak = MAX(figure->peak, status_of("VmHWM:") - before);
    figure->size = buffer.size;
}

static void print(const char *what, double value)
{
    printf("    %-46s %8.2f\n", what, value);
}

static void print_figure(const struct figure *figure, const struct figure *whole)
{
    printf("    %-12s %8.2f ms, %9zu bytes, %3zu allocations, peak memory %.2f times the %s\n", figure->name,
           figure->seconds * 1e3, figure->size, figure->allocations, figure->peak / (double)whole->size,
           whole == figure ? "response" : "text");
}

static void measure_all(const struct snapshot *snapshot, double bytes_per_series)
{
    struct figure text = {.name = "text", .write = write_text, .seconds = 1e9};
    struct figure openmetrics = {.name = "OpenMetrics", .write = write_openmetrics, .seconds = 1e9};
    struct figure json = {.name = "JSON", .write = write_json, .seconds = 1e9};
    struct figure gzip = {.name = "text, gzip", .write = write_gzip, .seconds = 1e9};
    struct figure *const all[] = {&text, &openmetrics, &json, &gzip};

    /* The formats alternate, so that other load on the machine affects all of them alike. */
    for (size_t i = 0; i < ROUNDS * ARRAY_SIZE(all); i++)
        measure(all[i % ARRAY_SIZE(all)], snapshot);
    double allocations_most = (double)MAX(MAX(text.allocations, openmetrics.allocations), json.allocations);

    print_figure(&text, &text);
    print_figure(&openmetrics, &openmetrics);
    print_figure(&json, &json);
    print_figure(&gzip, &text);
    print("text, ms", text.seconds * 1e3);
    print("JSON, relative to the text", json.seconds / text.seconds);
    print("gzip, ms", (gzip.seconds - text.seconds) * 1e3);
    print("allocations", allocations_most);
    print("peak memory for text, relative to the response", text.peak / (double)text.size);
    print("peak memory for JSON, relative to the response", json.peak / (double)json.size);
    print("peak memory for gzip, relative to the text", gzip.peak / (double)text.size);
    print("bytes held per series", bytes_per_series);
}

static size_t count_series(const struct snapshot *snapshot)
{
    size_t n = 0;

    for (size_t i = 0; i < snapshot->metrics.n; i++)
        n += snapshot->metrics.families[i]->n;
    return n;
}

/* Returns the shortest time of a reading, in seconds. */
static double time_reading(struct registry *registry, const struct snapshot **ret)
{
    double best = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        kernel.time += UINT64_C(12345678901234);
        double start = now();
        *ret = registry_read(registry, UINT32_MAX, 0);
        best = MIN(best, now() - start);
    }
    return best;
}

int main(int argc, char **argv)
{
    uint64_t wanted = DEFAULT_SERIES;
    struct reload_outcome outcome = {0};
    const struct snapshot *snapshot;
    struct registry *registry;
    struct machine *machine;
    struct config *config;
    struct error error;

    if (argc > 2 || (argc == 2 && number_parse_u64(argv[1], &wanted) < 0))
        return 2;
    unsigned n_cpus = (unsigned)((wanted + SERIES_PER_CPU - 1) / SERIES_PER_CPU);
    kernel.members = calloc(n_cpus + 1, SERIES_PER_CPU);
    struct fake_sys *fake = sim_machine(n_cpus);
    if (!kernel.members || machine_load(&fake->sys, &machine, &error) < 0 ||
        config_parse(groups, strlen(groups), &config, &error) < 0)
        return 1;
    size_t before = held();
    double start = now();
    if (registry_new(&fake->sys, &outcome, &registry) < 0 ||
        registry_configure(registry, machine, config, NULL, &error) < 0)
        return 1;
    double opened = now() - start, reading = time_reading(registry, &snapshot);
    size_t n = count_series(snapshot);
    double bytes = (double)(held() - before) / (double)n;
    printf("%zu series on %u simulated CPUs, opened in %.1f ms, read in %.2f ms:\n", n, n_cpus, opened * 1e3,
           reading * 1e3);
    measure_all(snapshot, bytes);
    start = now();
    registry_free(registry);
    printf("    closed in %.1f ms\n", (now() - start) * 1e3);
    config_free(config);
    machine_free(machine);
    fake_sys_free(fake);
    free(kernel.members);
    return 0;
}
