/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfcountd's own metrics: name, HELP, unit and type of everything that is not an event. The code that adds the series
 * provides their values and labels.
 */
#ifndef METRICS_OWN_METRICS_H
#define METRICS_OWN_METRICS_H

#include "metrics/metrics.h"

enum own_metric {
    /* metrics of each collector */
    OWN_COLLECTOR_SUCCESS,
    OWN_COLLECTOR_DURATION,
    OWN_COLLECTOR_INCOMPLETE,
    OWN_GROUPS,
    OWN_EVENTS_UNAVAILABLE,
    /* metrics of the `cgroup` collector */
    OWN_CGROUPS,
    OWN_CGROUP_ENGINE,
    OWN_CGROUP_UNKNOWN,
    /* metrics of the daemon's process, named as in all Prometheus client libraries */
    OWN_CPU_SECONDS,
    OWN_OPEN_FDS,
    OWN_MAX_FDS,
    OWN_VIRTUAL_BYTES,
    OWN_VIRTUAL_MAX_BYTES,
    OWN_RESIDENT_BYTES,
    OWN_THREADS,
    OWN_START_TIME,
    /* metrics of the daemon's configuration and build */
    OWN_RELOAD_SUCCESSFUL,
    OWN_RELOAD_TIME,
    OWN_PAUSED,
    OWN_BUILD,
    /* metrics of the machine */
    OWN_BOARD,
    OWN_PMU_SLOTS,
    OWN_CPU_BUSY,
    OWN_CPU_FREQUENCY_LIMIT,
    OWN_CPU_FREQUENCY_MAX,
    OWN_CPU_COOLING,
    OWN_UNDER_VOLTAGE,
    OWN_FINDING,
    /* metrics of each of the daemon's other processes */
    OWN_CHILD_CPU_SECONDS,
    OWN_CHILD_RESIDENT_BYTES,
    OWN_CHILD_VIRTUAL_BYTES,
    OWN_CHILD_THREADS,
    OWN_CHILD_START_TIME,
    /* hardware events of the daemon's main thread */
    OWN_CYCLES,
    OWN_INSTRUCTIONS,
    OWN_USER_READS,
    OWN_KERNEL_COUNTED,
};

/* Number of decimals of process start times, which the kernel reports in clock ticks of 1/100 s (proc_pid_stat(5)). */
#define OWN_START_DECIMALS 2

/* Ratios have four decimals: the value of a ratio's series is in units of 1/10000. */
#define OWN_RATIO_DECIMALS 4
#define OWN_RATIO_UNITS 10000

/* Adds a series of the metric by metrics_add_created(), and returns its result. */
struct series *own_metrics_add_created(struct metrics *metrics, enum own_metric which, unsigned collector,
                                       const struct label *labels, size_t n_labels, uint64_t created_ns);
/* Adds a series of a metric that has no _created line. */
static inline struct series *own_metrics_add(struct metrics *metrics, enum own_metric which, unsigned collector,
                                             const struct label *labels, size_t n_labels)
{
    return own_metrics_add_created(metrics, which, collector, labels, n_labels, 0);
}

#endif
