/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/table.h"

#include <math.h>
#include <stdarg.h>

#include "base/cleanup.h"
#include "base/text.h"

struct cell {
    char *text;
    enum table_style style;
    bool whole; /* the cell spans all columns; the row's other cells are empty */
};

struct table {
    const char *const *titles;
    size_t columns;
    struct cell *cells;
    size_t n;
    bool failed;
};

static const char *const style_codes[] = {
    [TABLE_PLAIN] = "",
    [TABLE_BOLD] = "\033[1m",
    [TABLE_DIM] = "\033[2m",
    [TABLE_WARNING] = "\033[33m",
};

struct table *table_new(const char *const *titles, size_t n)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->titles = titles;
    table->columns = n;
    return table;
}

struct table *table_free(struct table *table)
{
    if (!table)
        return NULL;
    for (size_t i = 0; i < table->n; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
    return NULL;
}

static void append_cell(struct table *table, struct cell cell, const char *format, va_list args)
{
    _cleanup_(buffer_done) struct buffer printable = {0};
    _cleanup_(freep) char *text = NULL;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    escape_append(&printable, text ? text : "", ESCAPE_NOTHING);
    cell.text = text && array_grow(&table->cells, table->n) == 0 ? buffer_string(&printable) : NULL;
    if (cell.text)
        table->cells[table->n++] = cell;
    else
        table->failed = true;
}

void table_cell(struct table *table, enum table_style style, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append_cell(table, (struct cell){.style = style}, format, args);
    va_end(args);
}

void table_line(struct table *table, enum table_style style, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append_cell(table, (struct cell){.style = style, .whole = true}, format, args);
    va_end(args);
    for (size_t i = 1; i < table->columns; i++)
        table_cell(table, TABLE_PLAIN, "%s", "");
}

/* Returns the width of the text in characters, not bytes. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_number_column(const struct table *table, size_t column)
{
    return table->titles[column][0] == '>';
}

static const char *title(const struct table *table, size_t column)
{
    return table->titles[column] + is_number_column(table, column);
}

static size_t column_width(const struct table *table, size_t column)
{
    size_t width = text_width(title(table, column));

    for (size_t i = column; i < table->n; i += table->columns)
        if (!table->cells[i].whole)
            width = MAX(width, text_width(table->cells[i].text));
    return width;
}

static bool has_titles(const struct table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        if (*title(table, i))
            return true;
    return false;
}

/* State of the table line being printed. */
struct table_line {
    FILE *file;
    bool colour;
    size_t blanks; /* number of blanks to print before the next text, so that no line ends with blanks */
};

static void print_cell(struct table_line *line, enum table_style style, const char *text, size_t width, bool right)
{
    size_t padding = width > text_width(text) ? width - text_width(text) : 0;

    if (width == 0)
        return;
    line->blanks += right ? padding : 0;
    if (*text) {
        fprintf(line->file, "%*s%s%s%s", (int)line->blanks, "", line->colour ? style_codes[style] : "", text,
                line->colour && style != TABLE_PLAIN ? "\033[0m" : "");
        line->blanks = 0;
    }
    line->blanks += (right ? 0 : padding) + 2;
}

static void end_line(struct table_line *line)
{
    fputc('\n', line->file);
    line->blanks = 0;
}

int table_print(const struct table *table, FILE *file)
{
    _cleanup_(freep) size_t *widths = calloc(table->columns, sizeof(*widths));
    struct table_line line = {.file = file, .colour = text_has_colour(fileno(file))};

    if (!widths || table->failed)
        return -ENOMEM;
    for (size_t k = 0; k < table->columns; k++) {
        widths[k] = column_width(table, k);
        print_cell(&line, TABLE_BOLD, title(table, k), widths[k], is_number_column(table, k));
    }
    if (has_titles(table))
        end_line(&line);
    line.blanks = 0;
    for (size_t i = 0; i < table->n; i++) {
        const struct cell *cell = &table->cells[i];
        size_t k = i % table->columns;
        print_cell(&line, cell->style, cell->text, cell->whole ? text_width(cell->text) : widths[k],
                   is_number_column(table, k) && !cell->whole);
        if (k + 1 == table->columns)
            end_line(&line);
    }
    return 0;
}

void table_format_quantity(double value, char *text, size_t size)
{
    static const char prefixes[] = " kMGTPE";
    size_t at = 0;

    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    while (value >= 999.95 && at + 2 < sizeof(prefixes)) {
        value /= 1000;
        at++;
    }
    if (at == 0)
        snprintf(text, size, "%.*f", value == floor(value) ? 0 : value < 10 ? 3 : 1, value);
    else
        snprintf(text, size, "%.*f %c", value < 10 ? 3 : value < 100 ? 2 : 1, value, prefixes[at]);
}

void table_format_metric(double value, const char *unit, char *text, size_t size)
{
    if (!isnan(value) && (str_equal(unit, "ratio") || str_equal(unit, "cpus") || str_starts(unit, "per ")))
        snprintf(text, size, "%.3f", value);
    else
        table_format_quantity(value, text, size);
}

void table_print_styled(FILE *file, enum table_style style, const char *format, ...)
{
    bool colour = text_has_colour(fileno(file)) && style != TABLE_PLAIN;
    va_list args;

    if (colour)
        fputs(style_codes[style], file);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    if (colour)
        fputs("\033[0m", file);
}
