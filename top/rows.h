/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table that `perfcountd top` shows: one row per cgroup, CPU or PMU, with a value for each column. It is made of
 * the documents of /api/v1/rates and /api/v1/cgroups, whether they come from this process or from a daemon.
 *
 * A row that covers several PMUs or CPUs shows the `totals` of the document (collectors/rates.h). If a daemon has none,
 * because it is older, the values of such a row are unknown.
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
    TOP_GIGA,     /* a frequency in GHz */
    TOP_QUANTITY, /* 12.3M */
};

struct top_column {
    const char *name;  /* for --sort */
    const char *title; /* at most 8 characters */
    const char *help;
    const char *metrics[4]; /* derived metrics, the preferred one first */
    const char *events[6];  /* rates of events, the preferred one first */
    const char *sum[3];     /* used if there is none of these: rates of events that are added up */
    enum top_format format;
    char key; /* pressed to sort by this column */
};

#define TOP_COLUMN_WIDTH 9 /* including the blank before it */

size_t top_column_count(void);
const struct top_column *top_column_at(size_t i);
/* The index of the column with that name, metric or event; top_column_count() if there is none. */
size_t top_column_find(const char *name);
/* Writes at most 8 columns: "-" for NAN, "~" before an estimate. */
void top_column_format(const struct top_column *column, double value, bool estimate, char *text, size_t size);

/* What a row stands for. Rows of cgroups are split by PMU if the view asks for it. */
enum top_kind { TOP_CGROUPS, TOP_CPUS, TOP_PMUS };
#define N_TOP_KINDS 3

/* Strings are borrowed from the documents and the table. */
struct top_row {
    const char *target;              /* path of a cgroup, name of a PMU, or "cpu 4" */
    const char *name;                /* of the cgroup for people; `target` if it has none */
    const char *label;               /* the name, followed by the path if other cgroups have the same name */
    const char *pmu;                 /* the hardware PMU that counts; "" if none, NULL if several */
    const char *names[N_NAME_KINDS]; /* of a cgroup; "" if it has none */
    const char *id;                  /* the digits of a container's ID that container engines show */
    int cpu;
    double values[TOP_COLUMNS_MAX]; /* NAN: unknown */
    uint32_t estimates;             /* bitmask by column: the group was counted for only a part of the time */
};

struct top_table;

/*
 * Keeps references to `rates`, with its totals by cgroup, and `cgroups` (NULL: unknown) until the table is freed.
 * Returns NULL when out of memory. A document of an unexpected shape gives no rows.
 */
struct top_table *top_table_new(json_t *rates, json_t *cgroups, enum top_kind kind, bool by_pmu);
struct top_table *top_table_free(struct top_table *table);

size_t top_table_count(const struct top_table *table);
const struct top_row *top_table_at(const struct top_table *table, size_t i);
/* Whether the rates of any row have an event or a metric of the column. */
bool top_table_has(const struct top_table *table, size_t column);

/*
 * Sorts by a column, the highest value first; by label if `column` is top_column_count(). `reverse` reverses this. Rows
 * without a value always come last.
 */
void top_table_sort(struct top_table *table, size_t column, bool reverse);

#endif
