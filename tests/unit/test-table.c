/* SPDX-License-Identifier: Apache-2.0 */
/* Tables printed without a terminal, and quantities. */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cmd/table.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct table *, table_free);

static void expect(const struct table *table, const char *expected)
{
    _cleanup_(fclosep) FILE *file = tmpfile();
    char text[1024] = "";

    assert_non_null(file);
    assert_int_equal(table_print(table, file), 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_string_equal(text, expected);
}

/*
 * Column width is counted in characters, not bytes. Numbers are right-aligned, no line has trailing spaces, and control
 * characters are replaced.
 */
TEST(test_columns)
{
    static const char *const titles[] = {"EVENT", ">RATE", "NOTE"};
    _cleanup_(table_freep) struct table *table = table_new(titles, 3);

    assert_non_null(table);
    expect(table, "EVENT  RATE  NOTE\n");
    table_cell(table, TABLE_PLAIN, "cycles");
    table_cell(table, TABLE_BOLD, "%d", 1234567);
    table_cell(table, TABLE_DIM, "%s", "");
    table_cell(table, TABLE_PLAIN, "%s", "caf\xc3\xa9");
    table_cell(table, TABLE_PLAIN, "7");
    table_cell(table, TABLE_WARNING, "starved \033[m");
    table_cell(table, TABLE_PLAIN, "%s", "");
    table_cell(table, TABLE_PLAIN, "-");
    table_cell(table, TABLE_PLAIN, "x");
    expect(table, "EVENT      RATE  NOTE\n"
                  "cycles  1234567\n"
                  "caf\xc3\xa9          7  starved \xef\xbf\xbd[m\n"
                  "              -  x\n");
}

/* Without titles, there is no title line. An empty column takes no space, and a line may span all columns. */
TEST(test_lines)
{
    static const char *const titles[] = {"", ">", "", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, 4);

    assert_non_null(table);
    table_line(table, TABLE_BOLD, "a line that is longer than %s", "the columns");
    for (unsigned i = 0; i < 2; i++) {
        table_cell(table, TABLE_PLAIN, "%s", "");
        table_cell(table, TABLE_PLAIN, "%u", i ? 1 : 1000);
        table_cell(table, TABLE_PLAIN, "%s", "");
        table_cell(table, TABLE_PLAIN, "%s", "x");
        if (i == 0)
            table_line(table, TABLE_PLAIN, "%s", "");
    }
    expect(table, "a line that is longer than the columns\n1000  x\n\n   1  x\n");
}

/* With a unit the number is formatted as a metric, otherwise as a quantity. */
static const struct {
    double in;
    const char *in_unit, *out;
} numbers[] = {
    {0, NULL, "0"},           {7, NULL, "7"},
    {0.25, NULL, "0.250"},    {12.34, NULL, "12.3"},
    {999.9, NULL, "999.9"},   {1000, NULL, "1.000 k"},
    {25e6, NULL, "25.00 M"},  {1234567890, NULL, "1.235 G"},
    {NAN, NULL, "-"},         {NAN, "ratio", "-"},
    {0.5, "ratio", "0.500"},  {1234.5, "per 1000 instructions", "1234.500"},
    {2, "cpus", "2.000"},     {1.8e9, "hertz", "1.800 G"},
    {12.34, "watts", "12.3"},
};

TEST(test_numbers)
{
    char text[32];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (numbers[i].in_unit)
            table_format_metric(numbers[i].in, numbers[i].in_unit, text, sizeof(text));
        else
            table_format_quantity(numbers[i].in, text, sizeof(text));
        assert_string_equal(text, numbers[i].out);
    }
}

TEST_MAIN(NULL, NULL)
