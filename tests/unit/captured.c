/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as their /sys shows them: see captured.h. */
#include "tests/unit/captured.h"

struct captured_pmu {
    const char *name;
    uint32_t type;
    const char *file, *cpus; /* no file: all CPUs */
    uint32_t counters;       /* 0: no limit */
    bool core, software;
};

struct captured_file {
    const char *pmu, *path, *text;
};

struct captured {
    const char *cpus, *release, *paranoid;
    const struct captured_pmu *pmus;
    const struct captured_file *files;
    bool extended_types;
};

#define CORE(n, t, c, k)                                                                                               \
    {                                                                                                                  \
        .name = (n), .type = (t), .file = "cpus", .cpus = (c), .counters = (k), .core = true                           \
    }
#define SYSTEM(n, t, c, k)                                                                                             \
    {                                                                                                                  \
        .name = (n), .type = (t), .file = "cpumask", .cpus = (c), .counters = (k)                                      \
    }

/* The PMUs and files of every kernel. */
static const struct captured_pmu kernel_pmus[] = {
    {"software", PERF_TYPE_SOFTWARE, .software = true},
    {"tracepoint", PERF_TYPE_TRACEPOINT, .software = true},
    {"breakpoint", PERF_TYPE_BREAKPOINT, .software = true},
    {"kprobe", 6, .software = true},
    {"uprobe", 7, .software = true},
    {0},
};
static const struct captured_file kernel_files[] = {
    {"kprobe", "format/retprobe", "config:0"},
    {"uprobe", "format/retprobe", "config:0"},
    {"uprobe", "format/ref_ctr_offset", "config:32-63"},
    {0},
};

static void add_pmus(struct fake_sys *fake, const char *all, const struct captured_pmu *pmus)
{
    for (; pmus->name; pmus++) {
        struct fake_pmu *pmu = fake_add_pmu(fake, pmus->name, pmus->type, pmus->file, pmus->file ? pmus->cpus : all);
        pmu->core = pmus->core;
        pmu->software = pmus->software;
        pmu->counters = pmus->counters ? pmus->counters : FAKE_UNLIMITED;
    }
}

static void add_files(struct fake_sys *fake, const struct captured_file *files)
{
    for (; files->pmu; files++)
        fake_pmu_file(fake, files->pmu, files->path, files->text);
}

static struct fake_sys *play(const struct captured *captured)
{
    struct fake_sys *fake = fake_sys_new();

    fake_cpus(fake, captured->cpus);
    fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s\n", captured->paranoid);
    fake_file(fake, "/proc/sys/kernel/osrelease", "%s\n", captured->release);
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
    add_pmus(fake, captured->cpus, kernel_pmus);
    add_files(fake, kernel_files);
    add_pmus(fake, captured->cpus, captured->pmus);
    add_files(fake, captured->files);
    fake->extended_types = captured->extended_types;
    return fake;
}

#define ARMV8_FILES(name)                                                                                              \
    {name, "format/event", "config:0-15"}, {name, "format/long", "config1:0"},                                         \
        {name, "events/cpu_cycles", "event=0x0011"}, {name, "events/inst_retired", "event=0x0008"},                    \
        {name, "events/l1d_cache_refill", "event=0x0003"}, {name, "events/l2d_cache_refill", "event=0x0017"},          \
        {name, "events/bus_cycles", "event=0x001d"},                                                                   \
    {                                                                                                                  \
        name, "caps/slots", "0x00000000"                                                                               \
    }

static const struct captured_pmu rk3588_5_10_pmus[] = {CORE("armv8_pmuv3", 8, "0-7", 6), {0}};
static const struct captured_file rk3588_5_10_files[] = {ARMV8_FILES("armv8_pmuv3"), {0}};

struct fake_sys *captured_rk3588_5_10(void)
{
    return play(&(struct captured){"0-7", "5.10.160-rockchip-rk3588", "2", rk3588_5_10_pmus, rk3588_5_10_files, false});
}

static const struct captured_pmu rk3588_6_1_pmus[] = {
    CORE("armv8_cortex_a55", 8, "0-3", 6),
    CORE("armv8_cortex_a76", 9, "4-7", 6),
    SYSTEM("arm_dsu_0", 10, "0", 8),
    {0},
};
static const struct captured_file rk3588_6_1_files[] = {
    ARMV8_FILES("armv8_cortex_a55"),
    ARMV8_FILES("armv8_cortex_a76"),
    {"armv8_cortex_a76", "events/stall_backend", "event=0x0024"},
    {"arm_dsu_0", "associated_cpus", "0-7"},
    {"arm_dsu_0", "format/event", "config:0-31"},
    {"arm_dsu_0", "events/cycles", "event=0x11"},
    {"arm_dsu_0", "events/bus_access", "event=0x19"},
    {"arm_dsu_0", "events/l3d_cache", "event=0x2b"},
    {"arm_dsu_0", "events/l3d_cache_refill", "event=0x2a"},
    {0},
};

struct fake_sys *captured_rk3588_6_1(void)
{
    return play(&(struct captured){"0-7", "6.1.0-35-arm64", "2", rk3588_6_1_pmus, rk3588_6_1_files, false});
}

#define INTEL_FILES(name)                                                                                              \
    {name, "format/event", "config:0-7"}, {name, "format/umask", "config:8-15"}, {name, "format/edge", "config:18"},   \
        {name, "format/inv", "config:23"}, {name, "format/cmask", "config:24-31"},                                     \
        {name, "events/cpu-cycles", "event=0x3c"},                                                                     \
    {                                                                                                                  \
        name, "events/instructions", "event=0xc0"                                                                      \
    }
#define RAPL_EVENT(name, terms)                                                                                        \
    {"power", "events/" name, terms}, {"power", "events/" name ".scale", "2.3283064365386962890625e-10"},              \
    {                                                                                                                  \
        "power", "events/" name ".unit", "Joules"                                                                      \
    }
#define IMC_EVENT(name, terms)                                                                                         \
    {"uncore_imc_free_running_0", "events/" name, terms},                                                              \
        {"uncore_imc_free_running_0", "events/" name ".scale", "6.103515625e-5"},                                      \
    {                                                                                                                  \
        "uncore_imc_free_running_0", "events/" name ".unit", "MiB"                                                     \
    }

static const struct captured_pmu intel_hybrid_pmus[] = {
    CORE("cpu_core", 4, "0-15", 8),
    CORE("cpu_atom", 10, "16-19", 6),
    {.name = "msr", .type = 11},
    SYSTEM("power", 12, "0", 0),
    SYSTEM("cstate_core", 13, "0,2,4,6,8,10,12,14,16-19", 0),
    SYSTEM("cstate_pkg", 14, "0", 0),
    SYSTEM("uncore_imc_0", 20, "0", 5),
    SYSTEM("uncore_imc_1", 21, "0", 5),
    SYSTEM("uncore_imc_free_running_0", 22, "0", 0),
    {.name = "intel_pt", .type = 23},
    {0},
};
static const struct captured_file intel_hybrid_files[] = {
    INTEL_FILES("cpu_core"),
    INTEL_FILES("cpu_atom"),
    {"cpu_core", "format/ldlat", "config1:0-15"},
    {"cpu_core", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
    {"cpu_core", "events/topdown-retiring", "event=0x00,umask=0x80"},
    {"cpu_atom", "events/topdown-retiring", "event=0xc2,umask=0x0"},
    {"msr", "format/event", "config:0-63"},
    {"msr", "events/tsc", "event=0x00"},
    {"msr", "events/smi", "event=0x04"},
    {"power", "format/event", "config:0-7"},
    RAPL_EVENT("energy-pkg", "event=0x02"),
    RAPL_EVENT("energy-cores", "event=0x01"),
    RAPL_EVENT("energy-psys", "event=0x05"),
    {"cstate_core", "format/event", "config:0-63"},
    {"cstate_core", "events/c6-residency", "event=0x02"},
    {"cstate_pkg", "format/event", "config:0-63"},
    {"cstate_pkg", "events/c6-residency", "event=0x02"},
    {"uncore_imc_0", "format/event", "config:0-7"},
    {"uncore_imc_0", "format/chmask", "config:8-11"},
    {"uncore_imc_1", "format/event", "config:0-7"},
    {"uncore_imc_1", "format/chmask", "config:8-11"},
    {"uncore_imc_free_running_0", "format/event", "config:0-7"},
    {"uncore_imc_free_running_0", "format/umask", "config:8-15"},
    IMC_EVENT("data_read", "event=0xff,umask=0x20"),
    IMC_EVENT("data_write", "event=0xff,umask=0x30"),
    {"intel_pt", "format/tsc", "config:10"},
    {0},
};

struct fake_sys *captured_intel_hybrid(void)
{
    return play(&(struct captured){"0-19", "6.1.0-35-amd64", "3", intel_hybrid_pmus, intel_hybrid_files, true});
}

#define UMC_FILES(name)                                                                                                \
    {name, "format/event", "config:0-7"},                                                                              \
    {                                                                                                                  \
        name, "format/rdwrmask", "config:8-9"                                                                          \
    }

static const struct captured_pmu amd_server_pmus[] = {
    {.name = "cpu", .type = PERF_TYPE_RAW, .counters = 6, .core = true},
    SYSTEM("amd_df", 10, "0", 16),
    SYSTEM("amd_l3", 11, "0,8", 6),
    SYSTEM("amd_umc_0", 12, "0", 4),
    SYSTEM("amd_umc_1", 13, "0", 4),
    SYSTEM("amd_umc_2", 14, "0", 4),
    SYSTEM("amd_umc_3", 15, "0", 4),
    SYSTEM("amd_iommu_0", 16, "0", 4),
    SYSTEM("power", 17, "0", 0),
    {.name = "ibs_op", .type = 18},
    {.name = "msr", .type = 19},
    {0},
};
static const struct captured_file amd_server_files[] = {
    {"cpu", "format/event", "config:0-7,32-35"},
    {"cpu", "format/umask", "config:8-15"},
    {"cpu", "format/cmask", "config:24-31"},
    {"cpu", "events/cpu-cycles", "event=0x76"},
    {"cpu", "events/instructions", "event=0xc0"},
    {"amd_df", "format/event", "config:0-7,32-37"},
    {"amd_df", "format/umask", "config:8-15,24-27"},
    {"amd_l3", "format/event", "config:0-7"},
    {"amd_l3", "format/umask", "config:8-15"},
    {"amd_l3", "format/coreid", "config:42-44"},
    {"amd_l3", "format/enallcores", "config:47"},
    {"amd_l3", "format/enallslices", "config:46"},
    {"amd_l3", "format/sliceid", "config:48-50"},
    {"amd_l3", "format/threadmask", "config:56-57"},
    UMC_FILES("amd_umc_0"),
    UMC_FILES("amd_umc_1"),
    UMC_FILES("amd_umc_2"),
    UMC_FILES("amd_umc_3"),
    {"amd_iommu_0", "format/csource", "config:0-7"},
    {"amd_iommu_0", "events/mem_trans_total", "csource=0x05"},
    {"power", "format/event", "config:0-7"},
    RAPL_EVENT("energy-pkg", "event=0x02"),
    {"ibs_op", "format/cnt_ctl", "config:19"},
    {"msr", "format/event", "config:0-63"},
    {"msr", "events/tsc", "event=0x00"},
    {0},
};

struct fake_sys *captured_amd_server(void)
{
    return play(&(struct captured){"0-15", "6.8.0-60-generic", "4", amd_server_pmus, amd_server_files, false});
}

static const struct captured_pmu raspberry_pi_pmus[] = {{0}};
static const struct captured_file raspberry_pi_files[] = {{0}};

struct fake_sys *captured_raspberry_pi(void)
{
    return play(&(struct captured){"0-3", "6.1.21-v8+", "2", raspberry_pi_pmus, raspberry_pi_files, false});
}
