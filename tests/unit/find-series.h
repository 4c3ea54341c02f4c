/* SPDX-License-Identifier: Apache-2.0 */
/* Finds series in a snapshot by name and labels, as a scrape shows them: `name{labels}`. */
#ifndef TESTS_UNIT_FIND_SERIES_H
#define TESTS_UNIT_FIND_SERIES_H

#include "collectors/snapshot.h"

/* Returns the series with that name, or NULL. The test fails if two series have the name. */
const struct series *find_series(const struct snapshot *snapshot, const char *format, ...) PRINTF_LIKE(2, 3);

/* Returns the value of a series, or NOT_SHOWN if a scrape does not contain it. */
uint64_t series_value(const struct snapshot *snapshot, const char *format, ...) PRINTF_LIKE(2, 3);
#define NOT_SHOWN UINT64_MAX

/* A format for series of the cpu collector; its first argument is "cycles", "group_enabled_seconds" or the like. */
#define CPU_SERIES "perf_cpu_%s_total{cpu=\"%d\",pmu=\"%s\",group=\"%s\"}"

/* Returns the row of this PMU and group; the test fails if there is none. */
const struct row *find_row(const struct snapshot *snapshot, const char *pmu, const char *group);

#endif
