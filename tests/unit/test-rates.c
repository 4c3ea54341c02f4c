/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "collectors/rates.h"
#include "tests/unit/test.h"

static const char *const names[] = {"cpu", NULL};

static const struct row_counter counters[] = {
    {"cycles", "cpu", "", 0, 1.0, {"perf_cpu_cycles_total", "C.", "", METRIC_COUNTER}},
    {"instructions", "cpu", "", 0, 1.0, {"perf_cpu_instructions_total", "I.", "", METRIC_COUNTER}},
    {"task_clock",
     "software",
     "seconds",
     9,
     1e-9,
     {"perf_cpu_task_clock_seconds_total", "T.", "seconds", METRIC_COUNTER}},
    {"energy", "power", "joules", SERIES_REAL, 1e-6, {"perf_cpu_energy_joules_total", "E.", "joules", METRIC_COUNTER}},
};

struct reading {
    uint64_t cycles, instructions, task_clock;
    double energy;
    uint64_t enabled, running;
    enum row_state state;
    bool unknown;
};

static const struct {
    const char *name;
    struct reading in_then, in_now;
    uint64_t in_ns;
    double out[4], out_ipc, out_running; /* NAN: none */
} cases[] = {
    {"a second",
     {0},
     {1000, 800, 500000000, 2.5, 1000, 250, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {1000, 800, 0.5, 2.5},
     0.8,
     0.25},
    {"half a second",
     {100, 100, 0, 0, 0, 0, ROW_COUNTING, false},
     {200, 300, 0, 0, 10, 10, ROW_COUNTING, false},
     NSEC_PER_SEC / 2,
     {200, 400, 0, 0},
     2,
     1},
    {"large numbers keep their difference",
     {UINT64_MAX - 3, 0, 0, 0, 0, 0, ROW_COUNTING, false},
     {UINT64_MAX, 3, 0, 0, 5, 5, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {3, 3, 0, 0},
     1,
     1},
    {"an idle target",
     {5, 5, 5, 5, 5, 5, ROW_COUNTING, false},
     {5, 5, 5, 5, 5, 5, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {0, 0, 0, 0},
     NAN,
     NAN},
    {"starved now",
     {5, 5, 5, 5, 5, 5, ROW_COUNTING, false},
     {5, 5, 5, 5, 10, 5, ROW_STARVED, false},
     NSEC_PER_SEC,
     {NAN, NAN, NAN, NAN},
     NAN,
     0},
    {"starved then",
     {5, 5, 5, 5, 5, 5, ROW_STARVED, false},
     {9, 9, 9, 9, 10, 10, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {NAN, NAN, NAN, NAN},
     NAN,
     1},
    {"never known",
     {.unknown = true},
     {9, 9, 9, 9, 10, 10, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {NAN, NAN, NAN, NAN},
     NAN,
     1},
    {"running above enabled", {0}, {1, 1, 0, 0, 10, 11, ROW_COUNTING, false}, NSEC_PER_SEC, {1, 1, 0, 0}, 1, 1},
    {"a fall",
     {10, 0, 0, 0, 0, 0, ROW_COUNTING, false},
     {5, 5, 0, 0, 1, 1, ROW_COUNTING, false},
     NSEC_PER_SEC,
     {NAN, 5, 0, 0},
     NAN,
     1},
    {"no time", {0}, {1, 1, 1, 1, 1, 1, ROW_COUNTING, false}, 0, {NAN, NAN, NAN, NAN}, NAN, 1},
};

static void set(struct row *row, const struct reading *reading)
{
    const uint64_t values[] = {reading->cycles, reading->instructions, reading->task_clock};

    row->enabled_ns = reading->enabled;
    row->running_ns = reading->running;
    row->state = reading->state;
    for (size_t i = 0; i < 4; i++) {
        if (i < 3)
            row->counters[i].value = values[i];
        else
            memcpy(&row->counters[i].value, &reading->energy, sizeof(double));
        row->counters[i].known = !reading->unknown;
    }
}

static void assert_real(double is, double expected)
{
    assert_int_equal(isnan(is), isnan(expected));
    if (!isnan(expected))
        assert_true(fabs(is - expected) <= 1e-12 * fabs(expected));
}

static double ratio(const struct rates *rates, const char *name)
{
    for (size_t i = 0; i < rates->n_ratios; i++)
        if (str_equal(rates->ratios[i].name, name))
            return rates->ratios[i].value;
    return NAN;
}

static void test_rates(void **state)
{
    const struct row_target target = {.group = "g", .pmu = "cpu", .cpu = 0};
    struct rates rates;
    double events[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct snapshot snapshot = {.collector_names = names, .monotonic_ns = 5};
        struct row *row = snapshot_add_row(&snapshot, &target, counters, ARRAY_SIZE(counters));
        print_message("%s\n", cases[i].name);
        set(row, &cases[i].in_then);
        struct baseline *baseline = baseline_new(&snapshot);
        set(row, &cases[i].in_now);
        snapshot.monotonic_ns += cases[i].in_ns;
        assert_real(rates_seconds(baseline, &snapshot), (double)cases[i].in_ns / 1e9);
        assert_int_equal(rates_row(baseline, &snapshot, row, events, &rates), 0);
        for (size_t k = 0; k < ARRAY_SIZE(events); k++)
            assert_real(events[k], cases[i].out[k]);
        assert_real(ratio(&rates, "ipc"), cases[i].out_ipc);
        assert_real(ratio(&rates, "running_ratio"), cases[i].out_running);
        assert_null(baseline_free(baseline));
        snapshot_done(&snapshot);
    }
}

/* Whether the snapshot was paused then and is now, and what that says of a counter that grew. */
static void test_pauses(void **state)
{
    static const struct {
        uint64_t in_then, in_now;
        bool out_known;
    } pauses[] = {{0, 0, true}, {0, 1, false}, {1, 1, false}, {1, 2, false}, {0, 2, false}, {2, 2, true}};
    const struct row_target target = {.group = "g", .pmu = "cpu", .cpu = 0};
    const struct reading then = {0}, now = {1, 1, 1, 1, 1, 1, ROW_COUNTING, false};
    struct rates rates;
    double events[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        struct snapshot snapshot = {.collector_names = names, .pauses = pauses[i].in_then};
        struct row *row = snapshot_add_row(&snapshot, &target, counters, ARRAY_SIZE(counters));
        set(row, &then);
        struct baseline *baseline = baseline_new(&snapshot);
        set(row, &now);
        snapshot.monotonic_ns = NSEC_PER_SEC;
        snapshot.pauses = pauses[i].in_now;
        assert_int_equal(rates_row(baseline, &snapshot, row, events, &rates), 0);
        assert_real(events[0], pauses[i].out_known ? 1 : NAN);
        baseline_free(baseline);
        snapshot_done(&snapshot);
    }
}

static void test_cpu_utilization(void **state)
{
    const struct row_target targets[] = {
        {.group = "g", .pmu = "cpu", .cgroup = "/a", .cpu = -1},
        {.group = "g", .pmu = "cpu", .cpu = 0},
    };
    static const double out[] = {1.5, NAN};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        struct snapshot snapshot = {.collector_names = names};
        struct rates rates;
        double events[4];
        struct row *row = snapshot_add_row(&snapshot, &targets[i], counters, ARRAY_SIZE(counters));
        set(row, &(struct reading){.task_clock = 5});
        struct baseline *baseline = baseline_new(&snapshot);
        set(row, &(struct reading){.task_clock = 5 + 3 * NSEC_PER_SEC});
        snapshot.monotonic_ns = 2 * NSEC_PER_SEC;
        assert_int_equal(rates_row(baseline, &snapshot, row, events, &rates), 0);
        assert_real(ratio(&rates, "cpu_utilization"), out[i]);
        baseline_free(baseline);
        snapshot_done(&snapshot);
    }
}

/* Where the events are not of the same CPUs, there is no ratio of two; a metric of one event stays. */
static void test_uneven(void **state)
{
    const struct row_target target = {.group = "g", .pmu = "cpu", .cgroup = "/a", .cpu = -1};
    struct snapshot snapshot = {.collector_names = names};
    struct rates rates;
    double events[4];

    (void)state;
    struct row *row = snapshot_add_row(&snapshot, &target, counters, ARRAY_SIZE(counters));
    set(row, &(struct reading){0});
    struct baseline *baseline = baseline_new(&snapshot);
    set(row, &(struct reading){4, 2, NSEC_PER_SEC, 0, 5, 5, ROW_COUNTING, false});
    snapshot.monotonic_ns = NSEC_PER_SEC;
    row->uneven = true;
    assert_int_equal(rates_row(baseline, &snapshot, row, events, &rates), 0);
    assert_real(ratio(&rates, "ipc"), NAN);
    assert_real(ratio(&rates, "cpu_utilization"), 1);
    assert_real(ratio(&rates, "running_ratio"), 1);
    baseline_free(baseline);
    snapshot_done(&snapshot);
}

static void test_rows_come_and_go(void **state)
{
    const struct row_target cpu0 = {.group = "g", .pmu = "cpu", .cpu = 0},
                            cpu1 = {.group = "g", .pmu = "cpu", .cpu = 1};
    struct snapshot snapshot = {.collector_names = names};
    struct rates rates;
    double events[4];

    (void)state;
    struct row *first = snapshot_add_row(&snapshot, &cpu0, counters, 4);
    struct row *second = snapshot_add_row(&snapshot, &cpu1, counters, 4);
    struct baseline *baseline = baseline_new(&snapshot);
    uint64_t generation = snapshot.generation;
    snapshot_remove_row(&snapshot, first);
    assert_true(snapshot.generation != generation);
    assert_int_equal(snapshot.n_rows, 1);
    struct row *again = snapshot_add_row(&snapshot, &cpu0, counters, 4);
    snapshot.monotonic_ns += 1;
    assert_int_equal(rates_row(baseline, &snapshot, again, events, &rates), -ENODATA);
    assert_int_equal(rates_row(baseline, &snapshot, second, events, &rates), 0);
    second->absent = true;
    assert_int_equal(rates_row(baseline, &snapshot, second, events, &rates), -ENODATA);
    second->absent = false;
    second->state = ROW_UNAVAILABLE;
    assert_int_equal(rates_row(baseline, &snapshot, second, events, &rates), -ENODATA);
    baseline_free(baseline);
    snapshot_remove_row(&snapshot, again);
    snapshot_remove_row(&snapshot, second);
    assert_int_equal(snapshot.metrics.n, 0);
    snapshot_done(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),  cmocka_unit_test(test_pauses),           cmocka_unit_test(test_cpu_utilization),
        cmocka_unit_test(test_uneven), cmocka_unit_test(test_rows_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
