/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are added up, and the metrics of sums. */
#include <math.h>

#include "base/cleanup.h"
#include "collectors/totals.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

static struct row *add_row(struct readings *readings, const char *pmu, const char *group, const char *cgroup, int cpu)
{
    return readings_add(readings, pmu, group, cgroup, cpu,
                        str_equal(group, "faults") ? "page_faults" : "cycles,instructions");
}

static double metric(const struct total *total, const char *name)
{
    for (size_t i = 0; total->derivation && i < derivation_count(total->derivation); i++)
        if (str_equal(derivation_metric(total->derivation, i)->name, name))
            return total_metric(total, i);
    return NAN;
}

static void assert_cpus(const struct total *total, const char *expected)
{
    _cleanup_(freep) char *text = cpuset_format(&total->cpus);

    assert_string_equal(text, expected);
}

static void make(const struct readings *readings, enum totals_order order, struct totals *ret)
{
    assert_int_equal(totals_make(readings->baseline, &readings->snapshot, order, NULL, NULL, ret), 0);
}

/* Two kinds of core, and software events of all CPUs. */
static void test_by_pmu(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};
    struct row *rows[5];

    (void)state;
    readings_init(&readings);
    for (int cpu = 0; cpu < 4; cpu++)
        rows[cpu] = add_row(&readings, cpu < 2 ? "a55" : "a76", "core", NULL, cpu);
    rows[4] = add_row(&readings, "software", "faults", NULL, 3);
    readings_begin(&readings);
    readings_count(rows[0], 1000, 500, 2);
    readings_count(rows[1], 3000, 300, 1);
    readings_count(rows[2], 10, 40, 2);
    readings_count(rows[3], 0, 0, 2);
    readings_count(rows[4], 7, 0, 2);
    make(&readings, TOTALS_BY_PMU, &totals);
    assert_int_equal(totals.n, 3);
    assert_cpus(&totals.items[0], "0-1");
    assert_cpus(&totals.items[1], "2-3");
    assert_true(total_growth(&totals, &totals.items[0], 0) == 4000);
    assert_true(total_growth(&totals, &totals.items[0], 1) == 800);
    /* A ratio of sums: the mean of 0.5 and 0.1 would be 0.3. */
    assert_true(metric(&totals.items[0], "ipc") == 0.2);
    assert_true(total_share(&totals.items[0]) == 0.75);
    assert_true(metric(&totals.items[1], "ipc") == 4);
    assert_true(total_share(&totals.items[1]) == 1);
    assert_true(total_growth(&totals, &totals.items[2], 0) == 7);
    assert_true(isnan(metric(&totals.items[2], "ipc")));
    for (uint32_t i = 0; i < 3; i++)
        assert_true(totals.items[i].first == i && totals.items[i].next == TOTAL_END);
}

/* One row for each CPU, and the rows of a PMU in one block. */
static void test_by_cpu(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};
    static const uint32_t first[] = {0, 1, 0, 1}, next[] = {2, 3, TOTAL_END, TOTAL_END};

    (void)state;
    readings_init(&readings);
    for (int cpu = 0; cpu < 4; cpu++)
        add_row(&readings, cpu % 2 ? "a55" : "a76", "core", NULL, cpu);
    readings_begin(&readings);
    for (int cpu = 0; cpu < 4; cpu++)
        readings_count(readings.snapshot.rows[cpu], 100, (uint64_t)cpu, 2);
    make(&readings, TOTALS_BY_CPU, &totals);
    assert_int_equal(totals.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(totals.items[i].row->cpu, (int)i);
        assert_int_equal(totals.items[i].first, first[i]);
        assert_int_equal(totals.items[i].next, next[i]);
        assert_true(total_growth(&totals, &totals.items[i], 1) == (double)i);
    }
}

/* The groups of a cgroup are a block; its PMUs are added up. */
static void test_by_cgroup(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};

    (void)state;
    readings_init(&readings);
    struct row *little = add_row(&readings, "a55", "core", "/x", -1);
    struct row *other = add_row(&readings, "a55", "core", "/y", -1);
    struct row *big = add_row(&readings, "a76", "core", "/x", -1);
    struct row *faults = add_row(&readings, "software", "faults", "/x", -1);
    readings_begin(&readings);
    readings_count(little, 100, 50, 2);
    readings_count(big, 300, 550, 2);
    readings_count(other, 8, 2, 2);
    readings_count(faults, 9, 0, 2);
    make(&readings, TOTALS_BY_CGROUP, &totals);
    assert_int_equal(totals.n, 3);
    assert_string_equal(totals.items[0].row->cgroup, "/x");
    assert_int_equal(totals.items[0].n_rows, 2);
    assert_true(metric(&totals.items[0], "ipc") == 1.5);
    assert_true(metric(&totals.items[1], "ipc") == 0.25);
    assert_int_equal(totals.items[0].next, 2);
    assert_int_equal(totals.items[2].first, 0);
    assert_true(total_growth(&totals, &totals.items[2], 0) == 9);
}

/* A starved CPU is left out of the sum, and the sum says so. */
static void test_starved(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0}, none = {0};

    (void)state;
    readings_init(&readings);
    struct row *one = add_row(&readings, "a", "core", NULL, 0), *two = add_row(&readings, "a", "core", NULL, 1);
    readings_begin(&readings);
    readings_count(one, 100, 50, 2);
    readings_count(two, 0, 0, 0);
    make(&readings, TOTALS_BY_PMU, &totals);
    assert_int_equal(totals.items[0].n_rows, 2);
    assert_int_equal(totals.items[0].known[0], 1);
    assert_true(total_growth(&totals, &totals.items[0], 0) == 100);
    assert_true(metric(&totals.items[0], "ipc") == 0.5);
    assert_true(total_share(&totals.items[0]) == 0.5);
    one->state = ROW_STARVED;
    make(&readings, TOTALS_BY_PMU, &none);
    assert_true(isnan(total_growth(&none, &none.items[0], 0)));
    assert_true(isnan(metric(&none.items[0], "ipc")));
}

/* One event is known of fewer CPUs than the other: both sums stand, their ratio does not. */
static void test_unequal(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};

    (void)state;
    readings_init(&readings);
    struct row *one = add_row(&readings, "a", "core", NULL, 0), *two = add_row(&readings, "a", "core", NULL, 1);
    two->counters[0].known = false;
    readings_begin(&readings);
    readings_count(one, 100, 50, 2);
    readings_count(two, 100, 50, 2);
    make(&readings, TOTALS_BY_PMU, &totals);
    assert_true(total_growth(&totals, &totals.items[0], 0) == 100);
    assert_true(total_growth(&totals, &totals.items[0], 1) == 100);
    assert_true(isnan(metric(&totals.items[0], "ipc")));
}

/* Events that could not be opened stand in the block of their PMU. */
static void test_unavailable(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};

    (void)state;
    readings_init(&readings);
    for (int cpu = 0; cpu < 2; cpu++) {
        add_row(&readings, "a", "core", NULL, cpu);
        readings_refuse(&readings, "a", "core", cpu, "branches");
    }
    readings_begin(&readings);
    make(&readings, TOTALS_BY_PMU, &totals);
    assert_int_equal(totals.n, 2);
    assert_int_equal(totals.items[0].next, 1);
    assert_int_equal(totals.items[1].row->state, ROW_UNAVAILABLE);
    assert_cpus(&totals.items[1], "0-1");
    assert_true(isnan(total_growth(&totals, &totals.items[1], 0)));
    assert_null(totals.items[1].derivation);
}

static bool is_of_x(const void *userdata, const struct row *row)
{
    return row->cgroup && str_equal(row->cgroup, userdata);
}

static void test_chosen(void **state)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};

    (void)state;
    readings_init(&readings);
    add_row(&readings, "a", "core", NULL, 0);
    add_row(&readings, "a", "core", "/x", -1);
    add_row(&readings, "a", "core", "/y", -1);
    readings_begin(&readings);
    add_row(&readings, "software", "faults", "/x", -1); /* was not there at the baseline */
    assert_int_equal(totals_make(readings.baseline, &readings.snapshot, TOTALS_BY_CGROUP, is_of_x, "/x", &totals), 0);
    assert_int_equal(totals.n, 1);
    assert_string_equal(totals.items[0].row->cgroup, "/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_pmu),  cmocka_unit_test(test_by_cpu),  cmocka_unit_test(test_by_cgroup),
        cmocka_unit_test(test_starved), cmocka_unit_test(test_unequal), cmocka_unit_test(test_unavailable),
        cmocka_unit_test(test_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
