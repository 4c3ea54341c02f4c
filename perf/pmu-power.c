/* SPDX-License-Identifier: Apache-2.0 */
/* What a PMU's descriptors can do: see pmu-power.h. */
#include "perf/pmu-power.h"

/* Names of the kernel's: kernel/events/core.c, kernel/events/hw_breakpoint.c, drivers with setup_aux(). */
static const struct {
    const char *name;
    bool prefix; /* drivers number their instances */
    enum pmu_power power;
} powers[] = {
    {"tracepoint", false, PMU_TRACEPOINTS}, {"kprobe", false, PMU_PROBES},   {"uprobe", false, PMU_PROBES},
    {"breakpoint", false, PMU_BREAKPOINTS}, {"intel_pt", true, PMU_TRACES},  {"intel_bts", true, PMU_TRACES},
    {"arm_spe", true, PMU_TRACES},          {"cs_etm", true, PMU_TRACES},    {"hisi_ptt", true, PMU_TRACES},
    {"arm_trbe", true, PMU_TRACES},         {"coresight", true, PMU_TRACES},
};

enum pmu_power pmu_power(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
        if (powers[i].prefix ? str_starts(name, powers[i].name) : str_equal(name, powers[i].name))
            return powers[i].power;
    return PMU_COUNTS;
}
