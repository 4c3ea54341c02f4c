/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table that `perfcountd top` shows has a row for each cgroup, CPU or PMU, with a value for each column. The table
 * is made from the documents of /api/v1/rates and /api/v1/cgroups, which come from this process or from a daemon.
 *
 * A row that covers several PMUs or CPUs shows the `totals` of the document (collectors/rates.h). Older daemons have no
 * totals; the values of a row that covers several PMUs or CPUs are then unknown.
 */
#ifndef TOP_ROWS_H
#define TOP_ROWS_H

#include <jansson.h>

#include "base/util.h"
#include "cgroups/names.h"

#define TOP_COLUMNS_MAX 16

enum top_format {
    TOP_PERCENT,  /* percentage of a total or of one CPU */
    TOP_RATIO,    /* 0.93 */
    TOP_GIGA,     /* a frequency in GHz */
    TOP_QUANTITY, /* 12.3M */
};

struct top_column {
    const char *name;  /* for --sort */
    const char *title; /* heading of at most 8 characters */
    const char *help;
    const char *metrics[4]; /* derived metrics; the first available one is shown */
    const char *events[6];  /* events; the rate of the first available one is shown */
    const char *sum[3];     /* events whose rates are added up if no metric or event above is available */
    enum top_format format;
    char key; /* key that sorts by this column */
};

#define TOP_COLUMN_WIDTH 9 /* width of a column, including the blank before it */

size_t top_column_count(void);
const struct top_column *top_column_at(size_t i);
/* Returns the index of the column with this name, metric or event, or top_column_count() if no column matches. */
size_t top_column_find(const char *name);
/* Writes a value in at most 8 columns, with "-" for NAN and "~" in front of an estimate. */
void top_column_format(const struct top_column *column, double value, bool estimate, char *text, size_t size);

/* What a row of the table stands for. Cgroup rows are split by PMU if the view's `by_pmu` is set. */
enum top_kind { TOP_CGROUPS, TOP_CPUS, TOP_PMUS };
#define N_TOP_KINDS 3

/* A row of the table; its strings belong to the documents or the table. */
struct top_row {
    const char *target;              /* path of the cgroup, name of the PMU, or "cpu 4" */
    const char *name;                /* readable name of the cgroup, or `target` without such a name */
    const char *label;               /* the name, followed by the path if several cgroups have this name */
    const char *pmu;                 /* hardware PMU that counts the row's events; "" for none, NULL for several */
    const char *names[N_NAME_KINDS]; /* names of the cgroup by kind, "" for each kind without a name */
    const char *id;                  /* first digits of the container's ID, as many as container engines show */
    int cpu;
    double values[TOP_COLUMNS_MAX]; /* value of each column, or NAN if unknown */
    uint32_t estimates;             /* bitmask of columns whose group was counted only part of the time */
};

struct top_table;

/*
 * Makes a table, which keeps references to `rates`, with totals by cgroup, and to `cgroups` (NULL if unknown) until the
 * table is freed. Returns NULL when out of memory. If a document does not have the expected structure, the table has no
 * rows.
 */
struct top_table *top_table_new(json_t *rates, json_t *cgroups, enum top_kind kind, bool by_pmu);
struct top_table *top_table_free(struct top_table *table);

size_t top_table_count(const struct top_table *table);
const struct top_row *top_table_at(const struct top_table *table, size_t i);
/* Returns whether any row has an event or a metric of the column. */
bool top_table_has(const struct top_table *table, size_t column);

/*
 * Sorts rows by a column, highest value first, or by label if `column` is top_column_count(). `reverse` reverses the
 * order. Rows without a value always come last.
 */
void top_table_sort(struct top_table *table, size_t column, bool reverse);

#endif
