/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG
#include <assert.h>

#include "tests/unit/captured.h"

enum kind { SYSTEM, CORE, SOFTWARE };

struct pmu_files {
    const char *name;
    uint32_t type;
    enum kind kind;
    const char *file, *cpus; /* NULL: the PMU covers all CPUs */
    uint32_t counters;       /* programmable counters; 0: no limit */
    const char *files;       /* "events/cycles=event=0x11 format/event=config:0-31" */
};

struct captured {
    const char *cpus, *release, *paranoid;
    const struct pmu_files *pmus;
    bool extended_types;
};

/* The PMUs that every kernel has. */
static const struct pmu_files kernel_pmus[] = {
    {"software", PERF_TYPE_SOFTWARE, SOFTWARE, NULL, NULL, 0, ""},
    {"tracepoint", PERF_TYPE_TRACEPOINT, SOFTWARE, NULL, NULL, 0, ""},
    {"breakpoint", PERF_TYPE_BREAKPOINT, SOFTWARE, NULL, NULL, 0, ""},
    {"kprobe", 6, SOFTWARE, NULL, NULL, 0, "format/retprobe=config:0"},
    {"uprobe", 7, SOFTWARE, NULL, NULL, 0, "format/retprobe=config:0 format/ref_ctr_offset=config:32-63"},
    {0},
};

static void add_files(struct fake_sys *fake, const char *pmu, const char *files)
{
    _cleanup_(freep) char *copy = strdup(files);
    char *at = copy, *path;

    assert(copy);
    while ((path = strsep(&at, " "))) {
        char *text = path;
        strsep(&text, "=");
        if (text)
            fake_pmu_file(fake, pmu, path, text);
    }
}

static void add_pmus(struct fake_sys *fake, const char *all, const struct pmu_files *pmus)
{
    for (; pmus->name; pmus++) {
        struct fake_pmu *pmu = fake_add_pmu(fake, pmus->name, pmus->type, pmus->file, pmus->file ? pmus->cpus : all);
        pmu->core = pmus->kind == CORE;
        pmu->software = pmus->kind == SOFTWARE;
        pmu->counters = pmus->counters ? pmus->counters : FAKE_UNLIMITED;
        add_files(fake, pmus->name, pmus->files);
    }
}

static struct fake_sys *sim(const struct captured *captured)
{
    struct fake_sys *fake = fake_sys_new();

    fake_cpus(fake, captured->cpus);
    fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s\n", captured->paranoid);
    fake_file(fake, "/proc/sys/kernel/osrelease", "%s\n", captured->release);
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
    add_pmus(fake, captured->cpus, kernel_pmus);
    add_pmus(fake, captured->cpus, captured->pmus);
    fake->extended_types = captured->extended_types;
    return fake;
}

/* Arm */

/*
 * The core's events in drivers/perf/arm_pmuv3.c (6.7 and later; arch/arm64/kernel/perf_event.c before). sysfs lists
 * those whose bit is set in PMCEID0 or PMCEID1. Events that Cortex-A55 and A76 have in common, according to the PMU
 * chapters of their Technical Reference Manuals. Neither core has STALL_SLOT, OP_SPEC or OP_RETIRED.
 */
#define ARMV8                                                                                                          \
    "format/event=config:0-15 format/long=config1:0 caps/slots=0x00000000 events/sw_incr=event=0x0000 "                \
    "events/l1i_cache_refill=event=0x0001 events/l1i_tlb_refill=event=0x0002 events/l1d_cache_refill=event=0x0003 "    \
    "events/l1d_cache=event=0x0004 events/l1d_tlb_refill=event=0x0005 events/inst_retired=event=0x0008 "               \
    "events/exc_taken=event=0x0009 events/exc_return=event=0x000a events/cid_write_retired=event=0x000b "              \
    "events/br_mis_pred=event=0x0010 events/cpu_cycles=event=0x0011 events/br_pred=event=0x0012 "                      \
    "events/mem_access=event=0x0013 events/l1i_cache=event=0x0014 events/l1d_cache_wb=event=0x0015 "                   \
    "events/l2d_cache=event=0x0016 events/l2d_cache_refill=event=0x0017 events/l2d_cache_wb=event=0x0018 "             \
    "events/bus_access=event=0x0019 events/memory_error=event=0x001a events/inst_spec=event=0x001b "                   \
    "events/ttbr_write_retired=event=0x001c events/bus_cycles=event=0x001d events/l2d_cache_allocate=event=0x0020 "    \
    "events/br_retired=event=0x0021 events/br_mis_pred_retired=event=0x0022 events/stall_frontend=event=0x0023 "       \
    "events/stall_backend=event=0x0024 events/l1d_tlb=event=0x0025 events/l1i_tlb=event=0x0026 "                       \
    "events/l3d_cache_allocate=event=0x0029 events/l3d_cache_refill=event=0x002a events/l3d_cache=event=0x002b "       \
    "events/l2d_tlb_refill=event=0x002d events/l2d_tlb=event=0x002f events/dtlb_walk=event=0x0034 "                    \
    "events/itlb_walk=event=0x0035 events/ll_cache_rd=event=0x0036 events/ll_cache_miss_rd=event=0x0037 "
/* Events that only one of the two cores has. */
#define A55                                                                                                            \
    ARMV8 "events/ld_retired=event=0x0006 events/st_retired=event=0x0007 events/pc_write_retired=event=0x000c "        \
          "events/remote_access_rd=event=0x0038 "
#define A76 ARMV8 "events/remote_access=event=0x0031 "

/* Six programmable counters and the cycle counter. */
#define ARMV8_COUNTERS 7
#define RK3588_CORES                                                                                                   \
    {"armv8_cortex_a55", 8, CORE, "cpus", "0-3", ARMV8_COUNTERS, A55},                                                 \
    {                                                                                                                  \
        "armv8_cortex_a76", 9, CORE, "cpus", "4-7", ARMV8_COUNTERS, A76                                                \
    }

struct fake_sys *captured_rk3588_5_10(void)
{
    static const struct pmu_files pmus[] = {{"armv8_pmuv3", 8, CORE, "cpus", "0-7", ARMV8_COUNTERS, A55}, {0}};

    return sim(&(struct captured){"0-7", "5.10.160-rockchip-rk3588", "2", pmus, false});
}

struct fake_sys *captured_rk3588_6_1(void)
{
    static const struct pmu_files pmus[] = {
        RK3588_CORES,
        {"arm_dsu_0", 10, SYSTEM, "cpumask", "0", 8,
         "associated_cpus=0-7 format/event=config:0-31 events/cycles=event=0x11 events/bus_access=event=0x19 "
         "events/l3d_cache=event=0x2b events/l3d_cache_refill=event=0x2a"},
        {0},
    };

    return sim(&(struct captured){"0-7", "6.1.0-35-arm64", "2", pmus, false});
}

/*
 * drivers/devfreq/event/rockchip-dfi.c, 6.7 and later, on the node dfi@fe060000 of rk3588-base.dtsi. The driver
 * accumulates each event in software, so the number of events is not limited.
 */
#define ROCKCHIP_BYTES(event, number)                                                                                  \
    "events/" event "=event=" number " events/" event ".unit=MB events/" event ".scale=9.536743164e-07 "

struct fake_sys *captured_rk3588_6_12(void)
{
    static const struct pmu_files pmus[] = {
        RK3588_CORES,
        {"rockchip_ddr", 10, SYSTEM, "cpumask", "0", 0,
         "format/event=config:0-7 events/cycles=event=0x0 " ROCKCHIP_BYTES("read-bytes", "0x1")
             ROCKCHIP_BYTES("write-bytes", "0x2") ROCKCHIP_BYTES("read-bytes0", "0x3") ROCKCHIP_BYTES("bytes", "0xb")},
        {0},
    };

    return sim(&(struct captured){"0-7", "6.12.48", "2", pmus, false});
}

/* bcm2712.dtsi: compatible "arm,cortex-a76-pmu". */
struct fake_sys *captured_raspberry_pi_5(void)
{
    static const struct pmu_files pmus[] = {{"armv8_cortex_a76", 8, CORE, "cpus", "0-3", ARMV8_COUNTERS, A76}, {0}};

    return sim(&(struct captured){"0-3", "6.12.25+rpt-rpi-2712", "2", pmus, false});
}

/*
 * Neoverse N1: drivers/perf/arm_pmu_acpi.c names the PMU. The core is derived from the A76 and has the same events,
 * plus those of the Statistical Profiling Extension. The other PMUs are those of drivers/perf/arm-cmn.c and
 * drivers/perf/arm_dmc620_pmu.c of Linux 6.8. The name of a dmc620 PMU contains its controller's address. The PMU
 * accepts one event per group, and has no cpumask before 6.15.
 */
#define DMC620                                                                                                         \
    "format/event=config2:3-8 format/clkdiv2=config2:9 events/clkdiv2_rdwr=event=0x12,clkdiv2=0x1 "                    \
    "events/clk_cycle_count=event=0x0,clkdiv2=0x0"

struct fake_sys *captured_altra(void)
{
    static const struct pmu_files pmus[] = {
        {"armv8_pmuv3_0", 8, CORE, "cpus", "0-31", ARMV8_COUNTERS,
         A76 "events/sample_pop=event=0x4000 events/sample_feed=event=0x4001"},
        {"arm_cmn_0", 9, SYSTEM, "cpumask", "0", 4,
         "format/type=config:0-15 format/eventid=config:16-26 identifier=43401 events/dtc_cycles=type=0x3 "
         "events/hnf_cache_miss=type=0x5,eventid=0x1 events/hnf_slc_sf_cache_access=type=0x5,eventid=0x2 "
         "events/hnf_mc_retries=type=0x5,eventid=0xc events/hnf_mc_reqs=type=0x5,eventid=0xd"},
        {"arm_dsu_0", 10, SYSTEM, "cpumask", "0", 6,
         "associated_cpus=0-1 format/event=config:0-31 events/cycles=event=0x11"},
        {"arm_dsu_1", 11, SYSTEM, "cpumask", "2", 6,
         "associated_cpus=2-3 format/event=config:0-31 events/cycles=event=0x11"},
        {"arm_dmc620_10008c000", 12, SYSTEM, NULL, NULL, 1, DMC620},
        {"arm_dmc620_10008c400", 13, SYSTEM, NULL, NULL, 1, DMC620},
        {0},
    };

    return sim(&(struct captured){"0-31", "6.8.0-60-generic", "4", pmus, false});
}

/* Neoverse N2: the additional events of its Technical Reference Manual; five operations per cycle (PMMIR_EL1.SLOTS). */
struct fake_sys *captured_neoverse_n2(void)
{
    static const struct pmu_files pmus[] = {
        {"armv8_pmuv3_0", 8, CORE, "cpus", "0-3", ARMV8_COUNTERS,
         A76 "events/l1d_cache_lmiss_rd=event=0x0039 events/op_retired=event=0x003a events/op_spec=event=0x003b "
             "events/stall=event=0x003c events/stall_slot_backend=event=0x003d "
             "events/stall_slot_frontend=event=0x003e events/stall_slot=event=0x003f events/cnt_cycles=event=0x4004 "
             "events/stall_backend_mem=event=0x4005 caps/slots=0x00000005"},
        {0},
    };

    return sim(&(struct captured){"0-3", "6.8.0-60-generic", "4", pmus, false});
}

struct fake_sys *captured_raspberry_pi(void)
{
    static const struct pmu_files none = {0};

    return sim(&(struct captured){"0-3", "6.1.21-v8+", "2", &none, false});
}

/* x86 */

#define INTEL                                                                                                          \
    "format/event=config:0-7 format/umask=config:8-15 format/edge=config:18 format/inv=config:23 "                     \
    "format/cmask=config:24-31 events/cpu-cycles=event=0x3c events/instructions=event=0xc0 "
/*
 * Top-down events: icl_td_events_attrs in arch/x86/events/intel/core.c. Alder Lake's large cores and Sapphire Rapids
 * have the same top-down events.
 */
#define INTEL_SLOTS                                                                                                    \
    "events/slots=event=0x00,umask=0x4 events/topdown-retiring=event=0x00,umask=0x80 "                                 \
    "events/topdown-bad-spec=event=0x00,umask=0x81 events/topdown-fe-bound=event=0x00,umask=0x82 "                     \
    "events/topdown-be-bound=event=0x00,umask=0x83"
#define RAPL(event, number)                                                                                            \
    " events/" event "=event=" number " events/" event ".scale=2.3283064365386962890625e-10 events/" event             \
    ".unit=Joules"
#define IMC_BYTES(event, terms)                                                                                        \
    " events/" event "=" terms " events/" event ".scale=6.103515625e-5 events/" event ".unit=MiB"
#define CSTATE "format/event=config:0-63 events/c6-residency=event=0x02"
#define IMC_FREE_RUNNING "format/event=config:0-7 format/umask=config:8-15"

struct fake_sys *captured_intel_hybrid(void)
{
    static const struct pmu_files pmus[] = {
        {"cpu_core", 4, CORE, "cpus", "0-15", 8,
         INTEL "format/ldlat=config1:0-15 events/mem-loads=event=0xcd,umask=0x1,ldlat=3 " INTEL_SLOTS},
        {"cpu_atom", 10, CORE, "cpus", "16-19", 6,
         INTEL "events/topdown-retiring=event=0xc2,umask=0x0 events/topdown-bad-spec=event=0x73,umask=0x0 "
               "events/topdown-fe-bound=event=0x71,umask=0x0 events/topdown-be-bound=event=0x74,umask=0x0"},
        {"msr", 11, SYSTEM, NULL, NULL, 0, "format/event=config:0-63 events/tsc=event=0x00 events/smi=event=0x04"},
        {"power", 12, SYSTEM, "cpumask", "0", 0,
         "format/event=config:0-7" RAPL("energy-pkg", "0x02") RAPL("energy-cores", "0x01") RAPL("energy-psys", "0x05")},
        {"cstate_core", 13, SYSTEM, "cpumask", "0,2,4,6,8,10,12,14,16-19", 0, CSTATE},
        {"cstate_pkg", 14, SYSTEM, "cpumask", "0", 0, CSTATE},
        {"uncore_imc_0", 20, SYSTEM, "cpumask", "0", 5, "format/event=config:0-7 format/chmask=config:8-11"},
        {"uncore_imc_1", 21, SYSTEM, "cpumask", "0", 5, "format/event=config:0-7 format/chmask=config:8-11"},
        {"uncore_imc_free_running_0", 22, SYSTEM, "cpumask", "0", 0,
         IMC_FREE_RUNNING IMC_BYTES("data_read", "event=0xff,umask=0x20")
             IMC_BYTES("data_write", "event=0xff,umask=0x30")},
        {"intel_pt", 23, SYSTEM, NULL, NULL, 0, "format/tsc=config:10"},
        {0},
    };

    return sim(&(struct captured){"0-19", "6.1.0-35-amd64", "3", pmus, true});
}

/*
 * Ice Lake server, two sockets, each with eight two-thread cores: arch/x86/events/intel/core.c, uncore_snbep.c
 * (icx_uncore_imc_events, icx_uncore_imc_freerunning_events), 6.1; rapl.c (the domains of a server). Each CPU has eight
 * programmable counters, three fixed ones, and slots.
 */
#define SERVER_IMC                                                                                                     \
    "format/event=config:0-7 format/umask=config:8-15 events/clockticks=event=0x00,umask=0x00" IMC_BYTES(              \
        "cas_count_read", "event=0x04,umask=0x0f") IMC_BYTES("cas_count_write", "event=0x04,umask=0x30")

struct fake_sys *captured_intel_server(void)
{
    static const struct pmu_files pmus[] = {
        {"cpu", PERF_TYPE_RAW, CORE, NULL, NULL, 12,
         INTEL "events/branch-instructions=event=0xc4 events/branch-misses=event=0xc5 "
               "events/bus-cycles=event=0x3c,umask=0x01 events/cache-misses=event=0x2e,umask=0x41 "
               "events/cache-references=event=0x2e,umask=0x4f events/ref-cycles=event=0x00,umask=0x03 " INTEL_SLOTS},
        {"msr", 11, SYSTEM, NULL, NULL, 0, "format/event=config:0-63 events/tsc=event=0x00"},
        {"power", 12, SYSTEM, "cpumask", "0,8", 0,
         "format/event=config:0-7" RAPL("energy-pkg", "0x02") RAPL("energy-ram", "0x03")},
        {"cstate_core", 13, SYSTEM, "cpumask", "0-15", 0, CSTATE},
        {"cstate_pkg", 14, SYSTEM, "cpumask", "0,8", 0, CSTATE},
        {"uncore_imc_0", 20, SYSTEM, "cpumask", "0,8", 5, SERVER_IMC},
        {"uncore_imc_1", 21, SYSTEM, "cpumask", "0,8", 5, SERVER_IMC},
        {"uncore_imc_2", 22, SYSTEM, "cpumask", "0,8", 5, SERVER_IMC},
        {"uncore_imc_3", 23, SYSTEM, "cpumask", "0,8", 5, SERVER_IMC},
        {"uncore_imc_free_running_0", 24, SYSTEM, "cpumask", "0,8", 0,
         IMC_FREE_RUNNING " events/dclk=event=0xff,umask=0x10" IMC_BYTES("read", "event=0xff,umask=0x20")
             IMC_BYTES("write", "event=0xff,umask=0x21")},
        {0},
    };

    return sim(&(struct captured){"0-31", "6.1.0-35-amd64", "3", pmus, false});
}

#define UMC "format/event=config:0-7 format/rdwrmask=config:8-9"

/* arch/x86/events/amd/core.c, 6.10: amd_zen4_perfmon_event_map; uncore.c; rapl.c. */
struct fake_sys *captured_amd_server(void)
{
    static const struct pmu_files pmus[] = {
        {"cpu", PERF_TYPE_RAW, CORE, NULL, NULL, 6,
         "format/event=config:0-7,32-35 format/umask=config:8-15 format/cmask=config:24-31 "
         "events/cpu-cycles=event=0x76 events/instructions=event=0xc0 events/cache-references=event=0x60,umask=0xff "
         "events/cache-misses=event=0x64,umask=0x09 events/branch-instructions=event=0xc2 "
         "events/branch-misses=event=0xc3 events/stalled-cycles-frontend=event=0xa9 "
         "events/ref-cycles=event=0x120,umask=0x01"},
        {"amd_df", 10, SYSTEM, "cpumask", "0", 16, "format/event=config:0-7,32-37 format/umask=config:8-15,24-27"},
        {"amd_l3", 11, SYSTEM, "cpumask", "0,8", 6,
         "format/event=config:0-7 format/umask=config:8-15 format/coreid=config:42-44 format/enallcores=config:47 "
         "format/enallslices=config:46 format/sliceid=config:48-50 format/threadmask=config:56-57"},
        {"amd_umc_0", 12, SYSTEM, "cpumask", "0", 4, UMC},
        {"amd_umc_1", 13, SYSTEM, "cpumask", "0", 4, UMC},
        {"amd_umc_2", 14, SYSTEM, "cpumask", "0", 4, UMC},
        {"amd_umc_3", 15, SYSTEM, "cpumask", "0", 4, UMC},
        {"amd_iommu_0", 16, SYSTEM, "cpumask", "0", 4, "format/csource=config:0-7 events/mem_trans_total=csource=0x05"},
        {"power", 17, SYSTEM, "cpumask", "0", 0, "format/event=config:0-7" RAPL("energy-pkg", "0x02")},
        {"ibs_op", 18, SYSTEM, NULL, NULL, 0, "format/cnt_ctl=config:19"},
        {"msr", 19, SYSTEM, NULL, NULL, 0, "format/event=config:0-63 events/tsc=event=0x00"},
        {0},
    };

    return sim(&(struct captured){"0-15", "6.12.48+deb13-amd64", "3", pmus, false});
}
