/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the descriptors of a PMU's events can do besides counting. The kernel has no file that says it, but the PMUs
 * that can do more have names of their own. Pure.
 */
#ifndef PERF_PMU_KIND_H
#define PERF_PMU_KIND_H

#include "base/util.h"

enum pmu_kind {
    PMU_COUNTING,   /* nothing else */
    PMU_TRACEPOINT, /* takes a filter from whoever holds the descriptor (PERF_EVENT_IOC_SET_FILTER) */
    PMU_PROBE,      /* the same, and opening one changes the kernel's or a program's instructions: kprobe, uprobe */
    PMU_BREAKPOINT, /* can be moved to another address by whoever holds it (PERF_EVENT_IOC_MODIFY_ATTRIBUTES) */
    PMU_TRACING,    /* shows all that a CPU executes, in a second ring: the PMUs that have setup_aux() */
};

enum pmu_kind pmu_kind(const char *name);

#endif
