/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/derived.h"

#define DERIVED_EVERYWHERE (DERIVED_CPU | DERIVED_CGROUP)

/* The formulas of a metric, each {text, pmu, source, seen}. */
#define FORMULAS(...)                                                                                                  \
    (const struct derived_formula[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/* --- CPU pipeline --- */

#define STAT "perf stat (tools/perf/util/stat-shadow.c)"
/* Cycle counters stop while a CPU is idle; get_idle_time() returns the idle time. */
#define IDLE "idle time in fs/proc/stat.c, 6.1"
#define NEOVERSE_N1 "arm64/arm/neoverse-n1/metrics.json, 6.8"

static const struct derived_metric cpu_metrics[] = {
    {
        .name = "ipc",
        .unit = "ratio",
        .help = "Instructions per cycle.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"instructions / cycles", NULL, STAT, true}),
    },
    {
        .name = "ipc_user",
        .unit = "ratio",
        .help = "Instructions per cycle in user mode.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"instructions_user / cycles_user", NULL, STAT, true}),
    },
    {
        .name = "ipc_kernel",
        .unit = "ratio",
        .help = "Instructions per cycle in the kernel.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"instructions_kernel / cycles_kernel", NULL, STAT, true}),
    },
    {
        .name = "frontend_stall_ratio",
        .unit = "ratio",
        .help = "Fraction of cycles in which the frontend delivered no operations to the pipeline.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_frontend / cycles", NULL, NEOVERSE_N1, true},
                             {"stalled_cycles_frontend / cycles", NULL, STAT, true}),
    },
    {
        .name = "backend_stall_ratio",
        .unit = "ratio",
        .help = "Fraction of cycles in which the backend accepted no operations: it waited for memory or for an "
                "execution unit.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_backend / cycles", NULL, NEOVERSE_N1, true},
                             {"stalled_cycles_backend / cycles", NULL, STAT, true}),
    },
    {
        .name = "frequency_hertz",
        .unit = "hertz",
        .help = "Cycles per second of CPU time: the clock rate of the CPUs while the cgroup's tasks ran.",
        .targets = DERIVED_CGROUP,
        .formulas = FORMULAS({"cycles / task_clock", NULL, STAT, true}),
    },
    {
        .name = "cpu_frequency_hertz",
        .unit = "hertz",
        .help = "Cycles per second in which the CPU was not idle: the clock rate of the CPU while it was busy.",
        .targets = DERIVED_CPU,
        .formulas = FORMULAS({"cycles / busy_time", NULL, IDLE, false}),
    },
    {
        .name = "cpu_utilization",
        .unit = "cpus",
        .help = "Number of CPUs used by the cgroup's tasks.",
        .targets = DERIVED_CGROUP,
        .formulas = FORMULAS({"task_clock", NULL, STAT, true}),
    },
    {
        .name = "running_ratio",
        .unit = "ratio",
        .help = "Fraction of its enabled time for which the group was counted; below 1, its counts are estimates.",
        .targets = DERIVED_CPU | DERIVED_PMU | DERIVED_CGROUP,
        .formulas = FORMULAS({"running_time / enabled_time", NULL, "perf_event_open(2)", true}),
    },
    {
        .name = "branch_miss_ratio",
        .unit = "ratio",
        .help = "Fraction of branches that were mispredicted.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"br_mis_pred_retired / br_retired", NULL, NEOVERSE_N1, false},
                             {"branch_misses / branches", NULL, STAT, false}),
    },
    {
        .name = "branch_mpki",
        .unit = "per 1000 instructions",
        .help = "Mispredicted branches.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * br_mis_pred_retired / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * branch_misses / instructions", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "load_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are loads.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ld_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "store_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are stores.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"st_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "integer_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are integer operations.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"dp_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "simd_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are Advanced SIMD operations.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ase_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "scalar_fp_spec_ratio",
        .unit = "ratio",
        .help =
            "Fraction of executed operations, including speculative ones, that are scalar floating-point operations.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"vfp_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "crypto_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are cryptographic operations.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"crypto_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "branch_spec_ratio",
        .unit = "ratio",
        .help = "Fraction of executed operations, including speculative ones, that are branches.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(br_immed_spec + br_indirect_spec) / inst_spec", NULL, NEOVERSE_N1, false}),
    },
};

/* --- caches and TLBs --- */

#define ICELAKE "x86/icelakex/icx-metrics.json, 6.8"
#define ZEN4 "x86/amdzen4/recommended.json, 6.8"
/* spr_hw_cache_event_ids: on cpu_core, the generic TLB miss events count completed page walks. */
#define INTEL_TLB "arch/x86/events/intel/core.c, 6.1"

static const struct derived_metric cache_metrics[] = {
    {
        .name = "cache_miss_ratio",
        .unit = "ratio",
        .help = "Fraction of cache references that missed; which cache this is depends on the PMU.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"cache_misses / cache_references", NULL, STAT, false},
                             {"l1d_cache_refill / l1d_cache", "arm*", NEOVERSE_N1, false}),
    },
    {
        .name = "l1d_mpki",
        .unit = "per 1000 instructions",
        .help = "Level 1 data cache misses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1d_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * l1_dcache_load_misses / instructions", NULL, STAT, false},
                             {"1000 * mem_load_retired_l1_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "l1i_mpki",
        .unit = "per 1000 instructions",
        .help = "Level 1 instruction cache misses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1i_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * l1_icache_load_misses / instructions", NULL, STAT, false}),
    },
    {
        .name = "l2_mpki",
        .unit = "per 1000 instructions",
        .help = "Level 2 cache misses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l2d_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * mem_load_retired_l2_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "l2_miss_ratio",
        .unit = "ratio",
        .help = "Fraction of level 2 cache accesses that missed.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"l2d_cache_refill / l2d_cache", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "llc_mpki",
        .unit = "per 1000 instructions",
        .help = "Last-level cache read misses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * ll_cache_miss_rd / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * llc_load_misses / instructions", NULL, STAT, false},
                             {"1000 * mem_load_retired_l3_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "llc_miss_ratio",
        .unit = "ratio",
        .help = "Fraction of last-level cache reads that missed.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ll_cache_miss_rd / ll_cache_rd", NULL, NEOVERSE_N1, false},
                             {"llc_load_misses / llc_loads", NULL, STAT, false}),
    },
    {
        .name = "dtlb_walks_pki",
        .unit = "per 1000 instructions",
        .help = "Page-table walks for data accesses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas =
            FORMULAS({"1000 * dtlb_walk / instructions", NULL, NEOVERSE_N1, false},
                     {"1000 * (dtlb_load_misses + dtlb_store_misses) / instructions", "cpu_core", INTEL_TLB, false},
                     {"1000 * (dtlb_load_misses_walk_completed + dtlb_store_misses_walk_completed) / instructions",
                      NULL, ICELAKE, false},
                     {"1000 * ls_l1_d_tlb_miss_all_l2_miss / instructions", NULL, ZEN4, false}),
    },
    {
        .name = "itlb_walks_pki",
        .unit = "per 1000 instructions",
        .help = "Page-table walks for instruction fetches.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * itlb_walk / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * itlb_load_misses / instructions", "cpu_core", INTEL_TLB, false},
                             {"1000 * itlb_misses_walk_completed / instructions", NULL, ICELAKE, false},
                             {"1000 * bp_l1_tlb_miss_l2_tlb_miss_all / instructions", NULL, ZEN4, false}),
    },
    {
        .name = "l2_tlb_mpki",
        .unit = "per 1000 instructions",
        .help = "Level 2 TLB misses.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l2d_tlb_refill / instructions", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "dtlb_load_mpki",
        .unit = "per 1000 instructions",
        .help = "Data TLB misses as counted by perf's generic event: page-table walks on Intel, level 1 TLB misses on "
                "AMD and Arm.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1d_tlb_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * dtlb_load_misses / instructions", NULL, STAT, false}),
    },
    {
        .name = "itlb_load_mpki",
        .unit = "per 1000 instructions",
        .help = "Instruction TLB misses as counted by perf's generic event: page-table walks on Intel and AMD, level 1 "
                "TLB misses on Arm.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1i_tlb_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * itlb_load_misses / instructions", NULL, STAT, false}),
    },
};

/* --- top-down --- */

/*
 * Level 1 of the top-down method: fractions of pipeline slots.
 *
 * Arm: available if sysfs lists the slot events (Cortex-A78, Neoverse N2 and V1, but not Cortex-A55 or A76).
 *
 * Intel since Ice Lake: the kernel accepts topdown-* events only in a group whose leader is `slots`
 * (arch/x86/events/intel/core.c, intel_pmu_hw_config()), and reports each topdown-* event as a part of the slots. On
 * Intel's small cores, topdown-* events are ordinary events. The top-down events of older CPUs count for both threads
 * of a core, cannot be attributed to a CPU or a cgroup, and are therefore not used.
 *
 * AMD: sysfs does not name the top-down events, but the preset `topdown` does. The number of slots per cycle differs
 * between CPU generations, so the total is the sum of the parts.
 */

#define SBSA "arm64/sbsa.json, 6.8"
#define ZEN4_PIPELINE "x86/amdzen4/pipeline.json, 6.8"
#define INTEL_SLOTS "(topdown_retiring + topdown_bad_spec + topdown_fe_bound + topdown_be_bound)"
#define ZEN_SLOTS                                                                                                      \
    "(de_src_op_disp_all + de_no_dispatch_per_slot_no_ops_from_frontend + de_no_dispatch_per_slot_backend_stalls + "   \
    "de_no_dispatch_per_slot_smt_contention)"

static const struct derived_metric topdown_metrics[] = {
    {
        .name = "topdown_retiring_ratio",
        .unit = "ratio",
        .help = "Fraction of pipeline slots whose operations were retired: useful work.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(op_retired / op_spec) * (1 - stall_slot / (slots * cycles))", NULL, SBSA, false},
                             {"topdown_retiring / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"ex_ret_ops / " ZEN_SLOTS, NULL, ZEN4_PIPELINE, false}),
    },
    {
        .name = "topdown_bad_speculation_ratio",
        .unit = "ratio",
        .help = "Fraction of pipeline slots that were lost to wrong speculation.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(1 - op_retired / op_spec) * (1 - stall_slot / (slots * cycles))", NULL, SBSA, false},
                             {"topdown_bad_spec / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"(de_src_op_disp_all - ex_ret_ops) / " ZEN_SLOTS, NULL, ZEN4_PIPELINE, false}),
    },
    {
        .name = "topdown_frontend_bound_ratio",
        .unit = "ratio",
        .help = "Fraction of pipeline slots that the frontend left empty.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_slot_frontend / (slots * cycles)", NULL, SBSA, false},
                             {"topdown_fe_bound / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"de_no_dispatch_per_slot_no_ops_from_frontend / " ZEN_SLOTS, NULL, ZEN4_PIPELINE, false}),
    },
    {
        .name = "topdown_backend_bound_ratio",
        .unit = "ratio",
        .help = "Fraction of pipeline slots that the backend could not accept: it waited for memory or for an "
                "execution unit.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_slot_backend / (slots * cycles)", NULL, SBSA, false},
                             {"topdown_be_bound / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"de_no_dispatch_per_slot_backend_stalls / " ZEN_SLOTS, NULL, ZEN4_PIPELINE, false}),
    },
};

/* --- memory controllers and energy --- */

/*
 * If the driver exports a scale and unit, the event's rate is already in bytes or joules per second (perf/pmu.h).
 * Without a driver's scale, the formula contains the bytes per event: 64 for a cache line or for a burst of DDR4 or
 * DDR5. All i.MX 8 models use the same name for their PMU but differ in the bytes per cycle, so an event must be
 * configured by the name that perf uses for the particular model.
 */

#define ROCKCHIP "drivers/devfreq/event/rockchip-dfi.c, 6.7"
#define MMDC "arch/arm/mach-imx/mmdc.c, 6.1"
#define UNCORE_SNBEP "arch/x86/events/intel/uncore_snbep.c, 6.1"
#define UNCORE_SNB "arch/x86/events/intel/uncore_snb.c, 6.1"
#define ZEN_UMC "x86/amdzen4/recommended.json, 6.9 (umc_mem_read_bandwidth)"
#define ZEN4_MEMORY "x86/amdzen4/recommended.json, 6.8 (dram_read_data_for_local_processor)"
#define CMN "drivers/perf/arm-cmn.c, 6.1: requests to memory controllers, of a cache line each"
#define THUNDERX2 "drivers/perf/thunderx2_pmu.c, 6.1: transactions of a cache line each"
#define IMX8 "arm64/freescale/imx8mm/sys/metrics.json, imx8mq, imx8mn, 6.8"
#define MESON "drivers/perf/amlogic/meson_ddr_pmu_core.c, 6.12"
#define RAPL "arch/x86/events/rapl.c, 6.1"
/*
 * Formula for the bytes per second of a socket's twelve memory channels. Memory accesses from other sockets are not
 * included.
 */
#define BEATS(kind)                                                                                                    \
    "64 * (local_processor_" kind "_data_beats_cs0 + local_processor_" kind "_data_beats_cs1 + "                       \
    "local_processor_" kind "_data_beats_cs2 + local_processor_" kind "_data_beats_cs3 + "                             \
    "local_processor_" kind "_data_beats_cs4 + local_processor_" kind "_data_beats_cs5 + "                             \
    "local_processor_" kind "_data_beats_cs6 + local_processor_" kind "_data_beats_cs7 + "                             \
    "local_processor_" kind "_data_beats_cs8 + local_processor_" kind "_data_beats_cs9 + "                             \
    "local_processor_" kind "_data_beats_cs10 + local_processor_" kind "_data_beats_cs11)"

static const struct derived_metric machine_metrics[] = {
    {
        .name = "memory_read_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller read from DRAM.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"read_bytes", "rockchip_ddr", ROCKCHIP, false}, {"read_bytes", "mmdc*", MMDC, false},
            {"cas_count_read", "uncore_imc*", UNCORE_SNBEP, false}, {"data_reads", "uncore_imc*", UNCORE_SNB, false},
            {"data_read", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"read", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * umc_cas_cmd_rd", "amd_umc*", ZEN_UMC, false}, {BEATS("read"), "amd_df", ZEN4_MEMORY, false},
            {"64 * read_txns", "uncore_dmc*", THUNDERX2, false},
            {"16 * imx8mm_ddr_read_cycles", "imx8_ddr*", IMX8, false},
            {"16 * imx8mq_ddr_read_cycles", "imx8_ddr*", IMX8, false},
            {"8 * imx8mn_ddr_read_cycles", "imx8_ddr*", IMX8, false}),
    },
    {
        .name = "memory_write_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller wrote to DRAM.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"write_bytes", "rockchip_ddr", ROCKCHIP, false}, {"write_bytes", "mmdc*", MMDC, false},
            {"cas_count_write", "uncore_imc*", UNCORE_SNBEP, false}, {"data_writes", "uncore_imc*", UNCORE_SNB, false},
            {"data_write", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"write", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * umc_cas_cmd_wr", "amd_umc*", ZEN_UMC, false}, {BEATS("write"), "amd_df", ZEN4_MEMORY, false},
            {"64 * write_txns", "uncore_dmc*", THUNDERX2, false},
            {"16 * imx8mm_ddr_write_cycles", "imx8_ddr*", IMX8, false},
            {"16 * imx8mq_ddr_write_cycles", "imx8_ddr*", IMX8, false},
            {"8 * imx8mn_ddr_write_cycles", "imx8_ddr*", IMX8, false}),
    },
    {
        .name = "memory_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller read from or wrote to DRAM.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"bytes", "rockchip_ddr", ROCKCHIP, false}, {"read_bytes + write_bytes", "rockchip_ddr", ROCKCHIP, false},
            {"read_bytes + write_bytes", "mmdc*", MMDC, false},
            {"cas_count_read + cas_count_write", "uncore_imc*", UNCORE_SNBEP, false},
            {"data_reads + data_writes", "uncore_imc*", UNCORE_SNB, false},
            {"data_read + data_write", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"data_total", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"read + write", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * (umc_cas_cmd_rd + umc_cas_cmd_wr)", "amd_umc*", ZEN_UMC, false},
            {"64 * umc_cas_cmd_all", "amd_umc*", ZEN_UMC, false}, {"64 * hnf_mc_reqs", "arm_cmn*", CMN, false},
            {"64 * (read_txns + write_txns)", "uncore_dmc*", THUNDERX2, false},
            {"16 * (imx8mm_ddr_read_cycles + imx8mm_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"16 * (imx8mq_ddr_read_cycles + imx8mq_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"8 * (imx8mn_ddr_read_cycles + imx8mn_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"total_rw_bytes", "meson_ddr_bw*", MESON, false}),
    },
    {
        .name = "package_watts",
        .unit = "watts",
        .help = "Power drawn by the processor package.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_pkg", "power*", RAPL, false}),
    },
    {
        .name = "cores_watts",
        .unit = "watts",
        .help = "Power drawn by all cores.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_cores", "power*", RAPL, false}),
    },
    {
        .name = "core_watts",
        .unit = "watts",
        .help = "Power drawn by one core.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_core", "power*", RAPL, false}),
    },
    {
        .name = "dram_watts",
        .unit = "watts",
        .help = "Power drawn by the memory (DRAM).",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_ram", "power*", RAPL, false}),
    },
    {
        .name = "gpu_watts",
        .unit = "watts",
        .help = "Power drawn by the processor's integrated graphics.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_gpu", "power*", RAPL, false}),
    },
    {
        .name = "platform_watts",
        .unit = "watts",
        .help = "Power drawn by the whole platform.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_psys", "power*", RAPL, false}),
    },
};

/* --- lookup --- */

static const struct {
    const struct derived_metric *metrics;
    size_t n;
} tables[] = {
    {cpu_metrics, ARRAY_SIZE(cpu_metrics)},
    {cache_metrics, ARRAY_SIZE(cache_metrics)},
    {topdown_metrics, ARRAY_SIZE(topdown_metrics)},
    {machine_metrics, ARRAY_SIZE(machine_metrics)},
};

size_t derived_count(void)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        n += tables[i].n;
    return n;
}

const struct derived_metric *derived_at(size_t i)
{
    for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
        if (i < tables[k].n)
            return &tables[k].metrics[i];
        i -= tables[k].n;
    }
    return NULL;
}

const struct derived_metric *derived_find(const char *name)
{
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        if (str_equal(metric->name, name))
            return metric;
    return NULL;
}

/* On Arm's PMUv3, perf's generic events `instructions` and `cycles` are INST_RETIRED and CPU_CYCLES. */
static const struct {
    const char *name, *event;
} spellings[] = {
    {"cycles", "cpu_cycles"},
    {"cycles_user", "cpu_cycles_user"},
    {"cycles_kernel", "cpu_cycles_kernel"},
    {"instructions", "inst_retired"},
    {"instructions_user", "inst_retired_user"},
    {"instructions_kernel", "inst_retired_kernel"},
};

/* Compares the first letter inline, because this runs for each event of a group and each name in the table. */
static bool same_name(const char *a, const char *b)
{
    return a[0] == b[0] && str_equal(a, b);
}

const char *derived_spelling(const char *name, size_t n)
{
    if (n == 0)
        return name;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
        if (same_name(spellings[i].name, name) && --n == 0)
            return spellings[i].event;
    return NULL;
}

bool derived_names_event(const char *name, const char *event)
{
    const char *spelling;

    for (size_t i = 0; (spelling = derived_spelling(name, i)); i++)
        if (same_name(spelling, event))
            return true;
    return false;
}
