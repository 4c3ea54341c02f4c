/* SPDX-License-Identifier: Apache-2.0 */
/* The table of cgroups that `perfcountd stat` prints, where there is no terminal. */
#include "base/cleanup.h"
#include "collectors/names/names.h"
#include "daemon/command/stat-cgroups.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

static void expect(const struct readings *readings, const struct order *order, const char *expected)
{
    _cleanup_(totals_done) struct totals totals = {0};
    _cleanup_(fclosep) FILE *file = tmpfile();
    char text[8192] = "";

    assert_non_null(file);
    assert_int_equal(totals_make(readings->baseline, &readings->snapshot, TOTALS_BY_CGROUP, NULL, NULL, &totals), 0);
    assert_int_equal(stat_cgroups_print(&totals, order, file), 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_string_equal(text, expected);
}

/* Two kinds of core; the last cgroup slept, and its maker thinks of our terminal. */
static void add_cgroups(struct readings *readings)
{
    static const char *const paths[] = {"/a.slice", "/b.slice", "/c\033[31m\n\xff.slice"};
    struct row *rows[3][3];

    for (size_t i = 0; i < 3; i++) {
        rows[i][0] =
            readings_add(readings, "armv8_cortex_a55", "core", paths[i], -1, "task_clock:seconds,cycles,instructions");
        rows[i][1] =
            readings_add(readings, "armv8_cortex_a76", "core", paths[i], -1, "task_clock:seconds,cycles,instructions");
        rows[i][2] = readings_add(readings, "software", "software", paths[i], -1, "context_switches,minor_faults");
    }
    readings_begin(readings);
    for (size_t i = 0; i < 2; i++) {
        rows[i][0]->counters[2].value = 1000000000 * (i + 1);
        readings_count(rows[i][0], 1, 1e9, 2);
        rows[i][1]->counters[2].value = 3000000000 * (i + 1);
        readings_count(rows[i][1], 1, 3e9, 2);
        readings_count(rows[i][2], 100, 3000 / ((double)i + 1), 2);
    }
    for (size_t k = 0; k < 3; k++)
        readings_count(rows[2][k], 0, 0, 2);
}

static void test_table(void **state)
{
    _cleanup_(readings_done) struct readings readings;

    (void)state;
    readings_init(&readings);
    add_cgroups(&readings);
    expect(&readings, &(struct order){0},
           "       frequency_         cpu_    context_    minor_\n"
           "  ipc       hertz  utilization  switches/s  faults/s  cgroup\n"
           "1.000     2.000 G        1.000          50   1.500 k  /a.slice\n"
           "2.000     2.000 G        1.000          50       750  /b.slice\n"
           "    -           -        0.000           0         0  /c\\x1b[31m\\x0a\\xff.slice\n");
    expect(&readings, &(struct order){.sort = "ipc", .limit = 1},
           "       frequency_         cpu_    context_    minor_\n"
           "  ipc       hertz  utilization  switches/s  faults/s  cgroup\n"
           "2.000     2.000 G        1.000          50       750  /b.slice\n");
}

/* A value that is not known comes last; the event to sort by is a column, although a metric is made of it. */
static void test_order(void **state)
{
    _cleanup_(readings_done) struct readings readings;

    (void)state;
    readings_init(&readings);
    add_cgroups(&readings);
    expect(&readings, &(struct order){.sort = "instructions", .limit = 2},
           "       frequency_         cpu_                    context_    minor_\n"
           "  ipc       hertz  utilization  instructions/s  switches/s  faults/s  cgroup\n"
           "2.000     2.000 G        1.000         4.000 G          50       750  /b.slice\n"
           "1.000     2.000 G        1.000         2.000 G          50   1.500 k  /a.slice\n");
    expect(&readings, &(struct order){.sort = "ipc", .ascending = true, .given = true},
           "       frequency_         cpu_    context_    minor_\n"
           "  ipc       hertz  utilization  switches/s  faults/s  cgroup\n"
           "1.000     2.000 G        1.000          50   1.500 k  /a.slice\n"
           "2.000     2.000 G        1.000          50       750  /b.slice\n"
           "    -           -        0.000           0         0  /c\\x1b[31m\\x0a\\xff.slice\n");
}

/* Names stand before the paths, where a cgroup has one. */
static void test_names(void **state)
{
    static char shop[] = "shop", hostile[] = "d\033[2Jb";
    static const struct names names = {.texts = {[NAME_COMPOSE_PROJECT] = shop, [NAME_COMPOSE_SERVICE] = hostile}};
    static const struct names unknown = {0};
    _cleanup_(readings_done) struct readings readings;

    (void)state;
    readings_init(&readings);
    add_cgroups(&readings);
    for (size_t i = 0; i < readings.snapshot.n_rows; i++)
        readings.snapshot.rows[i]->names = i < 3 ? &names : &unknown;
    expect(&readings, &(struct order){.sort = "ipc", .limit = 2},
           "       frequency_         cpu_    context_    minor_\n"
           "  ipc       hertz  utilization  switches/s  faults/s  name            cgroup\n"
           "2.000     2.000 G        1.000          50       750                  /b.slice\n"
           "1.000     2.000 G        1.000          50   1.500 k  shop/d\\x1b[2Jb  /a.slice\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
