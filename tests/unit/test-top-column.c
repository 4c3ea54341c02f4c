/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: found by name, metric and event; numbers that fit eight characters; each metric is one of the table. */
#include <math.h>

#include "daemon/top/top-column.h"
#include "derived/derived.h"
#include "tests/unit/test.h"

static void test_find(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cpu", "cpu"},
        {"cpu_utilization", "cpu"},
        {"ipc", "ipc"},
        {"page-faults", "faults"},
        {"page_faults", "faults"},
        {"context-switches", "switches"},
        {"cache_misses", "misses"},
        {"running_ratio", "counted"},
        {"cpu_", NULL},
        {"", NULL},
        {"name", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t column = top_column_find(cases[i].in);
        if (cases[i].out ? !str_equal(top_column_at(column)->name, cases[i].out) : column != top_column_count())
            fail_msg("%s: %zu", cases[i].in, column);
    }
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < top_column_count(); i++) {
        const struct top_column *column = top_column_at(i);
        assert_true(strlen(column->title) < TOP_COLUMN_WIDTH);
        assert_int_equal(top_column_find(column->name), i);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(top_column_at(k)->key, column->key);
        for (size_t k = 0; k < ARRAY_SIZE(column->metrics) && column->metrics[k]; k++)
            assert_non_null(derived_find(column->metrics[k]));
    }
}

static const struct {
    const char *in_column;
    double in;
    bool in_estimate;
    const char *out;
} cases[] = {
    {"cpu", 0, false, "0.0"},
    {"cpu", 1.234, false, "123.4"},
    {"cpu", 2, true, "~200.0"},
    {"cpu", 1e9, true, "~99999.9"},
    {"ipc", 0.9349, false, "0.93"},
    {"ipc", 1e300, false, "9999.99"},
    {"frequency", 2.4e9, false, "2.40"},
    {"misses", 0, false, "0"},
    {"misses", 999.4, false, "999"},
    {"misses", 999.6, false, "1.00k"},
    {"misses", 12345, true, "~12.3k"},
    {"misses", 999600, false, "1.00M"},
    {"misses", 1e300, false, "9.00E"},
    {"misses", NAN, true, "-"},
    {"ipc", INFINITY, true, "-"},
};

static void test_format(void **state)
{
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        top_column_format(top_column_at(top_column_find(cases[i].in_column)), cases[i].in, cases[i].in_estimate, text,
                          sizeof(text));
        assert_string_equal(text, cases[i].out);
        assert_true(strlen(text) < TOP_COLUMN_WIDTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
