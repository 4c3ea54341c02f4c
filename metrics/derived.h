/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of derived metrics: ratios and rates computed from events that were counted in one group.
 *
 * A name in a formula is an event as spelled in metric names ("branch_misses"), and stands for the event's rate per
 * second in the event's unit. Other names are running_time and enabled_time of the group, in seconds; busy_time, the
 * non-idle seconds of the CPU per second (perf/busy.h); and `slots`, the number of operations that a CPU can issue per
 * cycle (caps/slots of the CPU's PMU in sysfs). `cycles` and `instructions` also match Arm's names of these events.
 *
 * Each formula names its source: perf's own output (tools/perf/util/stat-shadow.c); perf's metrics
 * (tools/perf/pmu-events/arch, given as "arm64/..." and "x86/..."), which come from Arm's telemetry guides and from
 * Intel's and AMD's lists; or the driver that names and scales the event. All version numbers are Linux versions.
 */
#ifndef METRICS_DERIVED_H
#define METRICS_DERIVED_H

#include "base/util.h"

/* The kinds of targets that a metric can describe. */
enum derived_target {
    DERIVED_CPU = 1 << 0,    /* a CPU */
    DERIVED_PMU = 1 << 1,    /* an uncore PMU, which counts for several CPUs */
    DERIVED_CGROUP = 1 << 2, /* a cgroup */
};

struct derived_formula {
    const char *text;
    const char *pmu;    /* glob pattern for the PMU's name (base/glob.h), or NULL for any PMU */
    const char *source; /* published source of the formula */
    bool seen;          /* a test has computed the formula on real or emulated hardware */
};

/* Maximum number of formulas of one metric. */
#define DERIVED_FORMULAS_MAX 20

struct derived_metric {
    const char *name;                       /* "branch_mpki" */
    const char *unit;                       /* "ratio", "per 1000 instructions", "hertz", ... */
    const char *help;                       /* one sentence */
    unsigned targets;                       /* mask of enum derived_target */
    const struct derived_formula *formulas; /* the first formula whose events are all counted is used; the array ends
                                             * with a NULL text */
};

/* Returns the number of metrics, and metric `i`, or NULL past the last one. */
size_t derived_count(void);
const struct derived_metric *derived_at(size_t i);
/* Finds a metric by name. Returns NULL if there is no such metric. */
const struct derived_metric *derived_find(const char *name);

/* Returns whether `name` in a formula stands for the counter `event`, as "instructions" does for "inst_retired". */
bool derived_names_event(const char *name, const char *event);

/*
 * Returns the n-th event name that `name` in a formula may stand for: `name` itself for n = 0, NULL past the last one.
 */
const char *derived_spelling(const char *name, size_t n);

#endif
