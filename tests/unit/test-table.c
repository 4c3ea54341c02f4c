/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as they are printed where there is no terminal, and quantities. */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/command/table.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct table *, table_free);

static char *printed(const struct table *table)
{
    _cleanup_(fclosep) FILE *file = NULL;
    char *text = NULL;
    size_t size;

    file = tmpfile();
    assert_non_null(file);
    assert_int_equal(table_print(table, file), 0);
    size = (size_t)ftell(file);
    rewind(file);
    text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    return text;
}

/* Columns are as wide as characters, not bytes, make them; numbers are to the right; no line ends in a blank. */
static void test_columns(void **state)
{
    static const char *const titles[] = {"EVENT", ">RATE", "NOTE"};
    _cleanup_(table_freep) struct table *table = table_new(titles, 3);

    (void)state;
    assert_non_null(table);
    table_cell(table, TABLE_PLAIN, "cycles");
    table_cell(table, TABLE_BOLD, "%d", 1234567);
    table_cell(table, TABLE_DIM, "%s", "");
    table_cell(table, TABLE_PLAIN, "%s", "caf\xc3\xa9");
    table_cell(table, TABLE_PLAIN, "7");
    table_cell(table, TABLE_WARNING, "starved");
    table_cell(table, TABLE_PLAIN, "%s", "");
    table_cell(table, TABLE_PLAIN, "-");
    table_cell(table, TABLE_PLAIN, "x");
    _cleanup_(freep) char *text = printed(table);
    assert_string_equal(text, "EVENT      RATE  NOTE\n"
                              "cycles  1234567\n"
                              "caf\xc3\xa9          7  starved\n"
                              "              -  x\n");
}

/* Without titles there is no head line, and an empty column takes no room; lines stand across all columns. */
static void test_lines(void **state)
{
    static const char *const titles[] = {"", ">", "", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, 4);

    (void)state;
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
    _cleanup_(freep) char *text = printed(table);
    assert_string_equal(text, "a line that is longer than the columns\n"
                              "1000  x\n"
                              "\n"
                              "   1  x\n");
}

static void test_metrics(void **state)
{
    static const struct {
        double in;
        const char *in_unit, *out;
    } cases[] = {
        {0.5, "ratio", "0.500"},  {1234.5, "per 1000 instructions", "1234.500"},
        {2, "cpus", "2.000"},     {1.8e9, "hertz", "1.800 G"},
        {12.34, "watts", "12.3"}, {NAN, "ratio", "-"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[32];
        table_format_metric(cases[i].in, cases[i].in_unit, text, sizeof(text));
        assert_string_equal(text, cases[i].out);
    }
}

static void test_only_titles(void **state)
{
    static const char *const titles[] = {">N", "NAME"};
    _cleanup_(table_freep) struct table *table = table_new(titles, 2);

    (void)state;
    assert_non_null(table);
    _cleanup_(freep) char *text = printed(table);
    assert_string_equal(text, "N  NAME\n");
}

static void test_quantities(void **state)
{
    static const struct {
        double in;
        const char *out;
    } cases[] = {
        {0, "0"},         {7, "7"},          {0.25, "0.250"},         {12.34, "12.3"},
        {999.9, "999.9"}, {1000, "1.000 k"}, {1234567890, "1.235 G"}, {25e6, "25.00 M"},
        {NAN, "-"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[32];
        table_format_quantity(cases[i].in, text, sizeof(text));
        assert_string_equal(text, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),     cmocka_unit_test(test_lines),      cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_only_titles), cmocka_unit_test(test_quantities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
