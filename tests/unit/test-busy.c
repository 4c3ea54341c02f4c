/* SPDX-License-Identifier: Apache-2.0 */
/* CPU busy times, and the clock rates that follow from busy times and cycles. */
#include <math.h>

#include "collectors/rates.h"
#include "perf/busy.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define MS (NSEC_PER_SEC / 1000)

/* Successive readings of CPU 0: idle and stolen time in seconds; NAN: the reading lacks the CPU. */
static const struct {
    struct {
        uint64_t ms;
        double idle, stolen;
    } in[4];
    size_t n;
    bool out_known;
    uint64_t out_ms;
} cases[] = {
    {{{5000, 3, 0}}, 1, true, 0},
    {{{5000, 3, 0}, {6000, 3.25, 0}}, 2, true, 750},
    {{{5000, 3, 1}, {6000, 3.25, 1.5}}, 2, true, 250},
    {{{5000, 3, 0}, {6000, 4, 0}}, 2, true, 0},
    /*
     * /proc/stat may report more idle time than has passed. The excess idle time is counted later, so an idle CPU stays
     * idle.
     */
    {{{5000, 3, 0}, {6000, 4.5, 0}, {7000, 5, 0}}, 3, true, 0},
    {{{5000, 3, 0}, {6000, 3.5, 0}, {7000, 5, 0}}, 3, true, 500},
    /* Idle time includes I/O wait, which may decrease slightly. */
    {{{5000, 3, 0}, {6000, 2.9375, 0}}, 2, true, 1062},
    /* The idle time has restarted at 0. */
    {{{5000, 3, 0}, {6000, 0.5, 0}, {7000, 1, 0}}, 3, true, 500},
    /* A CPU goes offline and returns; the time in between is not counted. */
    {{{5000, 3, 0}, {6000, NAN, 0}}, 2, false, 0},
    {{{5000, 3, 0}, {6000, 3.5, 0}, {90000, NAN, 0}, {91000, 4, 0}}, 4, true, 500},
};

TEST(test_busy_times)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct busy_times times = {0};
        for (size_t k = 0; k < cases[i].n; k++) {
            struct idle_time item[] = {{0, cases[i].in[k].idle, cases[i].in[k].stolen}, {7, 1, 0}};
            const struct idle_times both = {item, 2}, other = {&item[1], 1};
            const struct idle_times *read = isnan(cases[i].in[k].idle) ? &other : &both;
            assert_int_equal(busy_times_add(&times, read, cases[i].in[k].ms * MS), 0);
        }
        const struct busy_time *time = busy_times_find(&times, 0);
        assert_int_equal(time != NULL, cases[i].out_known);
        if (time)
            assert_int_equal(time->total_ns / MS, cases[i].out_ms);
        assert_non_null(busy_times_find(&times, 7));
        assert_null(busy_times_find(&times, 1));
        busy_times_done(&times, NULL);
    }
}

static void write_stat(struct fake_sys *fake, unsigned idle, unsigned other)
{
    fake_file(fake, "/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 %u 0 0 0 0 0 0\ncpu1 0 0 0 %u 0 0 0 0 0 0\n",
              idle, other);
}

/*
 * Lets a second pass on the machine. Returns the clock rate of a CPU, or NAN if it is unknown. `idle` and `other` are
 * the new idle times of the CPUs 0 and 1 in /proc/stat.
 */
static double frequency_after(struct rig *rig, unsigned idle, unsigned other, int cpu)
{
    struct baseline *baseline = baseline_new(rig_read(rig));
    double value = NAN;

    fake_advance(rig->fake, NSEC_PER_SEC);
    write_stat(rig->fake, idle, other);
    const struct snapshot *snapshot = rig_read(rig);
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        struct rates rates;
        double events[8];
        if (snapshot->rows[i]->cpu != cpu || rates_row(baseline, snapshot, snapshot->rows[i], events, &rates) < 0)
            continue;
        for (size_t k = 0; k < rates.n_ratios; k++)
            if (str_equal(rates.ratios[k].name, "cpu_frequency_hertz"))
                value = rates.ratios[k].value;
    }
    baseline_free(baseline);
    return value;
}

static void assert_hertz(double is, double expected)
{
    assert_true(fabs(is - expected) < 1e-6 * expected);
}

#define BUSY "perfcountd_cpu_busy_seconds_total{cpu=\"0\"}"

/* The machine counts 10^9 cycles per second. */
RIG_TEST(test_frequency, fake_machine_two_counters,
         "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: [{name: g, events: cycles}]}}")
{
    struct rig *rig = *state;

    assert_int_equal(series_value(rig_read(rig), BUSY), NOT_SHOWN);
    assert_true(isnan(frequency_after(rig, 1000, 1000, 0)));
    assert_hertz(frequency_after(rig, 1050, 1075, 0), 2e9);
    assert_int_equal(series_value(rig_read(rig), BUSY), NSEC_PER_SEC / 2);
    assert_hertz(frequency_after(rig, 1100, 1150, 1), 4e9);
    /* The clock rate of a CPU that is hardly busy is unknown. */
    assert_true(isnan(frequency_after(rig, 1195, 1175, 0)));
    /* The reading after a failed one includes the busy time that the failed one missed. */
    fake_file(rig->fake, "/proc/stat", "garbled\n");
    fake_advance(rig->fake, NSEC_PER_SEC);
    assert_int_equal(series_value(rig_read(rig), BUSY), NOT_SHOWN);
    assert_true(isnan(frequency_after(rig, 1295, 1275, 0)));
    assert_int_equal(series_value(rig_read(rig), BUSY), 2 * NSEC_PER_SEC + 50 * MS);
    /* If cycles are not counted, busy times are still recorded for the history. */
#define INSTRUCTIONS                                                                                                   \
    "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: [{name: g, events: instructions}]}}"
    rig_configure(rig, INSTRUCTIONS);
    assert_true(isnan(frequency_after(rig, 1295, 1275, 0)));
    assert_int_equal(series_value(rig_read(rig), BUSY), 3 * NSEC_PER_SEC + 50 * MS);
    rig_configure(rig, INSTRUCTIONS "\nhistory: {enabled: false}");
    assert_true(isnan(frequency_after(rig, 1295, 1275, 0)));
    assert_int_equal(series_value(rig_read(rig), BUSY), NOT_SHOWN);
    /* The total continues from its previous value. */
    rig_configure(rig, INSTRUCTIONS);
    assert_int_equal(series_value(rig_read(rig), BUSY), 4 * NSEC_PER_SEC + 50 * MS);
    rig_configure(rig, "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {enabled: false}}");
    fake_advance(rig->fake, NSEC_PER_SEC);
    rig_configure(rig, INSTRUCTIONS);
    assert_int_equal(series_value(rig_read(rig), BUSY), 5 * NSEC_PER_SEC + 50 * MS);
}

/* The utilization of a CPU is known whichever events are counted on it. */
RIG_TEST(test_utilization, fake_machine_two_counters,
         "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: [{name: g, events: page-faults}]}}")
{
    static const double expected[] = {0.5, 0.25};
    struct rig *rig = *state;
    size_t n = 0;

    write_stat(rig->fake, 1000, 1000);
    struct baseline *baseline = baseline_new(rig_read(rig));
    fake_advance(rig->fake, NSEC_PER_SEC);
    write_stat(rig->fake, 1050, 1075);
    const struct snapshot *snapshot = rig_read(rig);
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        struct rates rates;
        double events[8];
        int cpu = snapshot->rows[i]->cpu;
        if (rates_row(baseline, snapshot, snapshot->rows[i], events, &rates) < 0)
            continue;
        if (cpu == 0 || cpu == 1) {
            assert_true(rates_has_cpu_time(snapshot, snapshot->rows[i]));
            assert_true(fabs(rates_cpu_utilization(&rates) - expected[cpu]) < 1e-9);
            n++;
        } else {
            assert_true(isnan(rates_cpu_utilization(&rates)));
        }
    }
    assert_int_equal(n, 2);
    baseline_free(baseline);
}

/* The clock rate of a PMU is the cycle count of all its CPUs divided by their busy time. */
RIG_TEST(test_frequency_of_pmu, fake_machine_two_counters,
         "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: [{name: g, events: cycles}]}}")
{
    struct rig *rig = *state;
    struct totals totals;
    double value = NAN;

    write_stat(rig->fake, 1000, 1000);
    struct baseline *baseline = baseline_new(rig_read(rig));
    fake_advance(rig->fake, NSEC_PER_SEC);
    write_stat(rig->fake, 1050, 1075);
    assert_int_equal(totals_make(baseline, rig_read(rig), TOTALS_BY_PMU, NULL, NULL, &totals), 0);
    assert_int_equal(totals.n, 1);
    for (size_t i = 0; i < metric_set_count(totals.items[0].metric_set); i++)
        if (str_equal(metric_set_metric(totals.items[0].metric_set, i)->name, "cpu_frequency_hertz"))
            value = total_metric(&totals.items[0], i);
    assert_hertz(value, 2e9 / 0.75);
    totals_done(&totals);
    baseline_free(baseline);
}

TEST_MAIN(NULL, NULL)
