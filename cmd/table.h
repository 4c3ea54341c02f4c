/* SPDX-License-Identifier: Apache-2.0 */
/* Text in aligned columns for a terminal: as wide as their content, empty ones left out, numbers to the
 * right, colour only on a terminal. */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include <stdio.h>

#include "base/util.h"

enum table_style { TABLE_PLAIN, TABLE_BOLD, TABLE_DIM, TABLE_WARNING };

struct table;

/*
 * The head line; a title that starts with '>' is of a column of numbers. A table whose titles have no text has no head
 * line. `titles` must outlive the table.
 */
struct table *table_new(const char *const *titles, size_t n);
struct table *table_free(struct table *table);

/*
 * Appends the next cell of the current row; a row ends when it is full. Names in it may be a stranger's: bytes that are
 * not part of a printable character become U+FFFD. Errors are kept until table_print().
 */
void table_cell(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Appends a line of text across all columns, before the next row. */
void table_line(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* -ENOMEM if a cell was lost. */
int table_print(const struct table *table, FILE *file);

/* 1234567890 as "1.235 G"; the shortest text that a person takes in at a glance. */
void table_format_quantity(double value, char *text, size_t size);
/* The value of a derived metric of this unit: ratios and CPUs have three digits behind the
 * point, others are quantities. */
void table_format_metric(double value, const char *unit, char *text, size_t size);

/* Writes `text` in that style to a terminal, plainly elsewhere. */
void table_print_styled(FILE *file, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
