/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of numbers that `perfcountd top` may have: a table, from the left to the right.
 *
 * One group over several PMUs or CPUs: rates of events are added up, and derived metrics are made of the sums. A ratio
 * is never a mean of ratios. An event or a metric that only some of the rows have is left out: its sum would not be
 * that of the target.
 *
 * The rows that `perfcountd top` shows of one reading: one for each cgroup, CPU or PMU, with a value for each column.
 * They are made of the documents that /api/v1/rates and /api/v1/cgroups have, wherever they come from.
 */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include <jansson.h>

#include "base/util.h"
#include "cgroups/names.h"

#define TOP_COLUMNS_MAX 16

enum top_format {
    TOP_PERCENT,  /* of a share, or of a CPU */
    TOP_RATIO,    /* 0.93 */
    TOP_GIGA,     /* of a frequency, in GHz */
    TOP_QUANTITY, /* 12.3M */
};

struct top_column {
    const char *name;  /* for --sort */
    const char *title; /* at most 8 characters */
    const char *help;
    const char *metrics[4]; /* derived metrics, the best first */
    const char *events[6];  /* rates of events, the best first */
    const char *sum[3];     /* where there is none of these: rates of events that are added up */
    enum top_format format;
    char key; /* sorts by it */
};

#define TOP_COLUMN_WIDTH 9 /* with the blank before it */

size_t top_column_count(void);
const struct top_column *top_column_at(size_t i);
/* The index of the column of that name, or that has this metric or event; top_column_count() where there is none. */
size_t top_column_find(const char *name);
/* The text of a value: "-" for NAN, with "~" before an estimate. At most 8 columns. */
void top_column_format(const struct top_column *column, double value, bool estimate, char *text, size_t size);

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
