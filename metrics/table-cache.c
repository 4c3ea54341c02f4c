/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics of caches and TLBs: see table.h. */
#include "metrics/table.h"

#define STAT "perf stat (tools/perf/util/stat-shadow.c)"
#define NEOVERSE_N1 "arm64/arm/neoverse-n1/metrics.json, 6.8"
#define ICELAKE "x86/icelakex/icx-metrics.json, 6.8"
#define ZEN4 "x86/amdzen4/recommended.json, 6.8"
/* spr_hw_cache_event_ids: the events that the generic ones are there. */
#define INTEL_TLB "arch/x86/events/intel/core.c, 6.1"

static const struct derived_metric metrics[] = {
    {
        .name = "cache_miss_ratio",
        .unit = "ratio",
        .help = "Share of the cache references that missed; the PMU chooses which cache this is.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"cache_misses / cache_references", NULL, STAT, false},
                             {"l1d_cache_refill / l1d_cache", "arm*", NEOVERSE_N1, false}),
    },
    {
        .name = "l1d_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the level 1 data cache.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1d_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * l1_dcache_load_misses / instructions", NULL, STAT, false},
                             {"1000 * mem_load_retired_l1_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "l1i_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the level 1 instruction cache.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1i_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * l1_icache_load_misses / instructions", NULL, STAT, false}),
    },
    {
        .name = "l2_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the level 2 cache.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l2d_cache_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * mem_load_retired_l2_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "l2_miss_ratio",
        .unit = "ratio",
        .help = "Share of the accesses to the level 2 cache that missed.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"l2d_cache_refill / l2d_cache", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "llc_mpki",
        .unit = "per 1000 instructions",
        .help = "Reads that missed in the last-level cache.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * ll_cache_miss_rd / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * llc_load_misses / instructions", NULL, STAT, false},
                             {"1000 * mem_load_retired_l3_miss / instructions", NULL, ICELAKE, false}),
    },
    {
        .name = "llc_miss_ratio",
        .unit = "ratio",
        .help = "Share of the reads of the last-level cache that missed.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ll_cache_miss_rd / ll_cache_rd", NULL, NEOVERSE_N1, false},
                             {"llc_load_misses / llc_loads", NULL, STAT, false}),
    },
    {
        .name = "dtlb_walks_pki",
        .unit = "per 1000 instructions",
        .help = "Walks of the page tables for data.",
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
        .help = "Walks of the page tables for instructions.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * itlb_walk / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * itlb_load_misses / instructions", "cpu_core", INTEL_TLB, false},
                             {"1000 * itlb_misses_walk_completed / instructions", NULL, ICELAKE, false},
                             {"1000 * bp_l1_tlb_miss_l2_tlb_miss_all / instructions", NULL, ZEN4, false}),
    },
    {
        .name = "l2_tlb_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the level 2 TLB.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l2d_tlb_refill / instructions", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "dtlb_load_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the data TLB as perf's generic event counts them: walks on Intel, misses of the level 1 TLB "
                "on AMD and Arm.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1d_tlb_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * dtlb_load_misses / instructions", NULL, STAT, false}),
    },
    {
        .name = "itlb_load_mpki",
        .unit = "per 1000 instructions",
        .help = "Misses of the instruction TLB as perf's generic event counts them: walks on Intel and AMD, misses of "
                "the level 1 TLB on Arm.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"1000 * l1i_tlb_refill / instructions", NULL, NEOVERSE_N1, false},
                             {"1000 * itlb_load_misses / instructions", NULL, STAT, false}),
    },
};

const struct derived_table derived_cache_table = {metrics, ARRAY_SIZE(metrics)};
