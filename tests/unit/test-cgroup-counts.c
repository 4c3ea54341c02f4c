/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a cgroup: what its rows show, on machines that tests play. */
#include "perf/machine.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/count-allocations.h"
#include "tests/unit/state-steps.h"
#include "tests/unit/test.h"

static size_t row_descriptors(const struct rig *rig)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->snapshot.n_rows; i++)
        n += rig->snapshot.rows[i]->n_descriptors;
    return n;
}

/* Values are summed over CPUs; the times are those of tasks; no task, no time, and 0 is a value. */
static void test_sums(void **state)
{
    struct rig rig;

    (void)state;
    cgroup_rig_start(
        &rig, fake_machine_one_pmu(),
        GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]"));
    assert_int_equal(rig_engine.type->needs(&rig.context), cgroup_rig_own(16));
    struct cgroup_counts *counts = cgroup_rig_open(&rig, "/a", CGROUP);
    assert_int_equal(cgroup_counts_descriptors(counts), cgroup_rig_own(16));
    assert_int_equal(row_descriptors(&rig), cgroup_rig_own(16));
    assert_int_equal(rig.fake->n_open, 16);
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_advance(rig.fake, 500);
    unsigned before = rig.fake->calls[FAKE_READ];
    size_t allocations_before = allocations;
    assert_true(allocations_before > 0);
    assert_int_equal(cgroup_counts_read(counts, rig.sys), cgroup_rig_uses(ENGINE_PERF) ? 8 : 4); /* groups, CPUs */
    assert_int_equal(allocations, allocations_before);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 0);
    fake_rate(rig.fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3, 2});
    fake_cgroup_run(rig.fake, CGROUP, 0, 1000);
    fake_cgroup_run(rig.fake, CGROUP, 3, 200);
    fake_cgroup_run(rig.fake, OTHER, 3, 5000);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 1800);
    assert_int_equal(cgroup_value(&rig, "instructions", "cpu", "core"), 1200);
    assert_int_equal(cgroup_value(&rig, "task_clock_seconds", "software", "software"), 1200);
    assert_int_equal(cgroup_value(&rig, "context_switches", "software", "software"), 1200);
    assert_int_equal(cgroup_value(&rig, "group_enabled_seconds", "cpu", "core"), 1200);
    assert_int_equal(cgroup_value(&rig, "group_running_seconds", "software", "software"), 1200);
    const struct row *row = find_row(&rig.snapshot, "cpu", "core");
    assert_int_equal(row->cpu, -1);
    assert_string_equal(row->cgroup, "/a");
    assert_int_equal(row->counters[0].raw, 1800);
    assert_int_equal(row->state, ROW_COUNTING);
    assert_false(row->uneven);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(row_descriptors(&rig), 0);
    cgroup_rig_done(&rig, counts);
}

static void test_per_cpu(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_one_pmu(), GROUPS_PER_CPU("[{name: core, events: '{cycles,cs}'}]"));
    assert_int_equal(rig.snapshot.n_rows, 4);
    cgroup_rig_run(&rig, counts, 2, 2, 30);
    assert_int_equal(cgroup_value_on(&rig, "cycles", 2, "cpu", "core"), 30);
    assert_int_equal(cgroup_value_on(&rig, "context_switches", 2, "software", "core"), 30);
    assert_int_equal(cgroup_value_on(&rig, "group_enabled_seconds", 2, "cpu", "core"), 30);
    assert_int_equal(cgroup_value_on(&rig, "cycles", 1, "cpu", "core"), 0);
    fake_set_online(rig.fake, 2, false);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, "2"), 0);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(cgroup_value_on(&rig, "cycles", 2, "cpu", "core"), NOT_SHOWN);
    fake_set_online(rig.fake, 2, true);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, ""), 0);
    cgroup_rig_run(&rig, counts, 2, 2, 4);
    assert_int_equal(cgroup_value_on(&rig, "cycles", 2, "cpu", "core"), 34);
    cgroup_rig_done(&rig, counts);
}

/* A row for each PMU; the rows of a group of a kind's event and a software event go by the kind of CPU. */
static void test_two_kinds_of_cpu(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts = cgroup_rig_init(
        &rig, fake_machine_big_little(),
        GROUPS(
            "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}, {name: "
            "mixed, events: '{cycles,task-clock}'}, {name: big, events: '{armv8_cortex_a76/l2d_cache_refill/,cs}'}]"));
    assert_int_equal(rig.snapshot.n_rows, 7);
    assert_int_equal(rig_engine.type->needs(&rig.context), cgroup_rig_own(8 * 2 * 3 + 8 + 4));
    assert_int_equal(cgroup_counts_descriptors(counts), rig_engine.type->needs(&rig.context));
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    fake_cgroup_run(rig.fake, CGROUP, 3, 5);
    cgroup_rig_run(&rig, counts, 7, 7, 100);
    assert_int_equal(cgroup_value(&rig, "cycles", "armv8_cortex_a55", "core"), 15);
    assert_int_equal(cgroup_value(&rig, "cycles", "armv8_cortex_a76", "core"), 100);
    assert_int_equal(cgroup_value(&rig, "context_switches", "software", "software"), 115);
    assert_int_equal(cgroup_value(&rig, "task_clock_seconds", "armv8_cortex_a55", "mixed"), 15);
    assert_int_equal(cgroup_value(&rig, "task_clock_seconds", "armv8_cortex_a76", "mixed"), 100);
    assert_int_equal(cgroup_value(&rig, "l2d_cache_refill", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(cgroup_value(&rig, "context_switches", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(cgroup_value(&rig, "context_switches", "armv8_cortex_a55", "big"), 15);
    assert_string_equal(find_row(&rig.snapshot, "armv8_cortex_a55", "mixed")->counters[1].pmu, "armv8_cortex_a55");
    cgroup_rig_done(&rig, counts);
}

/* Reported once for each event, whatever the number of cgroups. */
static void test_no_pmu(void **state)
{
    struct cgroup_counts *counts[2];
    struct rig rig;

    (void)state;
    cgroup_rig_start(&rig, fake_machine_no_pmu(),
                     GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: mixed, events: '{cycles,cs}'}]"));
    assert_int_equal(rig_engine.type->needs(&rig.context), cgroup_rig_own(2));
    counts[0] = cgroup_rig_open(&rig, "/a", CGROUP);
    counts[1] = cgroup_rig_open(&rig, "/b", OTHER);
    struct failures failures = cgroup_rig_failures(&rig, counts, 2);
    assert_int_equal(failures.n, 3);
    char **sentences;
    size_t n;
    assert_int_equal(failures_sentences(&failures, &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(str_starts(sentences[0],
                           "cgroups, on cpu 0-1: cycles, instructions: this machine offers no hardware PMU (ENOENT)"));
    strings_free(sentences, n);
    for (size_t i = 0; i < failures.n; i++)
        assert_int_equal(failures.items[i].n_targets, 2);
    failures_done(&failures);
    size_t states[N_ROW_STATES] = {0};
    cgroup_counts_add_states(counts[0], states);
    assert_int_equal(states[ROW_UNAVAILABLE], 1);
    assert_int_equal(states[ROW_COUNTING], 1);
    fake_cgroup_run(rig.fake, CGROUP, 1, 3);
    cgroup_counts_read(counts[0], rig.sys);
    assert_int_equal(cgroup_value(&rig, "context_switches", "software", "mixed"), 3);
    const struct row *row = find_row(&rig.snapshot, "cpu", "core");
    assert_int_equal(row->state, ROW_UNAVAILABLE);
    assert_int_equal(row->cpu, -1);
    size_t rows = rig.snapshot.n_rows;
    assert_int_equal(rows, 2 * (1 + 3));
    uint64_t id = row->id;
    assert_int_equal(cgroup_rig_rescan(&rig, counts[0], ""), 0);
    assert_int_equal(rig.snapshot.n_rows, rows);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->id, id);
    cgroup_counts_free(counts[0], &rig.snapshot);
    cgroup_rig_done(&rig, counts[1]);
}

/* Two counters: groups that are the same on each CPU, and deltas scaled by each CPU's own ratio. */
static void test_split_and_multiplexed(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts = cgroup_rig_init(&rig, fake_machine_two_counters(),
                                                   GROUPS("[{name: cache, events: 'cycles,instructions,branches'}]"));
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_cgroup_run(rig.fake, CGROUP, 0, 300);
    cgroup_rig_run(&rig, counts, 1, 1, 3000);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "cache"), 3300);
    assert_int_equal(cgroup_value(&rig, "branches", "cpu", "cache-2"), 3300);
    assert_int_equal(cgroup_value(&rig, "group_running_seconds", "cpu", "cache-2"), 2200);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "cache")->state, ROW_MULTIPLEXED);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "cache")->counters[0].raw, 2200);
    cgroup_rig_done(&rig, counts);
}

/* The digits behind the point add up as well: two CPUs, each with a half. */
static void test_remainders(void **state)
{
    struct rig rig;

    (void)state;
    struct fake_sys *fake = fake_machine_two_counters();
    fake_rate(fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, 2});
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake, GROUPS("[{name: a, events: 'cycles,branches'}, {name: b, events: instructions}]"));
    /* Of three counters wanted there are two: 3 ns enabled, 2 running, 1 counted: 1.5 on each CPU. */
    fake_cgroup_run(rig.fake, CGROUP, 0, 3);
    cgroup_rig_run(&rig, counts, 1, 1, 3);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "a"), 3);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "a")->counters[0].raw, 2);
    cgroup_rig_done(&rig, counts);
}

/* The sum of two CPUs that were idle, ran or starved before a reading. */
static void test_states(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_two_counters(), GROUPS("[{name: core, events: cycles}]"));
    for (size_t i = 0; i < ARRAY_SIZE(state_steps); i++) {
        const struct state_step *step = &state_steps[i];
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            fake_find_pmu(rig.fake, "cpu")->counters = step->in[cpu] == STARVED ? 0 : 2;
            if (step->in[cpu] != IDLE)
                fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
        }
        assert_int_equal(cgroup_counts_read(counts, rig.sys), 2);
        assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, step->out);
        assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), step->out_value);
        assert_true(cgroup_value(&rig, "group_enabled_seconds", "cpu", "core") < NOT_SHOWN);
    }
    cgroup_rig_done(&rig, counts);
}

/* Before anything ran, nothing is known; then it is. */
static void test_never_ran(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_two_counters(), GROUPS("[{name: core, events: cycles}]"));
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    cgroup_rig_run(&rig, counts, 1, 1, 10);
    assert_false(find_row(&rig.snapshot, "cpu", "core")->counters[0].known);
    assert_non_null(find_row(&rig.snapshot, "cpu", "core")->cause);
    cgroup_rig_done(&rig, counts);
}

/* One group in the error state, of four CPUs: a part of the counts is missing, and the cause is there. */
static void test_error_on_one_cpu(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}]"));
    cgroup_rig_run(&rig, counts, 0, 3, 10);
    assert_null(find_row(&rig.snapshot, "cpu", "core")->cause);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .on_cpu = true, .cpu = 0});
    cgroup_rig_run(&rig, counts, 0, 3, 10);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, ROW_MULTIPLEXED);
    assert_non_null(find_row(&rig.snapshot, "cpu", "core")->cause);
    assert_true(str_starts(find_row(&rig.snapshot, "cpu", "core")->cause, "it is pinned and found no counter"));
    cgroup_rig_done(&rig, counts);
}

/* An event is missing on one CPU: the row sums the others, and the CPU is reported. */
static void test_event_missing_on_one_cpu(void **state)
{
    (void)state;
    for (int missing_on = 0; missing_on < 4; missing_on += 3) {
        struct fake_sys *fake = fake_machine_one_pmu();
        struct rig rig;

        rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, missing_on);
        struct cgroup_counts *counts =
            cgroup_rig_init(&rig, fake, GROUPS("[{name: mixed, events: '{cycles,cs,instructions}'}]"));
        assert_int_equal(rig.snapshot.n_rows, 1);
        cgroup_rig_run(&rig, counts, 0, 3, 10);
        assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "mixed"), 30);
        assert_int_equal(cgroup_value(&rig, "context_switches", "software", "mixed"), 40);
        assert_int_equal(cgroup_value(&rig, "instructions", "cpu", "mixed"), 40);
        assert_true(find_row(&rig.snapshot, "cpu", "mixed")->uneven);
        struct failures failures = cgroup_rig_failures(&rig, &counts, 1);
        assert_int_equal(failures.n, 1);
        assert_int_equal(failures.items[0].n_targets, 1);
        assert_int_equal(cpuset_next(&failures.items[0].cpus, -1), missing_on);
        failures_done(&failures);
        cgroup_rig_done(&rig, counts);
    }
}

/* A CPU comes with an event that is missing on the others: the time of creation of its kind's series stays. */
static void test_created_once(void **state)
{
    static const char instructions[] = "perf_cgroup_instructions_total{cgroup=\"/a\",pmu=\"cpu\",group=\"core\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    char before[32] = "", after[32] = "";
    struct rig rig;

    (void)state;
    for (int cpu = 0; cpu < 3; cpu++)
        rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, cpu);
    fake_set_online(fake, 3, false);
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake, GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    const struct series *series = find_series(&rig.snapshot, instructions);
    memcpy(before, series->text + series->size, MIN(series->created_size, sizeof(before) - 1));
    fake_advance(fake, 5 * NSEC_PER_SEC);
    fake_set_online(fake, 3, true);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, ""), 0);
    series = find_series(&rig.snapshot, instructions);
    memcpy(after, series->text + series->size, MIN(series->created_size, sizeof(after) - 1));
    assert_true(before[0] != '\0');
    assert_string_equal(after, before);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->n_counters, 2);
    cgroup_rig_done(&rig, counts);
}

/* A CPU without any of the hardware events beside others that have them: no series twice. */
static void test_no_hardware_on_one_cpu(void **state)
{
    (void)state;
    for (int missing_on = 0; missing_on < 4; missing_on += 3) {
        struct fake_sys *fake = fake_machine_one_pmu();
        struct rig rig;

        rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, missing_on);
        struct cgroup_counts *counts = cgroup_rig_init(&rig, fake, GROUPS("[{name: mixed, events: '{cycles,cs}'}]"));
        cgroup_rig_run(&rig, counts, 0, 3, 10);
        assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "mixed"), 30);
        /* With the others where they are known already, else apart from them: all of it either way. */
        uint64_t own = cgroup_value(&rig, "context_switches", "software", "mixed");
        uint64_t others = cgroup_value(&rig, "context_switches", "cpu", "mixed");
        assert_int_equal(own + (others == NOT_SHOWN ? 0 : others), 40);
        cgroup_rig_done(&rig, counts);
    }
}

static void test_strict(void **state)
{
    struct failures failures;
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_two_counters(),
                        GROUPS("[{name: all, strict: true, events: '{cycles,instructions,branches}'}]"));
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(cgroup_counts_read(counts, rig.sys), 0);
    failures = cgroup_rig_failures(&rig, &counts, 1);
    assert_int_equal(failures.n, 3);
    assert_non_null(strstr(failures.items[0].message, "because of branches"));
    failures_done(&failures);
    cgroup_rig_done(&rig, counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_per_cpu),
        cmocka_unit_test(test_two_kinds_of_cpu),
        cmocka_unit_test(test_no_pmu),
        cmocka_unit_test(test_split_and_multiplexed),
        cmocka_unit_test(test_remainders),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_never_ran),
        cmocka_unit_test(test_error_on_one_cpu),
        cmocka_unit_test(test_event_missing_on_one_cpu),
        cmocka_unit_test(test_created_once),
        cmocka_unit_test(test_no_hardware_on_one_cpu),
        cmocka_unit_test(test_strict),
    };

    return cgroup_rig_run_tests(tests);
}
