/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated machines: their files in /sys and /proc, and what the simulated kernel knows of their PMUs. */
#undef NDEBUG
#include <assert.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/fake-machine.h"

#define DEVICES "/sys/bus/event_source/devices"

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

const char *fake_path(const struct fake_sys *fake, const char *path)
{
    static char texts[4][PATH_MAX];
    static unsigned n;
    char *text = texts[n++ % ARRAY_SIZE(texts)];

    snprintf(text, PATH_MAX, "%s%s", fake->root, path);
    return text;
}

void fake_file(struct fake_sys *fake, const char *path, const char *format, ...)
{
    char target[PATH_MAX];
    va_list args;

    assert((size_t)snprintf(target, sizeof(target), "%s%s", fake->root, path) < sizeof(target));
    make_directories(target);
    _cleanup_(fclosep) FILE *file = fopen(target, "w");
    assert(file);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
}

void fake_pmu_file(struct fake_sys *fake, const char *pmu, const char *path, const char *text)
{
    char target[PATH_MAX];

    assert((size_t)snprintf(target, sizeof(target), DEVICES "/%s/%s", pmu, path) < sizeof(target));
    fake_file(fake, target, "%s\n", text);
}

struct fake_pmu *fake_find_pmu(struct fake_sys *fake, const char *name)
{
    for (size_t i = 0; i < fake->n_pmus; i++)
        if (str_equal(fake->pmus[i].name, name))
            return &fake->pmus[i];
    assert(!"no such fake PMU");
    return NULL;
}

struct fake_pmu *fake_add_pmu(struct fake_sys *fake, const char *name, uint32_t type, const char *file,
                              const char *cpus)
{
    struct fake_pmu *pmu = &fake->pmus[fake->n_pmus++];
    char number[16];

    assert(fake->n_pmus <= ARRAY_SIZE(fake->pmus));
    *pmu = (struct fake_pmu){.name = name, .type = type, .counters = FAKE_UNLIMITED};
    assert(cpuset_parse(cpus, &pmu->cpus, NULL) == 0);
    snprintf(number, sizeof(number), "%u", type);
    fake_pmu_file(fake, name, "type", number);
    if (file)
        fake_pmu_file(fake, name, file, cpus);
    return pmu;
}

void fake_cpus(struct fake_sys *fake, const char *list)
{
    cpuset_done(&fake->possible);
    cpuset_done(&fake->online);
    assert(cpuset_parse(list, &fake->possible, NULL) == 0);
    assert(cpuset_copy(&fake->possible, &fake->online) == 0);
    fake_file(fake, "/sys/devices/system/cpu/online", "%s\n", list);
    fake_file(fake, "/sys/devices/system/cpu/possible", "%s\n", list);
}

/* The files that every machine has. */
static struct fake_sys *plain_machine(const char *cpus)
{
    struct fake_sys *fake = fake_sys_new();

    fake_cpus(fake, cpus);
    fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "2\n");
    fake_file(fake, "/proc/sys/kernel/osrelease", "6.1.0-fake\n");
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
    fake_file(fake, "/sys/kernel/tracing/available_events", "sched:sched_switch\n");
    fake_add_pmu(fake, "software", PERF_TYPE_SOFTWARE, NULL, cpus)->software = true;
    fake_add_pmu(fake, "tracepoint", PERF_TYPE_TRACEPOINT, NULL, cpus)->software = true;
    return fake;
}

static struct fake_pmu *core_pmu(struct fake_sys *fake, const char *name, uint32_t type, const char *file,
                                 const char *cpus, uint32_t counters)
{
    struct fake_pmu *pmu = fake_add_pmu(fake, name, type, file, cpus);

    pmu->core = true;
    pmu->counters = counters;
    return pmu;
}

/* The core PMU of an x86 has neither a file "cpus" nor a "cpumask". */
static void x86_pmu(struct fake_sys *fake, const char *cpus, uint32_t counters)
{
    core_pmu(fake, "cpu", PERF_TYPE_RAW, NULL, cpus, counters);
    fake_pmu_file(fake, "cpu", "format/event", "config:0-7");
    fake_pmu_file(fake, "cpu", "format/umask", "config:8-15");
    fake_pmu_file(fake, "cpu", "format/edge", "config:18");
    fake_pmu_file(fake, "cpu", "format/inv", "config:23");
    fake_pmu_file(fake, "cpu", "format/cmask", "config:24-31");
    fake_pmu_file(fake, "cpu", "format/ldlat", "config1:0-15");
    fake_pmu_file(fake, "cpu", "events/cpu-cycles", "event=0x3c");
    fake_pmu_file(fake, "cpu", "events/instructions", "event=0xc0");
    fake_pmu_file(fake, "cpu", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
    fake_pmu_file(fake, "cpu", "events/topdown-slots", "event=0x00,umask=0x4");
    fake_pmu_file(fake, "cpu", "events/topdown-slots.scale", "4");
}

struct fake_sys *fake_machine_one_pmu(void)
{
    struct fake_sys *fake = plain_machine("0-3");

    x86_pmu(fake, "0-3", 4);
    fake_add_pmu(fake, "power", 11, "cpumask", "0");
    fake_pmu_file(fake, "power", "format/event", "config:0-7");
    fake_pmu_file(fake, "power", "events/energy-pkg", "event=0x02");
    fake_pmu_file(fake, "power", "events/energy-pkg.scale", "2.3283064365386962890625e-10");
    fake_pmu_file(fake, "power", "events/energy-pkg.unit", "Joules");
    return fake;
}

struct fake_sys *fake_machine_two_counters(void)
{
    struct fake_sys *fake = plain_machine("0-1");

    x86_pmu(fake, "0-1", 2);
    return fake;
}

struct fake_sys *fake_machine_no_pmu(void)
{
    return plain_machine("0-1");
}

struct fake_sys *fake_machine_big_little(void)
{
    static const struct {
        const char *name, *cpus;
        uint32_t type;
    } clusters[] = {{"armv8_cortex_a55", "0-3", 8}, {"armv8_cortex_a76", "4-7", 9}};
    struct fake_sys *fake = plain_machine("0-7");

    for (size_t i = 0; i < ARRAY_SIZE(clusters); i++) {
        const char *name = clusters[i].name;
        core_pmu(fake, name, clusters[i].type, "cpus", clusters[i].cpus, 6)->arm = true;
        fake_pmu_file(fake, name, "format/event", "config:0-15");
        fake_pmu_file(fake, name, "format/long", "config1:0");
        fake_pmu_file(fake, name, "events/cpu_cycles", "event=0x0011");
        fake_pmu_file(fake, name, "events/inst_retired", "event=0x0008");
        fake_pmu_file(fake, name, "events/l2d_cache_refill", "event=0x0017");
    }
    fake_pmu_file(fake, "armv8_cortex_a55", "events/bus_cycles", "event=0x001d");
    fake_pmu_file(fake, "armv8_cortex_a76", "events/stall_backend", "event=0x0024");
    fake_pmu_file(fake, "armv8_cortex_a76", "caps/threshold_max", "0x00000fff");
    return fake;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

struct fake_sys *fake_sys_free(struct fake_sys *fake)
{
    if (!fake)
        return NULL;
    assert(fake->n_open == 0 && fake->n_mapped == 0);
    if (fake->bpf)
        fake->remove_bpf(fake);
    nftw(fake->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(fake->events);
    for (size_t i = 0; i < fake->n_pmus; i++)
        cpuset_done(&fake->pmus[i].cpus);
    cpuset_done(&fake->possible);
    cpuset_done(&fake->online);
    free(fake);
    return NULL;
}

struct machine *machine_of(struct sys *sys)
{
    struct machine *machine = NULL;
    struct error error = {0};

    int r = machine_load(sys, &machine, &error);
    if (r < 0)
        fprintf(stderr, "%s\n", error.message);
    assert(r == 0);
    return machine;
}
