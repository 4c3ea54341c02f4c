/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of a row between two readings, and the totals of several rows. */
#include <math.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collectors/rates.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

/* --- one row --- */

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

enum { COUNTING = ROW_COUNTING, STARVED = ROW_STARVED, UNKNOWN = N_ROW_STATES };

struct reading {
    uint64_t cycles, instructions, task_clock;
    double energy;
    uint64_t enabled, running;
    unsigned state; /* UNKNOWN: the row has never been read */
};

static const struct {
    const char *name;
    struct reading in_then, in_now;
    double in_seconds, out[4], out_ipc, out_running; /* NAN: unknown */
} cases[] = {
    {"a second", {0}, {1000, 800, 500000000, 2.5, 1000, 250, COUNTING}, 1, {1000, 800, 0.5, 2.5}, 0.8, 0.25},
    {"half a second",
     {.cycles = 100, .instructions = 100},
     {200, 300, 0, 0, 10, 10, COUNTING},
     0.5,
     {200, 400, 0, 0},
     2,
     1},
    {"large numbers", {.cycles = UINT64_MAX - 3}, {UINT64_MAX, 3, 0, 0, 5, 5, COUNTING}, 1, {3, 3, 0, 0}, 1, 1},
    {"idle", {5, 5, 5, 5, 5, 5, COUNTING}, {5, 5, 5, 5, 5, 5, COUNTING}, 1, {0, 0, 0, 0}, NAN, NAN},
    {"starved at the end of the interval",
     {5, 5, 5, 5, 5, 5, COUNTING},
     {5, 5, 5, 5, 10, 5, STARVED},
     1,
     {NAN, NAN, NAN, NAN},
     NAN,
     0},
    {"starved at the start of the interval",
     {5, 5, 5, 5, 5, 5, STARVED},
     {9, 9, 9, 9, 10, 10, COUNTING},
     1,
     {NAN, NAN, NAN, NAN},
     NAN,
     1},
    {"unknown at the start of the interval",
     {.state = UNKNOWN},
     {9, 9, 9, 9, 10, 10, COUNTING},
     1,
     {NAN, NAN, NAN, NAN},
     NAN,
     1},
    {"running time above enabled time", {0}, {1, 1, 0, 0, 10, 11, COUNTING}, 1, {1, 1, 0, 0}, 1, 1},
    {"a counter that decreases", {.cycles = 10}, {5, 5, 0, 0, 1, 1, COUNTING}, 1, {NAN, 5, 0, 0}, NAN, 1},
    {"an empty interval", {0}, {1, 1, 1, 1, 1, 1, COUNTING}, 0, {NAN, NAN, NAN, NAN}, NAN, 1},
};

static void set(struct row *row, const struct reading *reading)
{
    const uint64_t values[] = {reading->cycles, reading->instructions, reading->task_clock};

    row->enabled_ns = reading->enabled;
    row->running_ns = reading->running;
    row->state = reading->state == UNKNOWN ? ROW_COUNTING : (enum row_state)reading->state;
    for (size_t i = 0; i < 3; i++)
        row->counters[i].value = values[i];
    memcpy(&row->counters[3].value, &reading->energy, sizeof(double));
    for (size_t i = 0; i < 4; i++)
        row->counters[i].known = reading->state != UNKNOWN;
}

struct interval {
    struct snapshot snapshot;
    struct row *row;
    struct baseline *baseline;
    struct rates rates;
    double events[4];
};

static void begin(struct interval *interval, const char *cgroup, const struct reading *then, uint64_t pauses)
{
    const struct row_target target = {.group = "g", .pmu = "cpu", .cgroup = cgroup, .cpu = cgroup ? -1 : 0};

    *interval = (struct interval){.snapshot = {.collector_names = names, .monotonic_ns = 5, .pauses = pauses}};
    interval->row = snapshot_add_row(&interval->snapshot, &target, counters, ARRAY_SIZE(counters));
    set(interval->row, then);
    interval->baseline = baseline_new(&interval->snapshot);
}

static void end(struct interval *interval, const struct reading *now, double seconds)
{
    set(interval->row, now);
    interval->snapshot.monotonic_ns += (uint64_t)(seconds * 1e9);
    assert_int_equal(
        rates_row(interval->baseline, &interval->snapshot, interval->row, interval->events, &interval->rates), 0);
}

static void done(struct interval *interval)
{
    baseline_free(interval->baseline);
    snapshot_done(&interval->snapshot);
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

TEST(test_rates)
{
    struct interval interval;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].name);
        begin(&interval, NULL, &cases[i].in_then, 0);
        end(&interval, &cases[i].in_now, cases[i].in_seconds);
        assert_real(rates_seconds(interval.baseline, &interval.snapshot), cases[i].in_seconds);
        for (size_t k = 0; k < ARRAY_SIZE(interval.events); k++)
            assert_real(interval.events[k], cases[i].out[k]);
        assert_real(ratio(&interval.rates, "ipc"), cases[i].out_ipc);
        assert_real(ratio(&interval.rates, "running_ratio"), cases[i].out_running);
        assert_real(ratio(&interval.rates, "cpu_utilization"), NAN); /* rows of CPUs have no such metric */
        done(&interval);
    }
}

/* `pauses` is odd during a pause. A rate is unknown if the interval overlaps a pause. */
TEST(test_pauses)
{
    static const struct {
        uint64_t in_then, in_now;
        bool out_known;
    } pauses[] = {{0, 0, true}, {0, 1, false}, {1, 1, false}, {1, 2, false}, {0, 2, false}, {2, 2, true}};
    struct interval interval;

    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        begin(&interval, NULL, &(struct reading){0}, pauses[i].in_then);
        interval.snapshot.pauses = pauses[i].in_now;
        end(&interval, &(struct reading){1, 1, 1, 1, 1, 1, COUNTING}, 1);
        assert_real(interval.events[0], pauses[i].out_known ? 1 : NAN);
        done(&interval);
    }
}

/*
 * If a collector fails at either end of an interval, its rates are unknown, as the counts of a failed collector are
 * stale.
 */
TEST(test_failures)
{
    static const struct {
        uint32_t in_then, in_now;
        bool out_known;
    } failed[] = {{0, 0, true}, {0, 1, false}, {1, 1, false}, {1, 0, false}, {2, 2, true}};
    struct interval interval;

    for (size_t i = 0; i < ARRAY_SIZE(failed); i++) {
        begin(&interval, NULL, &(struct reading){0}, 0);
        baseline_free(interval.baseline);
        interval.snapshot.metrics.failed = failed[i].in_then;
        interval.baseline = baseline_new(&interval.snapshot);
        interval.snapshot.metrics.failed = failed[i].in_now;
        end(&interval, &(struct reading){1, 1, 1, 1, 1, 1, COUNTING}, 1);
        assert_real(interval.events[0], failed[i].out_known ? 1 : NAN);
        assert_real(ratio(&interval.rates, "running_ratio"), failed[i].in_now & 1 ? NAN : 1);
        done(&interval);
    }
}

/* If two events were counted on different CPUs, their ratio is unknown, but a metric of only one of them is known. */
TEST(test_cgroup)
{
    struct interval interval;

    for (int uneven = 0; uneven < 2; uneven++) {
        begin(&interval, "/a", &(struct reading){0}, 0);
        interval.row->uneven = uneven;
        end(&interval, &(struct reading){4, 2, 3 * NSEC_PER_SEC, 0, 5, 5, COUNTING}, 2);
        assert_real(ratio(&interval.rates, "ipc"), uneven ? NAN : 0.5);
        assert_real(ratio(&interval.rates, "cpu_utilization"), 1.5);
        assert_real(ratio(&interval.rates, "running_ratio"), 1);
        done(&interval);
    }
}

TEST(test_rows_come_and_go)
{
    const struct row_target cpu0 = {.group = "g", .pmu = "cpu", .cpu = 0},
                            cpu1 = {.group = "g", .pmu = "cpu", .cpu = 1};
    struct snapshot snapshot = {.collector_names = names};
    struct rates rates;
    double events[4];

    struct row *first = snapshot_add_row(&snapshot, &cpu0, counters, 4);
    struct row *second = snapshot_add_row(&snapshot, &cpu1, counters, 4);
    struct baseline *baseline = baseline_new(&snapshot);
    snapshot_remove_row(&snapshot, first);
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
    snapshot_done(&snapshot);
}

/* --- totals --- */

struct counted {
    const char *pmu, *group, *cgroup;
    int cpu;
    double first, second; /* cycles and instructions; in the group faults, `first` is the number of page faults */
    double running;       /* running time in two seconds; 0: starved; -1: an event could not be opened */
    bool unknown;         /* the value of the first event was unknown in the first reading */
};

#define C "core"
#define F "faults"

/*
 * For each total, `out` has the CPUs, cgroup, number of rows, growth of both events, ipc, and share of the enabled time
 * that was counted, and ">N" if the next total of the same block is total N.
 */
static const struct {
    const char *name;
    enum totals_order in_order;
    struct counted in[5];
    const char *out;
} totals_cases[] = {
    /* The ipc of a total is the ratio of the sums, 800 / 4000, not the mean of the ratios 0.5 and 0.1. */
    {"two kinds of core and software events",
     TOTALS_BY_PMU,
     {{"a55", C, NULL, 0, 1000, 500, 2, false},
      {"a55", C, NULL, 1, 3000, 300, 1, false},
      {"a76", C, NULL, 2, 10, 40, 2, false},
      {"a76", C, NULL, 3, 0, 0, 2, false},
      {"software", F, NULL, 3, 7, 0, 2, false}},
     "0-1  2: 4000 800 ipc 0.2 share 0.75; 2-3  2: 10 40 ipc 4 share 1; 3  1: 7 ipc nan share 1; "},
    {"a row per CPU, grouped by PMU",
     TOTALS_BY_CPU,
     {{"a76", C, NULL, 0, 100, 0, 2, false},
      {"a55", C, NULL, 1, 100, 1, 2, false},
      {"a76", C, NULL, 2, 100, 2, 2, false},
      {"a55", C, NULL, 3, 100, 3, 2, false}},
     "0  1: 100 0 ipc 0 share 1>2; 1  1: 100 1 ipc 0.01 share 1>3; 2  1: 100 2 ipc 0.02 share 1; "
     "3  1: 100 3 ipc 0.03 share 1; "},
    {"the groups of a cgroup in one block, summed over PMUs",
     TOTALS_BY_CGROUP,
     {{"a55", C, "/x", -1, 100, 50, 2, false},
      {"a55", C, "/y", -1, 8, 2, 2, false},
      {"a76", C, "/x", -1, 300, 550, 2, false},
      {"software", F, "/x", -1, 9, 0, 2, false}},
     " /x 2: 400 600 ipc 1.5 share 1>2;  /y 1: 8 2 ipc 0.25 share 1;  /x 1: 9 ipc nan share 1; "},
    {"totals of the CPUs per PMU follow those of the cgroups",
     TOTALS_BY_CGROUP,
     {{"a55", C, NULL, 0, 100, 50, 2, false},
      {"a55", C, "/x", -1, 1, 1, 2, false},
      {"a55", C, NULL, 1, 300, 50, 2, false},
      {"a76", C, NULL, 2, 8, 2, 2, false},
      {"a76", C, "/x", -1, 1, 3, 2, false}},
     "0-1  2: 400 100 ipc 0.25 share 1;  /x 2: 2 4 ipc 2 share 1; 2  1: 8 2 ipc 0.25 share 1; "},
    {"a starved CPU is excluded from the sum, and the share shows that",
     TOTALS_BY_PMU,
     {{"a", C, NULL, 0, 100, 50, 2, false}, {"a", C, NULL, 1, 0, 0, 0, false}},
     "0-1  2: 100 50 ipc 0.5 share 0.5; "},
    {"all CPUs are starved",
     TOTALS_BY_PMU,
     {{"a", C, NULL, 0, 100, 50, 0, false}, {"a", C, NULL, 1, 0, 0, 0, false}},
     "0-1  2: nan nan ipc nan share 0; "},
    {"one event is unknown on a CPU: both events have sums, but no ratio",
     TOTALS_BY_PMU,
     {{"a", C, NULL, 0, 100, 50, 2, false}, {"a", C, NULL, 1, 100, 50, 2, true}},
     "0-1  2: 100 100 ipc nan share 1; "},
    {"events that cannot be opened are listed in the block of their PMU",
     TOTALS_BY_PMU,
     {{"a", C, NULL, 0, 1, 1, 2, false}, {"a", C, NULL, 0, .running = -1}, {"a", C, NULL, 1, .running = -1}},
     "0  1: 1 1 ipc 1 share 1>1; 0-1  2: nan ipc nan share nan; "},
};

static void append_real(struct buffer *out, const char *before, double value)
{
    buffer_append_text(out, before);
    if (isnan(value))
        buffer_append_text(out, "nan");
    else
        buffer_appendf(out, "%g", value);
}

static double metric(const struct total *total, const char *name)
{
    for (size_t i = 0; total->metric_set && i < metric_set_count(total->metric_set); i++)
        if (str_equal(metric_set_metric(total->metric_set, i)->name, name))
            return total_metric(total, i);
    return NAN;
}

static char *show_totals(const struct totals *totals)
{
    struct buffer out = {0};

    for (size_t i = 0; i < totals->n; i++) {
        const struct total *total = &totals->items[i];
        _cleanup_(freep) char *cpus = cpuset_format(&total->cpus);
        buffer_appendf(&out, "%s %s %zu:", cpus, total->row->cgroup ? total->row->cgroup : "", total->n_rows);
        for (size_t k = 0; k < total->n_events; k++)
            append_real(&out, " ", total_growth(totals, total, k));
        append_real(&out, " ipc ", metric(total, "ipc"));
        append_real(&out, " share ", total_share(total));
        if (total->next != TOTAL_END) {
            buffer_appendf(&out, ">%u", total->next);
            assert_int_equal(totals->items[total->next].first, total->first);
        }
        buffer_append_text(&out, "; ");
    }
    return buffer_string(&out);
}

TEST(test_totals)
{
    for (size_t i = 0; i < ARRAY_SIZE(totals_cases); i++) {
        _cleanup_(readings_done) struct readings readings;
        _cleanup_(totals_done) struct totals totals = {0};
        const struct counted *in = totals_cases[i].in;
        struct row *rows[5] = {NULL};
        print_message("%s\n", totals_cases[i].name);
        readings_init(&readings);
        for (size_t k = 0; k < 5 && in[k].pmu; k++) {
            if (in[k].running < 0) {
                readings_refuse(&readings, in[k].pmu, in[k].group, in[k].cpu, "branches");
                continue;
            }
            const char *events = str_equal(in[k].group, F) ? "page_faults" : "cycles,instructions";
            rows[k] = readings_add(&readings, in[k].pmu, in[k].group, in[k].cgroup, in[k].cpu, events);
            rows[k]->counters[0].known = !in[k].unknown;
        }
        readings_begin(&readings);
        for (size_t k = 0; k < 5; k++)
            if (rows[k])
                readings_count(rows[k], in[k].first, in[k].second, in[k].running);
        assert_int_equal(
            totals_make(readings.baseline, &readings.snapshot, totals_cases[i].in_order, NULL, NULL, &totals), 0);
        _cleanup_(freep) char *shown = show_totals(&totals);
        assert_string_equal(shown, totals_cases[i].out);
    }
}

/*
 * Not all PMUs of a cgroup count the same events of a group. Events that all PMUs of the cgroup count have a sum and a
 * ratio. An event of a single PMU has a sum of its own, but no ratio to the other events.
 */
TEST(test_totals_mixed)
{
    _cleanup_(readings_done) struct readings readings;
    _cleanup_(totals_done) struct totals totals = {0};

    readings_init(&readings);
    struct row *little = readings_add(&readings, "a55", C, "/x", -1, "cycles,instructions");
    struct row *big = readings_add(&readings, "a76", C, "/x", -1, "instructions,cycles,branch_misses");
    struct row *other = readings_add(&readings, "a76", C, "/y", -1, "instructions,cycles,branch_misses");
    readings_begin(&readings);
    readings_count(little, 100, 50, 2);
    readings_count(big, 550, 300, 1);
    big->counters[2].value = 11;
    readings_count(other, 2000, 1000, 2);
    other->counters[2].value = 8;
    assert_int_equal(totals_make(readings.baseline, &readings.snapshot, TOTALS_BY_CGROUP, NULL, NULL, &totals), 0);
    _cleanup_(freep) char *shown = show_totals(&totals);
    assert_string_equal(shown, " /x 2: 400 600 11 ipc 1.5 share 0.75;  /y 1: 2000 1000 8 ipc 2 share 1; ");
    assert_real(metric(&totals.items[0], "branch_mpki"), NAN);
    assert_real(metric(&totals.items[1], "branch_mpki"), 4);
    assert_real(metric(&totals.items[0], "running_ratio"), 0.75);
    assert_int_equal(totals.items[0].n_pmus, 2);
    assert_string_equal(totals.items[0].pmus[1], "a76");
    assert_int_equal(totals.n_metric_sets, 1);
}

TEST_MAIN(NULL, NULL)
