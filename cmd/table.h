/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text table for a terminal. Each column is as wide as its content, empty columns are left out, and numbers are
 * right-aligned. Colours are used only on a terminal.
 */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include <stdio.h>

#include "base/util.h"

enum table_style { TABLE_PLAIN, TABLE_BOLD, TABLE_DIM, TABLE_WARNING };

struct table;

/*
 * `titles` are the column titles, and must outlive the table. A title that starts with '>' marks a column of numbers.
 * If all titles are empty, no title line is printed. Returns NULL when out of memory.
 */
struct table *table_new(const char *const *titles, size_t n);
struct table *table_free(struct table *table);

/*
 * Appends the next cell; a row ends when all its columns are filled. Names from other users are safe: bytes that are
 * not part of a printable character become U+FFFD. table_print() reports errors.
 */
void table_cell(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Appends a line of text across all columns. The current row of the table must be complete. */
void table_line(struct table *table, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Prints the table. Returns -ENOMEM if a cell was lost because memory ran out. */
int table_print(const struct table *table, FILE *file);

/* Formats a number with an SI prefix and about four digits: 1234567890 becomes "1.235 G", and NAN becomes "-". */
void table_format_quantity(double value, char *text, size_t size);
/*
 * Formats a derived metric with this unit: ratios, CPUs and "per ..." units have three decimals, and others are
 * formatted by table_format_quantity().
 */
void table_format_metric(double value, const char *unit, char *text, size_t size);

/* Writes the text, with the style only if `file` is a terminal. */
void table_print_styled(FILE *file, enum table_style style, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
