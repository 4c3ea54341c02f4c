/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics of how a CPU works: see table.h. */
#include "metrics/table.h"

#define STAT "perf stat (tools/perf/util/stat-shadow.c)"
#define NEOVERSE_N1 "arm64/arm/neoverse-n1/metrics.json, 6.8"

static const struct derived_metric metrics[] = {
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
        .help = "Share of the cycles in which the frontend gave the pipeline nothing to do.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_frontend / cycles", NULL, NEOVERSE_N1, true},
                             {"stalled_cycles_frontend / cycles", NULL, STAT, true}),
    },
    {
        .name = "backend_stall_ratio",
        .unit = "ratio",
        .help = "Share of the cycles in which the backend took nothing: it waited for memory or for a unit.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_backend / cycles", NULL, NEOVERSE_N1, true},
                             {"stalled_cycles_backend / cycles", NULL, STAT, true}),
    },
    {
        .name = "frequency_hertz",
        .unit = "hertz",
        .help = "Cycles per second of CPU time: how fast the CPUs were clocked while its tasks ran.",
        .targets = DERIVED_CGROUP,
        .formulas = FORMULAS({"cycles / task_clock", NULL, STAT, true}),
    },
    {
        .name = "cpu_utilization",
        .unit = "cpus",
        .help = "CPUs that the cgroup's tasks used.",
        .targets = DERIVED_CGROUP,
        .formulas = FORMULAS({"task_clock", NULL, STAT, true}),
    },
    {
        .name = "running_ratio",
        .unit = "ratio",
        .help = "Share of the time that the group was counted; below 1, its counts are estimates.",
        .targets = DERIVED_CPU | DERIVED_PMU | DERIVED_CGROUP,
        .formulas = FORMULAS({"running_time / enabled_time", NULL, "perf_event_open(2)", true}),
    },
    {
        .name = "branch_miss_ratio",
        .unit = "ratio",
        .help = "Share of the branches that were mispredicted.",
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
        .help = "Share of loads in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ld_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "store_spec_ratio",
        .unit = "ratio",
        .help = "Share of stores in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"st_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "integer_spec_ratio",
        .unit = "ratio",
        .help = "Share of integer operations in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"dp_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "simd_spec_ratio",
        .unit = "ratio",
        .help = "Share of Advanced SIMD operations in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"ase_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "scalar_fp_spec_ratio",
        .unit = "ratio",
        .help = "Share of scalar floating-point operations in the operations that were executed, speculative ones "
                "included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"vfp_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "crypto_spec_ratio",
        .unit = "ratio",
        .help = "Share of cryptographic operations in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"crypto_spec / inst_spec", NULL, NEOVERSE_N1, false}),
    },
    {
        .name = "branch_spec_ratio",
        .unit = "ratio",
        .help = "Share of branches in the operations that were executed, speculative ones included.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(br_immed_spec + br_indirect_spec) / inst_spec", NULL, NEOVERSE_N1, false}),
    },
};

const struct derived_table derived_cpu_table = {metrics, ARRAY_SIZE(metrics)};
