/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the table of derived metrics, in several files. derived.h has the whole table.
 *
 * Each formula names where the field has it: perf's own output (tools/perf/util/stat-shadow.c), the metrics of perf
 * (tools/perf/pmu-events/arch, here as "arm64/..." and "x86/..."), which Arm's telemetry guides and Intel's and AMD's
 * lists are the origin of, or the driver that names and scales the event. Versions are those of Linux.
 */
#ifndef METRICS_TABLE_H
#define METRICS_TABLE_H

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

#define DERIVED_EVERYWHERE (DERIVED_CPU | DERIVED_CGROUP)

/* Its formulas, each {text, PMU, source, seen}. */
#define FORMULAS(...)                                                                                                  \
    (const struct derived_formula[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

#endif
