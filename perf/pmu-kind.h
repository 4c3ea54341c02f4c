/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the descriptors of a PMU's events can do besides counting. No file of the kernel says this, but the PMUs that
 * can do more are known by name. Pure.
 */
#ifndef PERF_PMU_KIND_H
#define PERF_PMU_KIND_H

#include "base/util.h"

enum pmu_kind {
    PMU_COUNTING,   /* nothing else */
    PMU_TRACEPOINT, /* a holder of the descriptor can set a filter (PERF_EVENT_IOC_SET_FILTER) */
    PMU_PROBE, /* as tracepoints, and opening one changes the kernel's or a program's instructions: kprobe, uprobe */
    PMU_BREAKPOINT, /* a holder of the descriptor can move it to another address (PERF_EVENT_IOC_MODIFY_ATTRIBUTES) */
    PMU_TRACING,    /* shows all that a CPU executes, in a second ring: the PMUs that have setup_aux() */
};

enum pmu_kind pmu_kind(const char *name);

#endif
