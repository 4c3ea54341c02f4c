/* SPDX-License-Identifier: Apache-2.0 */
/* How many events a PMU counts at once, found out by trying: no file says it. */
#ifndef PERF_CAPACITY_H
#define PERF_CAPACITY_H

#include "perf/machine.h"

/*
 * Opens ever larger groups of one event on the first CPU of `pmu`, and closes them: the kernel refuses the first that
 * could never run together. It does not know what others hold (the NMI watchdog, another profiler). -ENODATA where the
 * PMU counts no event that would tell; errors of perf_event_open(2).
 */
int capacity_probe(struct sys *sys, const struct pmu *pmu, unsigned *ret_counters);

#endif
