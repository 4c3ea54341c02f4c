/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are found by name, metric and event, and numbers fit into eight characters. Documents are turned into rows:
 * cgroups on several PMUs, CPUs and PMUs; unknown values; sort orders; documents of unexpected shapes.
 */
#include <math.h>

#include "base/cleanup.h"
#include "metrics/derived.h"
#include "tests/unit/json-of.h"
#include "tests/unit/test.h"
#include "top/rows.h"

TEST(test_find)
{
    static const struct {
        const char *in, *out;
    } names[] = {
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

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t column = top_column_find(names[i].in);
        if (names[i].out ? !str_equal(top_column_at(column)->name, names[i].out) : column != top_column_count())
            fail_msg("%s: %zu", names[i].in, column);
    }
}

TEST(test_columns)
{
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
} numbers[] = {
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

TEST(test_format)
{
    char text[32];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        top_column_format(top_column_at(top_column_find(numbers[i].in_column)), numbers[i].in, numbers[i].in_estimate,
                          text, sizeof(text));
        assert_string_equal(text, numbers[i].out);
        assert_true(strlen(text) < TOP_COLUMN_WIDTH);
    }
}

DEFINE_CLEANUP(struct top_table *, top_table_free);

/* A machine with two kinds of core: one cgroup ran on both, one on a multiplexed PMU only, and one was starved. */
static const char board[] =
    "{'rates': ["
    "{'collector': 'cgroup', 'cgroup': '/b', 'pmu': 'armv8_cortex_a55', 'group': 'core', 'events': {'task_clock': 0.5, "
    "'cycles': 5e8, 'instructions': 2e8}, 'ratios': {'ipc': 0.4, 'cpu_utilization': 0.5, 'frequency_hertz': 1e9, "
    "'running_ratio': 1.0}},"
    "{'collector': 'cgroup', 'cgroup': '/b', 'pmu': 'armv8_cortex_a76', 'group': 'core', 'events': {'task_clock': 1.0, "
    "'cycles': 2e9, 'instructions': 3e9}, 'ratios': {'ipc': 1.5, 'cpu_utilization': 1.0, 'frequency_hertz': 2e9, "
    "'running_ratio': 0.5}},"
    "{'collector': 'cgroup', 'cgroup': '/b', 'pmu': 'software', 'group': 'software', 'events': {'minor_faults': 10, "
    "'major_faults': 2, 'context_switches': 7}, 'ratios': {}},"
    "{'collector': 'cgroup', 'cgroup': '/a', 'pmu': 'armv8_cortex_a76', 'group': 'core', 'events': {'task_clock': "
    "0.25, 'cycles': 1e8, 'instructions': 2e8}, 'ratios': {'ipc': 2.0, 'cpu_utilization': 0.25, 'running_ratio': 1.0}},"
    "{'collector': 'cgroup', 'cgroup': '/c', 'pmu': 'armv8_cortex_a76', 'group': 'core', 'events': {'task_clock': "
    "null, 'cycles': null, 'instructions': null}, 'ratios': {'running_ratio': 0}},"
    "{'collector': 'cpu', 'cpu': 10, 'pmu': 'armv8_cortex_a76', 'group': 'overview', 'events': {'cycles': 1e9, "
    "'instructions': 1e9, 'll_cache_miss_rd': 5e6}, 'ratios': {'ipc': 1.0}},"
    "{'collector': 'cpu', 'cpu': 9, 'pmu': 'armv8_cortex_a76', 'group': 'overview', 'events': {'cycles': 1e9, "
    "'instructions': 3e9, 'll_cache_miss_rd': 1e6}, 'ratios': {'ipc': 3.0}},"
    "{'collector': 'cpu', 'cpu': 9, 'pmu': 'software', 'group': 'software', 'events': {'page_faults': 5, "
    "'minor_faults': 4}, 'ratios': {}},"
    "{'collector': 'self', 'pmu': 'cpu', 'group': 'self', 'events': {'cycles': 1}, 'ratios': {}}],"
    "'totals': ["
    "{'collector': 'cgroup', 'cgroup': '/b', 'pmus': ['armv8_cortex_a55', 'armv8_cortex_a76'], 'group': 'core', "
    "'events': {'task_clock': 1.5, 'cycles': 2.5e9, 'instructions': 3.2e9}, 'ratios': {'ipc': 1.28, 'cpu_utilization': "
    "1.5, 'frequency_hertz': 1.5e9, 'running_ratio': 0.75}},"
    "{'collector': 'cgroup', 'cgroup': '/b', 'pmus': ['software'], 'group': 'software', 'events': {'minor_faults': 10, "
    "'major_faults': 2, 'context_switches': 7}, 'ratios': {}},"
    "{'collector': 'cgroup', 'cgroup': '/a', 'pmus': ['armv8_cortex_a76'], 'group': 'core', 'events': {'task_clock': "
    "0.25, 'cycles': 1e8, 'instructions': 2e8}, 'ratios': {'ipc': 2.0, 'cpu_utilization': 0.25, 'running_ratio': 1.0}},"
    "{'collector': 'cgroup', 'cgroup': '/c', 'pmus': ['armv8_cortex_a76'], 'group': 'core', 'events': {'task_clock': "
    "null, 'cycles': null, 'instructions': null}, 'ratios': {'running_ratio': 0}},"
    "{'collector': 'cpu', 'cpus': '9-10', 'pmu': 'armv8_cortex_a76', 'group': 'overview', 'events': {'cycles': 2e9, "
    "'instructions': 4e9, 'll_cache_miss_rd': 6e6}, 'ratios': {'ipc': 2.0}},"
    "{'collector': 'cpu', 'cpus': '9', 'pmu': 'software', 'group': 'software', 'events': {'page_faults': 5, "
    "'minor_faults': 4}, 'ratios': {}}]}";
static const char identities[] =
    "{'cgroups': [{'cgroup': '/b', 'unit': 'b.service', 'slice': 's.slice', 'container_id': ''},"
    "{'cgroup': '/z', 'unit': 'z'}, 3, {'cgroup': 4}]}";

static struct top_table *table_of(const char *rates, const char *cgroups, enum top_kind kind, bool by_pmu)
{
    json_t *document = json_of(rates), *others = cgroups ? json_of(cgroups) : NULL;
    struct top_table *table = top_table_new(document, others, kind, by_pmu);

    assert_non_null(table);
    json_decref(document);
    json_decref(others);
    return table;
}

static void check_value(const struct top_table *table, size_t row, const char *column, double expected)
{
    assert_true(row < top_table_count(table));
    assert_true(top_column_find(column) < top_column_count());
    double value = top_table_at(table, row)->values[top_column_find(column)];
    if (isnan(expected) ? !isnan(value) : fabs(value - expected) > 1e-9 * (1 + fabs(expected)))
        fail_msg("row %zu, %s: expected %g, got %g", row, column, expected, value);
}

static bool is_estimate(const struct top_table *table, size_t row, const char *column)
{
    return top_table_at(table, row)->estimates >> top_column_find(column) & 1;
}

TEST(test_cgroups)
{
    _cleanup_(top_table_freep) struct top_table *table = table_of(board, identities, TOP_CGROUPS, false);

    assert_int_equal(top_table_count(table), 3);
    assert_string_equal(top_table_at(table, 0)->label, "/a");
    assert_string_equal(top_table_at(table, 1)->label, "/b");
    check_value(table, 0, "ipc", 2);
    assert_false(is_estimate(table, 0, "ipc"));
    check_value(table, 1, "ipc", 1.28);
    check_value(table, 1, "cpu", 1.5);
    check_value(table, 1, "frequency", 1.5e9);
    check_value(table, 1, "faults", 12);
    check_value(table, 1, "switches", 7);
    check_value(table, 1, "counted", 0.75);
    assert_null(top_table_at(table, 1)->pmu); /* several PMUs */
    assert_string_equal(top_table_at(table, 0)->pmu, "armv8_cortex_a76");
    assert_true(is_estimate(table, 1, "ipc"));
    assert_false(is_estimate(table, 1, "faults"));
    assert_string_equal(top_table_at(table, 1)->names[NAME_UNIT], "b.service");
    assert_string_equal(top_table_at(table, 1)->names[NAME_SLICE], "s.slice");
    assert_string_equal(top_table_at(table, 0)->names[NAME_UNIT], "");
    /* the value of a starved row is unknown, not 0 */
    check_value(table, 2, "ipc", NAN);
    check_value(table, 2, "cpu", NAN);
    assert_false(top_table_has(table, top_column_find("misses")));
    assert_true(top_table_has(table, top_column_find("ipc")));
}

TEST(test_by_pmu)
{
    static const char *const pmus[] = {"armv8_cortex_a76", "armv8_cortex_a55", "armv8_cortex_a76", "software",
                                       "armv8_cortex_a76"};
    _cleanup_(top_table_freep) struct top_table *table = table_of(board, identities, TOP_CGROUPS, true);

    assert_int_equal(top_table_count(table), ARRAY_SIZE(pmus));
    for (size_t i = 0; i < ARRAY_SIZE(pmus); i++)
        assert_string_equal(top_table_at(table, i)->pmu, pmus[i]);
    check_value(table, 1, "ipc", 0.4);
    check_value(table, 2, "ipc", 1.5);
    assert_string_equal(top_table_at(table, 2)->names[NAME_UNIT], "b.service");
}

TEST(test_cpus)
{
    _cleanup_(top_table_freep) struct top_table *table = table_of(board, NULL, TOP_CPUS, true);
    _cleanup_(top_table_freep) struct top_table *pmus = table_of(board, NULL, TOP_PMUS, false);

    assert_int_equal(top_table_count(table), 2);
    assert_string_equal(top_table_at(table, 0)->label, "cpu 9");
    assert_string_equal(top_table_at(table, 1)->label, "cpu 10");
    assert_string_equal(top_table_at(table, 0)->pmu, "armv8_cortex_a76");
    check_value(table, 0, "faults", 5); /* rows of the groups are not added to the total */
    check_value(table, 1, "misses", 5e6);
    assert_int_equal(top_table_count(pmus), 1);
    assert_string_equal(top_table_at(pmus, 0)->target, "armv8_cortex_a76");
    check_value(pmus, 0, "ipc", 2);
    check_value(pmus, 0, "misses", 6e6);
}

static void check_order(struct top_table *table, const char *column, bool reverse, const char *expected)
{
    char names[64] = "";
    size_t used = 0;

    top_table_sort(table, str_equal(column, "name") ? top_column_count() : top_column_find(column), reverse);
    for (size_t i = 0; i < top_table_count(table); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ", top_table_at(table, i)->label);
    assert_string_equal(names, expected);
}

TEST(test_sort)
{
    _cleanup_(top_table_freep) struct top_table *table = table_of(board, NULL, TOP_CGROUPS, false);
    _cleanup_(top_table_freep) struct top_table *cpus = table_of(board, NULL, TOP_CPUS, false);

    check_order(table, "cpu", false, "/b /a /c ");
    check_order(table, "cpu", true, "/a /b /c "); /* unknown values stay last in either order */
    check_order(table, "ipc", false, "/a /b /c ");
    check_order(table, "name", false, "/a /b /c ");
    check_order(table, "name", true, "/c /b /a ");
    check_order(table, "faults", false, "/b /a /c ");
    check_order(cpus, "name", false, "cpu 9 cpu 10 ");
    check_order(cpus, "misses", false, "cpu 10 cpu 9 ");
}

/*
 * An older daemon sends no totals. The row of a cgroup on one PMU shows that PMU's values; the row of a cgroup on
 * several core PMUs shows none of theirs.
 */
TEST(test_without_totals)
{
    json_t *older = json_of(board);

    json_object_del(older, "totals");
    _cleanup_(top_table_freep) struct top_table *table = top_table_new(older, NULL, TOP_CGROUPS, false);
    _cleanup_(top_table_freep) struct top_table *by_pmu = top_table_new(older, NULL, TOP_CGROUPS, true);
    json_decref(older);
    assert_int_equal(top_table_count(table), 3);
    check_value(table, 0, "ipc", 2);
    check_value(table, 1, "ipc", NAN);
    check_value(table, 1, "cpu", NAN);
    check_value(table, 1, "counted", NAN);
    check_value(table, 1, "faults", 12);
    assert_null(top_table_at(table, 1)->pmu);
    check_value(by_pmu, 2, "ipc", 1.5);
}

/* Documents of unexpected shapes produce neither rows nor values. */
TEST(test_other_shapes)
{
    static const char *const documents[] = {
        "3",
        "[]",
        "{}",
        "{'rates': 3}",
        "{'rates': {}}",
        "{'rates': [3, null, [], {}]}",
        "{'rates': ["
        "{'collector': 3, 'cgroup': '/a'}]}",
        "{'rates': ["
        "{'collector': 'cgroup', 'cgroup': 3}, {'collector': 'cpu', 'cpu': '1'}]}",
        "{'rates': ["
        "{'collector': 'cpu', 'cpu': -5}]}",
    };
    static const char half[] = "{'rates': ["
                               "{'collector': 'cgroup', 'cgroup': '/a', 'events': [1], 'ratios': 4},"
                               "{'collector': 'cgroup', 'cgroup': '/a', 'events': {'cycles': 'many'}},"
                               "{'collector': 'cpu', 'cpu': 9223372036854775807}]}";

    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        for (enum top_kind kind = TOP_CGROUPS; kind < N_TOP_KINDS; kind++) {
            _cleanup_(top_table_freep) struct top_table *table = table_of(documents[i], documents[i], kind, false);
            assert_int_equal(top_table_count(table), 0);
        }
    }
    _cleanup_(top_table_freep) struct top_table *table = table_of(half, half, TOP_CGROUPS, false);
    assert_int_equal(top_table_count(table), 1);
    check_value(table, 0, "ipc", NAN);
    _cleanup_(top_table_freep) struct top_table *cpus = table_of(half, NULL, TOP_CPUS, false);
    assert_string_equal(top_table_at(cpus, 0)->label, "cpu 65535");
}

/*
 * Cgroups are shown by name. If another cgroup has the same name, or this name as its path, the path is shown as well.
 */
TEST(test_names)
{
    static const char named[] =
        "{'rates': ["
        "{'collector': 'cgroup', 'cgroup': '/d/1', 'pmu': 'big', 'group': 'g', 'events': {}},"
        "{'collector': 'cgroup', 'cgroup': '/d/1', 'pmu': 'little', 'group': 'g', 'events': {}},"
        "{'collector': 'cgroup', 'cgroup': '/d/2', 'pmu': 'big', 'group': 'g', 'events': {}},"
        "{'collector': 'cgroup', 'cgroup': '/d/3', 'pmu': 'big', 'group': 'g', 'events': {}},"
        "{'collector': 'cgroup', 'cgroup': '/x', 'pmu': 'big', 'group': 'g', 'events': {}},"
        "{'collector': 'cgroup', 'cgroup': '/y', 'pmu': 'big', 'group': 'g', 'events': {}}]}";
    static const char names[] = "{'cgroups': [{'cgroup': '/d/1', 'name': 'shop/db', 'container': 'shop-db-1', "
                                "'container_id': '0123456789abcdef'},"
                                "{'cgroup': '/d/2', 'name': 'web'}, {'cgroup': '/d/3', 'name': 'web'},"
                                "{'cgroup': '/y', 'name': '/x'}, {'cgroup': '/x', 'name': 3}, {'cgroup': '/d/2/x'}]}";
    _cleanup_(top_table_freep) struct top_table *table = table_of(named, names, TOP_CGROUPS, false);
    _cleanup_(top_table_freep) struct top_table *by_pmu = table_of(named, names, TOP_CGROUPS, true);

    assert_string_equal(top_table_at(table, 0)->target, "/d/1");
    assert_string_equal(top_table_at(table, 0)->names[NAME_CONTAINER], "shop-db-1");
    assert_string_equal(top_table_at(table, 0)->id, "0123456789ab");
    assert_string_equal(top_table_at(table, 1)->name, "web");
    assert_string_equal(top_table_at(table, 1)->id, "");
    check_order(table, "name", false, "/x /x /x /y shop/db web /d/2 web /d/3 ");
    check_order(by_pmu, "name", false, "/x /x /x /y shop/db shop/db web /d/2 web /d/3 ");
}

TEST_MAIN(NULL, NULL)
