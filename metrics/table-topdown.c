/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derived metrics of the pipeline's slots, level 1 of the top-down method: see table.h.
 *
 * Arm: only where sysfs lists the events by which slots are counted (Cortex-A78, Neoverse N2 and V1, not A55 or A76).
 * Intel since Ice Lake: the kernel takes topdown-* only in a group that `slots` leads (arch/x86/events/intel/core.c,
 * intel_pmu_hw_config()), and gives each as a part of the slots; on small cores they are common events. The events of
 * older Intel count for both threads of a core, so that they say nothing of a CPU or a cgroup, and are left out. AMD:
 * sysfs does not name these events: the preset topdown does. How many slots a cycle has differs by
 * generation, and so they are added up.
 */
#include "metrics/table.h"

#define SBSA "arm64/sbsa.json, 6.8"
#define ICELAKE "x86/icelakex/icx-metrics.json, 6.8"
#define ZEN4 "x86/amdzen4/pipeline.json, 6.8"
#define INTEL_SLOTS "(topdown_retiring + topdown_bad_spec + topdown_fe_bound + topdown_be_bound)"
#define ZEN_SLOTS                                                                                                      \
    "(de_src_op_disp_all + de_no_dispatch_per_slot_no_ops_from_frontend + de_no_dispatch_per_slot_backend_stalls + "   \
    "de_no_dispatch_per_slot_smt_contention)"

static const struct derived_metric metrics[] = {
    {
        .name = "topdown_retiring_ratio",
        .unit = "ratio",
        .help = "Share of the pipeline slots whose operations were retired: useful work.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(op_retired / op_spec) * (1 - stall_slot / (slots * cycles))", NULL, SBSA, false},
                             {"topdown_retiring / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"ex_ret_ops / " ZEN_SLOTS, NULL, ZEN4, false}),
    },
    {
        .name = "topdown_bad_speculation_ratio",
        .unit = "ratio",
        .help = "Share of the pipeline slots that were lost to wrong predictions.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"(1 - op_retired / op_spec) * (1 - stall_slot / (slots * cycles))", NULL, SBSA, false},
                             {"topdown_bad_spec / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"(de_src_op_disp_all - ex_ret_ops) / " ZEN_SLOTS, NULL, ZEN4, false}),
    },
    {
        .name = "topdown_frontend_bound_ratio",
        .unit = "ratio",
        .help = "Share of the pipeline slots that the frontend left empty.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_slot_frontend / (slots * cycles)", NULL, SBSA, false},
                             {"topdown_fe_bound / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"de_no_dispatch_per_slot_no_ops_from_frontend / " ZEN_SLOTS, NULL, ZEN4, false}),
    },
    {
        .name = "topdown_backend_bound_ratio",
        .unit = "ratio",
        .help = "Share of the pipeline slots that the backend could not take: it waited for memory or for a unit.",
        .targets = DERIVED_EVERYWHERE,
        .formulas = FORMULAS({"stall_slot_backend / (slots * cycles)", NULL, SBSA, false},
                             {"topdown_be_bound / " INTEL_SLOTS, NULL, ICELAKE, false},
                             {"de_no_dispatch_per_slot_backend_stalls / " ZEN_SLOTS, NULL, ZEN4, false}),
    },
};

const struct derived_table derived_topdown_table = {metrics, ARRAY_SIZE(metrics)};
