/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of cgroups that a tally counts: what their rows show of what the slots had. */
#include <stdio.h>

#include "tests/unit/state-steps.h"
#include "tests/unit/tallied-rig.h"
#include "tests/unit/test.h"

#define ONE(counts) (&(counts)), 1

/* Values and times are summed over CPUs, the digits behind the point too; 0 is a value before anything ran. */
static void test_sums(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_one_pmu(),
                     TALLIED("[{name: core, events: '{cycles,instructions}'}, {name: software, events: faults}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a");
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 0);
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){100, 100}, 7);
    tallied_rig_credit(&rig, ONE(a), 3, "core", (struct scale_times){50, 50}, 5);
    tallied_rig_credit(&rig, ONE(a), 3, "software", (struct scale_times){50, 50}, 2);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 0);
    tallied_counts_update(a);
    const struct row *row = tallied_row(&rig, "/a", "cpu", "core");
    assert_int_equal(tallied_value(&rig, "/a", "instructions", "cpu", "core"), 12);
    assert_int_equal(tallied_value(&rig, "/a", "page_faults", "software", "software"), 2);
    assert_int_equal(tallied_value(&rig, "/a", "group_enabled_seconds", "cpu", "core"), 150);
    assert_int_equal(row->state, ROW_COUNTING);
    assert_int_equal(row->n_descriptors, 0);
    /* A half on each of two CPUs. */
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){3, 2}, 1);
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){3, 2}, 1);
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 15);
    assert_int_equal(row->counters[0].raw, 14);
    assert_int_equal(row->state, ROW_MULTIPLEXED);
    assert_int_equal(row->running_ns, 154);
    /* A value that comes before its time is not lost, and not more than it is. */
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){0, 0}, 1000);
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){9, 10}, 1);
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 1016);
    assert_int_equal(row->state, ROW_COUNTING);
    tallied_rig_close(&rig, a);
    tallied_rig_done(&rig);
}

static void check_state(const struct tallied_rig *rig, struct tallied_counts *counts, const char *cgroup,
                        enum row_state expected, uint64_t value)
{
    const struct row *row = tallied_row(rig, cgroup, "cpu", "core");
    size_t states[N_ROW_STATES] = {0};

    tallied_counts_update(counts);
    assert_int_equal(row->state, expected);
    assert_int_equal(row->cause != NULL, expected == ROW_STARVED);
    assert_int_equal(tallied_value(rig, cgroup, "cycles", "cpu", "core"), value);
    assert_true(tallied_value(rig, cgroup, "group_enabled_seconds", "cpu", "core") < NOT_SHOWN);
    assert_true(row->counters[0].known);
    tallied_counts_add_states(counts, states);
    assert_int_equal(states[expected], 1);
}

/* As the row of a cgroup on which the groups are opened. */
static void test_states(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED("[{name: core, events: cycles}]"));
    /* The tasks are those of a cgroup inside: what is above it shows the same. */
    struct tallied_counts *chain[] = {tallied_rig_open(&rig, "/a/b"), tallied_rig_open(&rig, "/a")};
    for (size_t i = 0; i < ARRAY_SIZE(state_steps); i++) {
        const struct state_step *step = &state_steps[i];
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            uint64_t ran = step->in[cpu] == RAN ? 10 : 0;
            if (step->in[cpu] != IDLE)
                tallied_rig_credit(&rig, chain, 2, cpu, "core", (struct scale_times){10, ran}, ran);
        }
        check_state(&rig, chain[0], "/a/b", step->out, step->out_value);
        check_state(&rig, chain[1], "/a", step->out, step->out_value);
    }
    tallied_rig_close(&rig, chain[0]);
    tallied_rig_close(&rig, chain[1]);
    tallied_rig_done(&rig);
}

/* Tasks of a cgroup itself wait, and those of one inside run: the row counts, and the time waits on. */
static void test_waits_beside(void **state)
{
    static const enum row_state expected[] = {ROW_MULTIPLEXED, ROW_COUNTING};
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED("[{name: core, events: cycles}]"));
    struct tallied_counts *chain[] = {tallied_rig_open(&rig, "/a/b"), tallied_rig_open(&rig, "/a")};
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){30, 0}, 0);
    for (size_t i = 0; i < 2; i++) {
        tallied_rig_credit(&rig, chain, 2, 0, "core", (struct scale_times){10, 10}, 5);
        check_state(&rig, chain[1], "/a", expected[i], 5 + 5 * i);
    }
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){10, 10}, 1);
    check_state(&rig, chain[1], "/a", ROW_MULTIPLEXED, 10 + 4);
    tallied_rig_close(&rig, chain[0]);
    tallied_rig_close(&rig, chain[1]);
    tallied_rig_done(&rig);
}

/* Before anything ran, nothing is known. */
static void test_never_ran(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED("[{name: core, events: cycles}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a");
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 0}, 0);
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){10, 0}, 0);
    tallied_counts_update(a);
    assert_false(tallied_row(&rig, "/a", "cpu", "core")->counters[0].known);
    assert_non_null(tallied_row(&rig, "/a", "cpu", "core")->cause);
    tallied_rig_close(&rig, a);
    tallied_rig_done(&rig);
}

/* A group that cannot be read on one CPU is missing in all rows, with the cause; later it is there again. */
static void test_unreadable(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED("[{name: core, events: 'cycles:D'}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a"), *idle = tallied_rig_open(&rig, "/idle");
    const struct row *row = tallied_row(&rig, "/a", "cpu", "core");
    for (unsigned cpu = 0; cpu < 2; cpu++)
        tallied_rig_credit(&rig, ONE(a), cpu, "core", (struct scale_times){10, 10}, 10);
    tallied_counts_update(a);
    tallied_counts_update(idle);
    assert_null(row->cause);
    fake_fail(rig.tally.rig.fake, (struct fake_failure){.call = FAKE_READ, .on_cpu = true, .cpu = 0});
    tallied_rig_read(&rig);
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){10, 10}, 10);
    tallied_counts_update(a);
    tallied_counts_update(idle);
    assert_int_equal(row->state, ROW_MULTIPLEXED);
    assert_true(str_starts(row->cause, "it is pinned and found no counter"));
    assert_int_equal(tallied_row(&rig, "/idle", "cpu", "core")->state, ROW_STARVED);
    fake_fail_no_more(rig.tally.rig.fake);
    for (unsigned i = 0; i < 2; i++) {
        fake_advance(rig.tally.rig.fake, 2 * NSEC_PER_SEC);
        tallied_rig_read(&rig);
    }
    tallied_counts_update(idle);
    assert_int_equal(tallied_row(&rig, "/idle", "cpu", "core")->state, ROW_COUNTING);
    assert_int_equal(tallied_value(&rig, "/idle", "cycles", "cpu", "core"), 0);
    tallied_rig_close(&rig, a);
    tallied_rig_close(&rig, idle);
    tallied_rig_done(&rig);
}

/* Time that waited goes to the cgroup above when its own goes, and what is above loses nothing. */
static void test_heir(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED("[{name: core, events: cycles}]"));
    struct tallied_counts *chain[] = {tallied_rig_open(&rig, "/a/b"), tallied_rig_open(&rig, "/a")};
    tallied_rig_credit(&rig, chain, 2, 0, "core", (struct scale_times){10, 10}, 5);
    tallied_rig_credit(&rig, chain, 2, 0, "core", (struct scale_times){30, 0}, 0);
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){10, 10}, 1); /* does not end b's waiting */
    tallied_counts_end(chain[0], chain[1]);
    assert_int_equal(tallied_value(&rig, "/a/b", "cycles", "cpu", "core"), 5);
    assert_int_equal(tallied_value(&rig, "/a/b", "group_enabled_seconds", "cpu", "core"), 40);
    tallied_counts_update(chain[1]);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 6);
    assert_int_equal(tallied_row(&rig, "/a", "cpu", "core")->state, ROW_MULTIPLEXED);
    /* 10 ns, and the 30 that waited. */
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){10, 10}, 3);
    tallied_counts_update(chain[1]);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 6 + 12);
    assert_int_equal(tallied_value(&rig, "/a", "group_enabled_seconds", "cpu", "core"), 60);
    /* One that has ended leaves all to those above. */
    tallied_rig_credit(&rig, chain, 2, 0, "core", (struct scale_times){10, 10}, 1000);
    tallied_counts_update(chain[0]);
    tallied_counts_update(chain[1]);
    assert_int_equal(tallied_value(&rig, "/a/b", "cycles", "cpu", "core"), 5);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 1018);
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){10, 0}, 0);
    tallied_counts_end(chain[1], NULL);
    assert_int_equal(tallied_row(&rig, "/a", "cpu", "core")->state, ROW_STARVED);
    /* Back under the same name: nothing waits from before. */
    tallied_rig_resume(&rig, chain[1], "/a");
    tallied_rig_credit(&rig, chain + 1, 1, 0, "core", (struct scale_times){10, 10}, 2);
    tallied_counts_update(chain[1]);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 1020);
    tallied_rig_close(&rig, chain[0]);
    tallied_rig_close(&rig, chain[1]);
    tallied_rig_done(&rig);
}

static uint64_t per_cpu_value(const struct tallied_rig *rig, int cpu)
{
    return series_value(&rig->tally.rig.snapshot,
                        "perf_cgroup_cycles_total{cgroup=\"/a\",cpu=\"%d\",pmu=\"cpu\",group=\"core\"}", cpu);
}

/* A row of a CPU that is away is served nowhere; its totals go on when it is back. */
static void test_cpu_leaves(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_two_counters(), TALLIED_PER_CPU("[{name: core, events: cycles}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a");
    for (unsigned cpu = 0; cpu < 2; cpu++)
        tallied_rig_credit(&rig, ONE(a), cpu, "core", (struct scale_times){10, 10}, 4 + cpu);
    tallied_counts_update(a);
    assert_int_equal(per_cpu_value(&rig, 1), 5);
    fake_set_online(rig.tally.rig.fake, 1, false);
    tallied_rig_rescan(&rig, "1");
    tallied_rig_resume(&rig, a, "/a");
    tallied_counts_update(a);
    assert_int_equal(per_cpu_value(&rig, 0), 4);
    assert_int_equal(per_cpu_value(&rig, 1), NOT_SHOWN);
    size_t states[N_ROW_STATES] = {0};
    tallied_counts_add_states(a, states);
    assert_int_equal(states[ROW_COUNTING], 1);
    fake_set_online(rig.tally.rig.fake, 1, true);
    tallied_rig_rescan(&rig, "");
    tallied_rig_resume(&rig, a, "/a");
    tallied_rig_credit(&rig, ONE(a), 1, "core", (struct scale_times){10, 10}, 1);
    tallied_counts_update(a);
    assert_int_equal(per_cpu_value(&rig, 1), 6);
    tallied_rig_close(&rig, a);
    tallied_rig_done(&rig);
}

/* Rows of groups that are as before go on, wherever they stand, with what waits; the others are gone, or begin. */
static void test_reload(void **state)
{
    struct tallied_rig rig;

    (void)state;
    tallied_rig_init(&rig, fake_machine_one_pmu(),
                     TALLIED("[{name: x, events: branches}, {name: core, events: cycles}, {name: s, events: faults}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a");
    tallied_rig_credit(&rig, ONE(a), 0, "x", (struct scale_times){10, 10}, 1);
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 10}, 2);
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 0}, 0);
    tallied_rig_credit(&rig, ONE(a), 0, "s", (struct scale_times){10, 10}, 3);
    tallied_counts_update(a);
    uint64_t id = tallied_row(&rig, "/a", "cpu", "core")->id;
    tallied_rig_configure(&rig, TALLIED("[{name: s, events: faults}, {name: y, events: cs}, {name: core, events: "
                                        "cycles}]"));
    /* Until it is resumed, nothing is credited to it. */
    tallied_rig_credit(&rig, ONE(a), 0, "s", (struct scale_times){10, 10}, 500);
    tallied_rig_resume(&rig, a, "/a");
    assert_int_equal(rig.tally.rig.snapshot.n_rows, 3);
    assert_int_equal(tallied_row(&rig, "/a", "cpu", "core")->id, id);
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 10}, 2);
    tallied_rig_credit(&rig, ONE(a), 0, "s", (struct scale_times){10, 10}, 3);
    tallied_rig_credit(&rig, ONE(a), 0, "y", (struct scale_times){10, 10}, 4);
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 2 + 4);
    assert_int_equal(tallied_value(&rig, "/a", "page_faults", "software", "s"), 6);
    assert_int_equal(tallied_value(&rig, "/a", "context_switches", "software", "y"), 4);
    assert_null(tallied_row(&rig, "/a", "cpu", "x"));
    /* The same name, another event: another row. */
    tallied_rig_configure(&rig, TALLIED("[{name: core, events: '{cycles,instructions}'}]"));
    tallied_rig_resume(&rig, a, "/a");
    tallied_counts_update(a);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 0);
    assert_int_equal(rig.tally.rig.snapshot.n_rows, 1);
    tallied_rig_close(&rig, a);
    tallied_rig_done(&rig);
}

static void copy_created(const struct tallied_rig *rig, char text[32])
{
    const struct series *series = find_series(
        &rig->tally.rig.snapshot, "perf_cgroup_instructions_total{cgroup=\"/a\",pmu=\"cpu\",group=\"core\"}");

    memset(text, 0, 32);
    memcpy(text, series->text + series->size, MIN(series->created_size, 31));
    assert_true(text[0] != '\0');
}

/* A CPU comes with an event that is missing on the others: the counts go on, and the time of creation stays. */
static void test_row_grows(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    char before[32], after[32];
    struct tallied_rig rig;

    (void)state;
    for (int cpu = 0; cpu < 3; cpu++)
        rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, cpu);
    fake_set_online(fake, 3, false);
    tallied_rig_init(&rig, fake, TALLIED("[{name: core, events: '{cycles,instructions}'}]"));
    struct tallied_counts *a = tallied_rig_open(&rig, "/a");
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 10}, 2);
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){30, 0}, 0);
    tallied_counts_update(a);
    copy_created(&rig, before);
    assert_int_equal(tallied_row(&rig, "/a", "cpu", "core")->state, ROW_MULTIPLEXED);
    fake_advance(fake, 5 * NSEC_PER_SEC);
    fake_set_online(fake, 3, true);
    tallied_rig_rescan(&rig, "");
    tallied_rig_resume(&rig, a, "/a");
    tallied_rig_credit(&rig, ONE(a), 0, "core", (struct scale_times){10, 10}, 2);
    tallied_rig_credit(&rig, ONE(a), 3, "core", (struct scale_times){10, 10}, 100);
    tallied_counts_update(a);
    copy_created(&rig, after);
    assert_string_equal(after, before);
    assert_int_equal(tallied_value(&rig, "/a", "instructions", "cpu", "core"), 2 + 8 + 100);
    assert_int_equal(tallied_value(&rig, "/a", "cycles", "cpu", "core"), 100);
    assert_int_equal(tallied_value(&rig, "/a", "group_enabled_seconds", "cpu", "core"), 60);
    assert_true(tallied_row(&rig, "/a", "cpu", "core")->uneven);
    tallied_rig_close(&rig, a);
    tallied_rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),       cmocka_unit_test(test_states),     cmocka_unit_test(test_waits_beside),
        cmocka_unit_test(test_never_ran),  cmocka_unit_test(test_unreadable), cmocka_unit_test(test_heir),
        cmocka_unit_test(test_cpu_leaves), cmocka_unit_test(test_reload),     cmocka_unit_test(test_row_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
