/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of numbers that `perfcountd top` may have: a table, from the left to the right. */
#ifndef TOP_COLUMN_H
#define TOP_COLUMN_H

#include <jansson.h>

#include "base/util.h"

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

/*
 * The column's value from the "events" and "ratios" of a group of /api/v1/rates. Returns whether the group has it at
 * all; *ret is NAN where it is not known.
 */
bool top_column_value(const struct top_column *column, const json_t *events, const json_t *ratios, double *ret);
/* The text of a value: "-" for NAN, with "~" before an estimate. At most 8 columns. */
void top_column_format(const struct top_column *column, double value, bool estimate, char *text, size_t size);

#endif
