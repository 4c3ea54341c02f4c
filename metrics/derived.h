/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of derived metrics.
 *
 * The rows of the table of derived metrics, in several files. derived.h has the whole table.
 *
 * Each formula names where the field has it: perf's own output (tools/perf/util/stat-shadow.c), the metrics of perf
 * (tools/perf/pmu-events/arch, here as "arm64/..." and "x86/..."), which Arm's telemetry guides and Intel's and AMD's
 * lists are the origin of, or the driver that names and scales the event. Versions are those of Linux.
 *
 * The table of derived metrics: ratios and rates that are made of events which were counted together.
 *
 * A formula's names are events as they are named in metrics ("branch_misses"), each standing for its rate per second in
 * its unit; besides, running_time and enabled_time of the group, and `slots`, the operations that a CPU can begin in a
 * cycle (caps/slots of its PMU in sysfs). Of `cycles` and `instructions`, the names that Arm gives them are as good.
 */
#ifndef METRICS_DERIVED_H
#define METRICS_DERIVED_H

#include "base/util.h"

/* The targets of a metric. */
enum derived_target {
    DERIVED_CPU = 1 << 0,    /* a CPU */
    DERIVED_PMU = 1 << 1,    /* a PMU that counts for several CPUs */
    DERIVED_CGROUP = 1 << 2, /* a cgroup */
};

struct derived_formula {
    const char *text;
    const char *pmu;    /* a pattern (base/glob.h) of the PMU's name; NULL for any */
    const char *source; /* where the field has this formula */
    bool seen;          /* a test has it on real or emulated hardware */
};

#define DERIVED_FORMULAS_MAX 20

struct derived_metric {
    const char *name;                       /* "branch_mpki" */
    const char *unit;                       /* "ratio", "per 1000 instructions", "hertz", ... */
    const char *help;                       /* a sentence */
    unsigned targets;                       /* bits of enum derived_target */
    const struct derived_formula *formulas; /* the first that has all its events; ends with one that has no text */
};

struct derived_table {
    const struct derived_metric *metrics;
    size_t n;
};

extern const struct derived_table derived_cpu_table, derived_cache_table, derived_topdown_table, derived_machine_table;

size_t derived_count(void);
/* NULL past the last. */
const struct derived_metric *derived_at(size_t i);
/* By name; NULL where there is none. */
const struct derived_metric *derived_find(const char *name);

/* Whether a counter of this name is the event that a formula means: "inst_retired" is "instructions". */
bool derived_names_event(const char *name, const char *event);

/* The n-th name of the event that a formula means: at first `name` itself; NULL past the last. */
const char *derived_spelling(const char *name, size_t n);

#endif
