/* SPDX-License-Identifier: Apache-2.0 */
/* Finding series in a snapshot by their names: what a scrape writes before the value, `name{labels}`. */
#ifndef TESTS_UNIT_FIND_SERIES_H
#define TESTS_UNIT_FIND_SERIES_H

#include "collectors/snapshot.h"

/* The series of that name; NULL where there is none. The test fails where there are two. */
const struct series *find_series(const struct snapshot *snapshot, const char *format, ...) PRINTF_LIKE(2, 3);

/* The value of a series; NOT_SHOWN where a scrape does not have it. */
uint64_t series_value(const struct snapshot *snapshot, const char *format, ...) PRINTF_LIKE(2, 3);
#define NOT_SHOWN UINT64_MAX

/* The names of the collector cpu's series; `metric` is "cycles", "group_enabled_seconds"... */
#define CPU_SERIES "perf_cpu_%s_total{cpu=\"%d\",pmu=\"%s\",group=\"%s\"}"

/* The row of that PMU and group; the test fails where there is none. */
const struct row *find_row(const struct snapshot *snapshot, const char *pmu, const char *group);

#endif
