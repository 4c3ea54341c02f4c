/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures one point of a growth curve on a simulated machine: the time to open all counters, to read them (collecting
 * and rendering as text), to reload and to close, and the memory of a series. bench/growth.py prints the curves.
 *
 * usage: bench-growth CURVE X [READINGS]
 *
 * Prints KEY=VALUE pairs. Times are CPU time in microseconds; the time of a reading is the shortest of all readings.
 * Each step is one call of a function named step_*, so that callgrind can count the instructions of that step.
 */
#include <err.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "bench/simulated-bpf.h"
#include "collectors/registry.h"
#include "metrics/metrics.h"

#define READINGS 20
#define READINGS_US 20000
#define ALL UINT32_MAX
/* Events per group, as in the built-in configuration. */
#define PER_GROUP 2
#define NO_CGROUPS UINT32_MAX

/* A growth curve: the size that is 0 here is set to x, and the machine's other sizes are fixed. */
struct curve {
    const char *name;
    unsigned cpus, groups, cgroups; /* 0: x */
    unsigned each;                  /* argument of simulated_bpf_new(); 0: cgroups are counted by perf */
};

static const struct curve curves[] = {
    {"cpus", 0, 4, NO_CGROUPS, 0},   /* x CPUs, four groups each */
    {"events", 8, 0, NO_CGROUPS, 0}, /* x events on eight CPUs */
    {"cgroups", 2, 2, 0, 0},         /* x cgroups, two groups each on two CPUs */
    {"bpf", 64, 3, 0, 16},           /* x cgroups counted by BPF, three groups on 64 CPUs */
    {"bpf-busy", 64, 3, 0, 1},       /* like "bpf", but every cgroup runs on all CPUs every second */
    {"bpf-cpus", 0, 3, 4000, 16},    /* 4,000 cgroups counted by BPF, three groups on x CPUs */
};

struct rig {
    struct simulated *simulated;
    struct simulated_bpf *bpf; /* NULL: cgroups are counted by perf */
    struct machine *machine;
    struct config *config, *again;
    struct registry *registry;
    struct reload_outcome reload;
    struct buffer text;
    const struct snapshot *snapshot;
};

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Steps */

/* `used` keeps the symbol, which callgrind needs. */
#define STEP __attribute__((noinline, used)) static void

STEP step_open(struct rig *rig)
{
    struct error error;

    if (registry_configure(rig->registry, rig->machine, rig->config, NULL, &error) < 0)
        errx(1, "%s", error.message);
}

STEP step_collect(struct rig *rig)
{
    rig->snapshot = registry_read(rig->registry, ALL, 0);
}

STEP step_reading(struct rig *rig)
{
    step_collect(rig);
    buffer_clear(&rig->text);
    if (exposition_write(&rig->text, &rig->snapshot->metrics, ALL, EXPOSITION_TEXT) < 0)
        errx(1, "out of memory");
}

STEP step_reload(struct rig *rig)
{
    struct error error;

    if (registry_configure(rig->registry, rig->machine, rig->again, NULL, &error) < 0)
        errx(1, "%s", error.message);
}

STEP step_close(struct rig *rig)
{
    rig->registry = registry_free(rig->registry);
}

/* Creates and removes a cgroup. */
STEP step_churn(struct rig *rig)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/bnew", simulated_sys(rig->simulated)->root);
    for (int made = 1; made >= 0; made--) {
        if ((made ? mkdir(path, 0755) : rmdir(path)) < 0)
            err(1, "%s", path);
        for (size_t i = 0; registry_fd(rig->registry, i) != -ENODEV; i++)
            if (registry_fd(rig->registry, i) >= 0)
                registry_dispatch(rig->registry, i);
    }
}

static double timed(void (*step)(struct rig *rig), struct rig *rig)
{
    double start = cpu_us();

    step(rig);
    return cpu_us() - start;
}

/* The simulated machine and its measurements */

/* Writes groups of numbered core PMU events, each with a metric name. */
static void write_groups(struct buffer *yaml, unsigned n)
{
    buffer_append_text(yaml, "[");
    for (unsigned i = 0; i < n; i++) {
        buffer_appendf(yaml, "%s{name: g%u, events: [", i ? ", " : "", i);
        for (unsigned k = 0; k < PER_GROUP; k++)
            buffer_appendf(yaml, "%s{event: 'cpu/event=%#x/', name: event_%u}", k ? ", " : "", 1 + PER_GROUP * i + k,
                           PER_GROUP * i + k);
        buffer_append_text(yaml, "]}");
    }
    buffer_append_text(yaml, "]");
}

static struct config *configure(unsigned n_groups, bool cgroups, const char *engine)
{
    _cleanup_(buffer_done) struct buffer yaml = {0};
    struct config *config;
    struct error error;

    buffer_appendf(&yaml,
                   "collectors: {self: {enabled: false}, cpu: {enabled: %s, groups: ", cgroups ? "false" : "true");
    write_groups(&yaml, n_groups);
    buffer_appendf(&yaml, "}, cgroup: {enabled: %s, engine: %s, include: ['/b*'], max_cgroups: 100000, groups: ",
                   cgroups ? "true" : "false", engine);
    write_groups(&yaml, n_groups);
    buffer_append_text(&yaml, "}}\n");
    if (yaml.failed)
        errx(1, "out of memory");
    if (config_parse(yaml.data, yaml.size, &config, &error) < 0)
        errx(1, "%s", error.message);
    return config;
}

static void rig_init(struct rig *rig, const struct curve *curve, unsigned x)
{
    unsigned cpus = curve->cpus ? curve->cpus : x, groups = curve->groups ? curve->groups : x / PER_GROUP;
    unsigned cgroups = curve->cgroups ? curve->cgroups : x;
    const char *engine = curve->each ? "bpf" : "perf";
    struct error error;

    cgroups = cgroups == NO_CGROUPS ? 0 : cgroups;
    *rig = (struct rig){.simulated = simulated_new(cpus, cgroups)};
    if (!rig->simulated)
        err(1, "the simulated machine");
    if (curve->each && !(rig->bpf = simulated_bpf_new(rig->simulated, curve->each)))
        errx(1, "out of memory");
    rig->config = configure(groups, curve->cgroups != NO_CGROUPS, engine);
    rig->again = configure(groups, curve->cgroups != NO_CGROUPS, engine);
    if (machine_load(simulated_sys(rig->simulated), &rig->machine, &error) < 0)
        errx(1, "%s", error.message);
    if (registry_new(simulated_sys(rig->simulated), &rig->reload, &rig->registry) < 0)
        errx(1, "out of memory");
    registry_set_cgroup_sources(rig->registry, simulated_bpf_calls(rig->bpf), NULL);
}

static void rig_done(struct rig *rig)
{
    registry_free(rig->registry);
    config_free(rig->config);
    config_free(rig->again);
    machine_free(rig->machine);
    buffer_done(&rig->text);
    simulated_bpf_free(rig->bpf);
    simulated_free(rig->simulated);
}

static void advance(struct rig *rig)
{
    if (rig->bpf)
        simulated_bpf_advance(rig->bpf);
    else
        simulated_advance(rig->simulated);
}

static size_t count_series(const struct snapshot *snapshot)
{
    size_t n = 0;

    for (size_t i = 0; i < snapshot->metrics.n; i++)
        n += snapshot->metrics.families[i]->n;
    return n;
}

/*
 * Returns the shortest time of several runs; a shorter step is run more often. The first run is slower, because it
 * allocates memory that later runs reuse.
 */
static double measure_step(void (*step)(struct rig *rig), struct rig *rig, unsigned readings)
{
    double best = INFINITY, start = cpu_us();

    for (unsigned i = 0; i < readings || (readings >= READINGS && cpu_us() - start < READINGS_US); i++) {
        advance(rig);
        double us = timed(step, rig);
        best = MIN(best, us);
    }
    return best;
}

static void measure(const struct curve *curve, unsigned x, unsigned readings)
{
    struct rig rig;

    rig_init(&rig, curve, x);
    size_t before = heap();
    double opening = timed(step_open, &rig);
    size_t reads = simulated_reads(rig.simulated);
    registry_read(rig.registry, ALL, 0);
    size_t bytes = heap() - before + (rig.bpf ? simulated_bpf_size(rig.bpf) : 0);
    reads = simulated_reads(rig.simulated) - reads;
    double reading = measure_step(step_reading, &rig, readings), collecting = 0, churn = 0;
    if (rig.bpf) {
        collecting = measure_step(step_collect, &rig, readings);
        churn = measure_step(step_churn, &rig, readings);
    }
    size_t size = rig.text.size;
    size_t opened = simulated_open(rig.simulated), series = count_series(rig.snapshot);
    double reloading = timed(step_reload, &rig);
    if (simulated_open(rig.simulated) != opened)
        errx(1, "after a reload of the same configuration %zu events are open, not %zu", simulated_open(rig.simulated),
             opened);
    double closing = timed(step_close, &rig);
    if (simulated_open(rig.simulated) != 0)
        errx(1, "%zu events are still open", simulated_open(rig.simulated));
    printf("x=%u groups=%zu series=%zu page=%zu bytes=%zu open=%.1f reading=%.1f collect=%.1f churn=%.1f reload=%.1f "
           "close=%.1f\n",
           x, reads, series, size, bytes, opening, reading, collecting, churn, reloading, closing);
    rig_done(&rig);
}

/* The cgroup collector checks the limit of open files, even though the descriptors are simulated. */
static void raise_limit(void)
{
    struct rlimit limit = {.rlim_cur = 1000000, .rlim_max = 1000000};

    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    unsigned readings = argc > 3 ? (unsigned)atoi(argv[3]) : READINGS;

    raise_limit();
    for (size_t i = 0; argc > 2 && readings && i < ARRAY_SIZE(curves); i++)
        if (str_equal(curves[i].name, argv[1]) && atoi(argv[2]) >= 0) {
            measure(&curves[i], (unsigned)atoi(argv[2]), readings);
            return 0;
        }
    errx(2, "usage: bench-growth cpus|events|cgroups|bpf|bpf-busy|bpf-cpus X [READINGS]");
}
