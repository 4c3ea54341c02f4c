/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the table of derived metrics. Serves derived.c.
 *
 * Each formula names where the field has it: perf's own output (tools/perf/util/stat-shadow.c), the metrics of perf
 * (tools/perf/pmu-events/arch, here as "arm64/..." and "x86/..."), which Arm's telemetry guides and Intel's and AMD's
 * lists are the origin of, or the driver that names and scales the event. Versions are those of Linux.
 */
#ifndef DERIVED_TABLE_H
#define DERIVED_TABLE_H

#include "derived/derived.h"

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
