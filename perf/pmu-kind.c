/* SPDX-License-Identifier: Apache-2.0 */
/* What a PMU's descriptors can do: see pmu-kind.h. */
#include "perf/pmu-kind.h"

/* The kernel's names: kernel/events/core.c, kernel/events/hw_breakpoint.c, drivers with setup_aux(). */
static const struct {
    const char *name;
    bool prefix; /* drivers number their instances */
    enum pmu_kind kind;
} kinds[] = {
    {"tracepoint", false, PMU_TRACEPOINT}, {"kprobe", false, PMU_PROBE},     {"uprobe", false, PMU_PROBE},
    {"breakpoint", false, PMU_BREAKPOINT}, {"intel_pt", true, PMU_TRACING},  {"intel_bts", true, PMU_TRACING},
    {"arm_spe", true, PMU_TRACING},        {"cs_etm", true, PMU_TRACING},    {"hisi_ptt", true, PMU_TRACING},
    {"arm_trbe", true, PMU_TRACING},       {"coresight", true, PMU_TRACING},
};

enum pmu_kind pmu_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].prefix ? str_starts(name, kinds[i].name) : str_equal(name, kinds[i].name))
            return kinds[i].kind;
    return PMU_COUNTING;
}
