/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows that `perfcountd top` shows of one reading: one for each cgroup, CPU or PMU, with a value for each column.
 * They are made of the documents that /api/v1/rates and /api/v1/cgroups have, wherever they come from.
 */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include "cgroups/names.h"
#include "top/column.h"

/* The target of a row. Those of cgroups are split by PMU where that is asked for. */
enum top_kind { TOP_CGROUPS, TOP_CPUS, TOP_PMUS };
#define N_TOP_KINDS 3

/* Texts are those of the documents. */
struct top_row {
    const char *target;              /* the path of a cgroup, a PMU, "cpu 4" */
    const char *name;                /* what people call the cgroup; the target where they do not */
    const char *label;               /* the name, and the path behind it where another cgroup has the name too */
    const char *pmu;                 /* of its hardware, "" where it has none; NULL where it has several */
    const char *names[N_NAME_KINDS]; /* of a cgroup, "" where it has none */
    const char *id;                  /* the digits of a container's id that container engines show */
    int cpu;
    double values[TOP_COLUMNS_MAX]; /* NAN: not known */
    uint32_t estimates;             /* a bit for each value of a group that was counted for a part of the time */
};

struct top_table;

/*
 * `rates` and `cgroups` (NULL: not known) are held until the table is freed. NULL when out of memory; a document of
 * another shape has no rows.
 */
struct top_table *top_table_new(json_t *rates, json_t *cgroups, enum top_kind kind, bool by_pmu);
struct top_table *top_table_free(struct top_table *table);

size_t top_table_count(const struct top_table *table);
const struct top_row *top_table_at(const struct top_table *table, size_t i);
/* Whether any row has the column. */
bool top_table_has(const struct top_table *table, size_t column);

/* By a column, the highest value first, rows without a value last; by label for top_column_count(). */
void top_table_sort(struct top_table *table, size_t column, bool reverse);

#endif
