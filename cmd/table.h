/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text for a terminal: each column is as wide as its content, empty columns are left out, numbers are
 * aligned right. Colours are only used on a terminal.
 */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include <stdio.h>

#include "base/util.h"

enum table_style { TABLE_PLAIN, TABLE_BOLD, TABLE_DIM, TABLE_WARNING };

struct table;

/*
 * `titles` are the head line and must outlive the table. A title that starts with '>' belongs to a column of numbers.
 * If no title has text, no head line is printed. Returns NULL when out of memory.
 */
struct table *table_new(const char *const *titles, size_t n);
struct table *table_free(struct table *table);

/*
 * Appends the next cell; a row ends when all its columns are filled. Names from other users are safe to print: bytes
 * that are not part of a printable character become U+FFFD. An error is kept for table_print().
 */
void table_cell(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Appends a line of text across all columns. The current row must be complete. */
void table_line(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Returns -ENOMEM if a cell was lost. */
int table_print(const struct table *table, FILE *file);

/* Formats with a decimal prefix and about four digits: 1234567890 as "1.235 G"; NAN as "-". */
void table_format_quantity(double value, char *text, size_t size);
/* Formats a derived metric of this unit: ratios, CPUs and "per ..." with three decimals, others as quantities. */
void table_format_metric(double value, const char *unit, char *text, size_t size);

/* Writes text with the style if `file` is a terminal, else without. */
void table_print_styled(FILE *file, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
