/* SPDX-License-Identifier: Apache-2.0 */
/* What a PMU's descriptors can do: see pmu-kind.h. */
#include "perf/pmu-kind.h"

/* Names of the kernel's: kernel/events/core.c, kernel/events/hw_breakpoint.c, drivers with setup_aux(). */
static const struct {
    const char *name;
    bool prefix; /* drivers number their instances */
    enum pmu_kind power;
} powers[] = {
    {"tracepoint", false, PMU_TRACEPOINT}, {"kprobe", false, PMU_PROBE},     {"uprobe", false, PMU_PROBE},
    {"breakpoint", false, PMU_BREAKPOINT}, {"intel_pt", true, PMU_TRACING},  {"intel_bts", true, PMU_TRACING},
    {"arm_spe", true, PMU_TRACING},        {"cs_etm", true, PMU_TRACING},    {"hisi_ptt", true, PMU_TRACING},
    {"arm_trbe", true, PMU_TRACING},       {"coresight", true, PMU_TRACING},
};

enum pmu_kind pmu_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
        if (powers[i].prefix ? str_starts(name, powers[i].name) : str_equal(name, powers[i].name))
            return powers[i].power;
    return PMU_COUNTING;
}
