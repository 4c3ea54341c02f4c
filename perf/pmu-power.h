/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the descriptors of a PMU's events can do besides counting. The kernel has no file that says it, but the PMUs
 * that can do more have names of their own. Pure.
 */
#ifndef PERF_PMU_POWER_H
#define PERF_PMU_POWER_H

#include "base/util.h"

enum pmu_power {
    PMU_COUNTS,      /* nothing else */
    PMU_TRACEPOINTS, /* takes a filter from whoever holds the descriptor (PERF_EVENT_IOC_SET_FILTER) */
    PMU_PROBES,      /* the same, and opening one changes the kernel's or a program's instructions: kprobe, uprobe */
    PMU_BREAKPOINTS, /* can be moved to another address by whoever holds it (PERF_EVENT_IOC_MODIFY_ATTRIBUTES) */
    PMU_TRACES,      /* shows all that a CPU executes, in a second ring: the PMUs that have setup_aux() */
};

enum pmu_power pmu_power(const char *name);

#endif
