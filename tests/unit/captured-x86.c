/* SPDX-License-Identifier: Apache-2.0 */
/* x86 machines as their /sys shows them: see captured.h. */
#include "tests/unit/captured-play.h"

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
    {"cpu_core", "events/slots", "event=0x00,umask=0x4"},
    {"cpu_core", "events/topdown-retiring", "event=0x00,umask=0x80"},
    {"cpu_core", "events/topdown-bad-spec", "event=0x00,umask=0x81"},
    {"cpu_core", "events/topdown-fe-bound", "event=0x00,umask=0x82"},
    {"cpu_core", "events/topdown-be-bound", "event=0x00,umask=0x83"},
    {"cpu_atom", "events/topdown-retiring", "event=0xc2,umask=0x0"},
    {"cpu_atom", "events/topdown-bad-spec", "event=0x73,umask=0x0"},
    {"cpu_atom", "events/topdown-fe-bound", "event=0x71,umask=0x0"},
    {"cpu_atom", "events/topdown-be-bound", "event=0x74,umask=0x0"},
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
    return captured_play(
        &(struct captured){"0-19", "6.1.0-35-amd64", "3", intel_hybrid_pmus, intel_hybrid_files, true});
}

/*
 * Ice Lake server, two sockets of eight cores with two threads each: arch/x86/events/intel/core.c (icl_td_events_attrs,
 * also in Sapphire Rapids), uncore_snbep.c (icx_uncore_imc_events, icx_uncore_imc_freerunning_events), 6.1;
 * rapl.c (the domains of a server). Eight programmable counters, three fixed ones, and slots.
 */
#define SERVER_IMC_FILES(name)                                                                                         \
    {name, "format/event", "config:0-7"}, {name, "format/umask", "config:8-15"},                                       \
        {name, "events/clockticks", "event=0x00,umask=0x00"},                                                          \
        {name, "events/cas_count_read", "event=0x04,umask=0x0f"},                                                      \
        {name, "events/cas_count_read.scale", "6.103515625e-5"}, {name, "events/cas_count_read.unit", "MiB"},          \
        {name, "events/cas_count_write", "event=0x04,umask=0x30"},                                                     \
        {name, "events/cas_count_write.scale", "6.103515625e-5"},                                                      \
    {                                                                                                                  \
        name, "events/cas_count_write.unit", "MiB"                                                                     \
    }

static const struct captured_pmu intel_server_pmus[] = {
    {.name = "cpu", .type = PERF_TYPE_RAW, .counters = 12, .core = true},
    {.name = "msr", .type = 11},
    SYSTEM("power", 12, "0,8", 0),
    SYSTEM("cstate_core", 13, "0-15", 0),
    SYSTEM("cstate_pkg", 14, "0,8", 0),
    SYSTEM("uncore_imc_0", 20, "0,8", 5),
    SYSTEM("uncore_imc_1", 21, "0,8", 5),
    SYSTEM("uncore_imc_2", 22, "0,8", 5),
    SYSTEM("uncore_imc_3", 23, "0,8", 5),
    SYSTEM("uncore_imc_free_running_0", 24, "0,8", 0),
    {0},
};
static const struct captured_file intel_server_files[] = {
    INTEL_FILES("cpu"),
    {"cpu", "events/branch-instructions", "event=0xc4"},
    {"cpu", "events/branch-misses", "event=0xc5"},
    {"cpu", "events/bus-cycles", "event=0x3c,umask=0x01"},
    {"cpu", "events/cache-misses", "event=0x2e,umask=0x41"},
    {"cpu", "events/cache-references", "event=0x2e,umask=0x4f"},
    {"cpu", "events/ref-cycles", "event=0x00,umask=0x03"},
    {"cpu", "events/slots", "event=0x00,umask=0x4"},
    {"cpu", "events/topdown-retiring", "event=0x00,umask=0x80"},
    {"cpu", "events/topdown-bad-spec", "event=0x00,umask=0x81"},
    {"cpu", "events/topdown-fe-bound", "event=0x00,umask=0x82"},
    {"cpu", "events/topdown-be-bound", "event=0x00,umask=0x83"},
    {"msr", "format/event", "config:0-63"},
    {"msr", "events/tsc", "event=0x00"},
    {"power", "format/event", "config:0-7"},
    RAPL_EVENT("energy-pkg", "event=0x02"),
    RAPL_EVENT("energy-ram", "event=0x03"),
    {"cstate_core", "format/event", "config:0-63"},
    {"cstate_core", "events/c6-residency", "event=0x02"},
    {"cstate_pkg", "format/event", "config:0-63"},
    {"cstate_pkg", "events/c6-residency", "event=0x02"},
    SERVER_IMC_FILES("uncore_imc_0"),
    SERVER_IMC_FILES("uncore_imc_1"),
    SERVER_IMC_FILES("uncore_imc_2"),
    SERVER_IMC_FILES("uncore_imc_3"),
    {"uncore_imc_free_running_0", "format/event", "config:0-7"},
    {"uncore_imc_free_running_0", "format/umask", "config:8-15"},
    {"uncore_imc_free_running_0", "events/dclk", "event=0xff,umask=0x10"},
    IMC_EVENT("read", "event=0xff,umask=0x20"),
    IMC_EVENT("write", "event=0xff,umask=0x21"),
    {0},
};

struct fake_sys *captured_intel_server(void)
{
    return captured_play(
        &(struct captured){"0-31", "6.1.0-35-amd64", "3", intel_server_pmus, intel_server_files, false});
}

#define UMC_FILES(name)                                                                                                \
    {name, "format/event", "config:0-7"},                                                                              \
    {                                                                                                                  \
        name, "format/rdwrmask", "config:8-9"                                                                          \
    }

/* arch/x86/events/amd/core.c, 6.10: amd_zen4_perfmon_event_map; uncore.c; rapl.c. */
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
    {"cpu", "events/cache-references", "event=0x60,umask=0xff"},
    {"cpu", "events/cache-misses", "event=0x64,umask=0x09"},
    {"cpu", "events/branch-instructions", "event=0xc2"},
    {"cpu", "events/branch-misses", "event=0xc3"},
    {"cpu", "events/stalled-cycles-frontend", "event=0xa9"},
    {"cpu", "events/ref-cycles", "event=0x120,umask=0x01"},
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
    return captured_play(
        &(struct captured){"0-15", "6.12.48+deb13-amd64", "3", amd_server_pmus, amd_server_files, false});
}
