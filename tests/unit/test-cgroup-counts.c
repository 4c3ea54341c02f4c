/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a cgroup on simulated machines, while CPUs, descriptors and the cgroup itself come and go. */
#include "collectors/cgroup/bpf-engine.h"
#include "perf/machine.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/test.h"

/* The machine of the current test, which counts the cgroup "/a". */
static struct rig rig;
static struct cgroup_counts *counts;

static void begin(struct fake_sys *fake, const char *config)
{
    counts = cgroup_rig_init(&rig, fake, config);
}

/* The teardown of each test; a test may call it between two machines. */
static int end(void **state)
{
    if (!rig.fake)
        return 0;
    cgroup_rig_done(&rig, steal(counts));
    rig = (struct rig){0};
    return 0;
}

static int resume(int fd)
{
    return cgroup_rig_resume(&rig, counts, fd);
}

static void rescan(const char *left)
{
    assert_int_equal(cgroup_rig_rescan(&rig, counts, left), 0);
}

static void configure(const char *config)
{
    struct config *before = rig.config;

    rig.env.config = rig.config = config_of(config);
    assert_int_equal(resume(CGROUP), 0);
    config_free(before);
}

/* Reads the counts of "/a" through the engine, as the only cgroup. */
static struct collected collect(void)
{
    struct cgroup_node node = {.userdata = counts};
    struct collected collected = {0};
    struct error error;

    counts->node = &node;
    assert_int_equal(rig_engine.type->read_all(&rig_engine, &rig.env, &counts, 1, &collected, &error), 0);
    counts->node = NULL;
    return collected;
}

/* Returns whether a reading finds a group that must be reopened. */
static bool is_stale(void)
{
    return collect().stale;
}

/* Returns the failures of `n` cgroups; the caller frees them. */
static struct failures failures_of(struct cgroup_counts *const *of, size_t n)
{
    struct failures failures = {0};

    assert_int_equal(rig_engine.type->report_all(&rig_engine, &rig.env, of, n, &failures), 0);
    return failures;
}

static void assert_n_failures(size_t n)
{
    _cleanup_(failures_done) struct failures failures = failures_of(&counts, 1);

    assert_int_equal(failures.n, n);
}

/* Runs CGROUP on the CPUs from `first` to `last` and reads it. Returns the number of groups that could be read. */
static size_t run(unsigned first, unsigned last, uint64_t ns)
{
    for (unsigned cpu = first; cpu <= last; cpu++)
        fake_cgroup_run(rig.fake, CGROUP, cpu, ns);
    return cgroup_counts_read(counts, rig.sys);
}

/* Returns the value of a series of "/a", or NOT_SHOWN. */
static uint64_t value(const char *metric, const char *pmu, const char *group)
{
    return series_value(&rig.snapshot, "perf_cgroup_%s_total{cgroup=\"/a\",pmu=\"%s\",group=\"%s\"}", metric, pmu,
                        group);
}

static uint64_t core(const char *metric)
{
    return value(metric, "cpu", "core");
}

static uint64_t value_on(int cpu, const char *metric, const char *pmu)
{
    return series_value(&rig.snapshot, "perf_cgroup_%s_total{cgroup=\"/a\",cpu=\"%d\",pmu=\"%s\",group=\"core\"}",
                        metric, cpu, pmu);
}

static const struct row *core_row(void)
{
    return find_row(&rig.snapshot, "cpu", "core");
}

static size_t row_descriptors(void)
{
    size_t n = 0;

    for (size_t i = 0; i < rig.snapshot.n_rows; i++)
        n += rig.snapshot.rows[i]->n_descriptors;
    return n;
}

/*
 * Values are summed over CPUs. The times include only periods during which tasks of the cgroup ran. Until a task has
 * run, all values are 0.
 */
TEST_WITH(test_sums, NULL, end)
{
    cgroup_rig_start(
        &rig, fake_machine_one_pmu(),
        GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]"));
    assert_int_equal(rig_engine.type->needs(&rig.env), cgroup_rig_own(16));
    counts = cgroup_rig_open(&rig, "/a", CGROUP);
    assert_int_equal(group_set_descriptors(&counts->groups), cgroup_rig_own(16));
    assert_int_equal(row_descriptors(), cgroup_rig_own(16));
    assert_int_equal(rig.fake->n_open, 16);
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_advance(rig.fake, 500);
    assert_int_equal(cgroup_counts_read(counts, rig.sys),
                     cgroup_rig_uses(ENGINE_PERF) ? 8 : 4); /* perf reads 2 groups on 4 CPUs, bpf reads 4 CPUs */
    assert_int_equal(core("cycles"), 0);
    fake_rate(rig.fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3, 2});
    fake_cgroup_run(rig.fake, CGROUP, 0, 1000);
    fake_cgroup_run(rig.fake, CGROUP, 3, 200);
    fake_cgroup_run(rig.fake, OTHER, 3, 5000);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(core("cycles"), 1800);
    assert_int_equal(core("instructions"), 1200);
    assert_int_equal(value("task_clock_seconds", "software", "software"), 1200);
    assert_int_equal(value("context_switches", "software", "software"), 1200);
    assert_int_equal(core("group_enabled_seconds"), 1200);
    assert_int_equal(value("group_running_seconds", "software", "software"), 1200);
    const struct row *row = core_row();
    assert_int_equal(row->cpu, -1);
    assert_string_equal(row->cgroup, "/a");
    assert_int_equal(row->counters[0].raw, 1800);
    assert_int_equal(row->state, ROW_COUNTING);
    assert_false(row->uneven);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(row_descriptors(), 0);
}

TEST_WITH(test_per_cpu, NULL, end)
{
    begin(fake_machine_one_pmu(), GROUPS_PER_CPU("[{name: core, events: '{cycles,cs}'}]"));
    assert_int_equal(rig.snapshot.n_rows, 4);
    run(2, 2, 30);
    assert_int_equal(value_on(2, "cycles", "cpu"), 30);
    assert_int_equal(value_on(2, "context_switches", "software"), 30);
    assert_int_equal(value_on(2, "group_enabled_seconds", "cpu"), 30);
    assert_int_equal(value_on(1, "cycles", "cpu"), 0);
    fake_set_online(rig.fake, 2, false);
    rescan("2");
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(value_on(2, "cycles", "cpu"), NOT_SHOWN);
    fake_set_online(rig.fake, 2, true);
    rescan("");
    run(2, 2, 4);
    assert_int_equal(value_on(2, "cycles", "cpu"), 34);
}

/* Each PMU has its own row. A group of hardware and software events has a row for each kind of core. */
TEST_WITH(test_two_kinds_of_cpu, NULL, end)
{
    begin(
        fake_machine_big_little(),
        GROUPS(
            "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}, {name: "
            "mixed, events: '{cycles,task-clock}'}, {name: big, events: '{armv8_cortex_a76/l2d_cache_refill/,cs}'}]"));
    assert_int_equal(rig.snapshot.n_rows, 7);
    assert_int_equal(rig_engine.type->needs(&rig.env), cgroup_rig_own(8 * 2 * 3 + 8 + 4));
    assert_int_equal(group_set_descriptors(&counts->groups), rig_engine.type->needs(&rig.env));
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    fake_cgroup_run(rig.fake, CGROUP, 3, 5);
    run(7, 7, 100);
    assert_int_equal(value("cycles", "armv8_cortex_a55", "core"), 15);
    assert_int_equal(value("cycles", "armv8_cortex_a76", "core"), 100);
    assert_int_equal(value("context_switches", "software", "software"), 115);
    assert_int_equal(value("task_clock_seconds", "armv8_cortex_a55", "mixed"), 15);
    assert_int_equal(value("task_clock_seconds", "armv8_cortex_a76", "mixed"), 100);
    assert_int_equal(value("l2d_cache_refill", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(value("context_switches", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(value("context_switches", "armv8_cortex_a55", "big"), 15);
    assert_string_equal(find_row(&rig.snapshot, "armv8_cortex_a55", "mixed")->counters[1].pmu, "armv8_cortex_a55");
}

/* A missing PMU is reported once for each event, however many cgroups there are. */
TEST_WITH(test_no_pmu, NULL, end)
{
    cgroup_rig_start(&rig, fake_machine_no_pmu(),
                     GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: mixed, events: '{cycles,cs}'}]"));
    assert_int_equal(rig_engine.type->needs(&rig.env), cgroup_rig_own(2));
    counts = cgroup_rig_open(&rig, "/a", CGROUP);
    struct cgroup_counts *both[] = {counts, cgroup_rig_open(&rig, "/b", OTHER)};
    _cleanup_(failures_done) struct failures failures = failures_of(both, 2);
    assert_int_equal(failures.n, 3);
    char **sentences;
    size_t n;
    assert_int_equal(failures_sentences(&failures, &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(str_starts(sentences[0], "cpu 0-1 cycles, instructions: this machine offers no hardware PMU: "));
    strings_free(sentences, n);
    for (size_t i = 0; i < failures.n; i++)
        assert_int_equal(failures.items[i].n_targets, 2);
    struct collected collected = collect();
    assert_int_equal(collected.groups[ROW_UNAVAILABLE], 1);
    assert_int_equal(collected.groups[ROW_COUNTING], 1);
    fake_cgroup_run(rig.fake, CGROUP, 1, 3);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(value("context_switches", "software", "mixed"), 3);
    const struct row *row = core_row();
    assert_int_equal(row->state, ROW_UNAVAILABLE);
    assert_int_equal(row->cpu, -1);
    size_t rows = rig.snapshot.n_rows;
    assert_int_equal(rows, 2 * (1 + 3));
    uint64_t id = row->id;
    rescan("");
    assert_int_equal(rig.snapshot.n_rows, rows);
    assert_int_equal(core_row()->id, id);
    cgroup_counts_free(both[1], &rig.snapshot);
}

/*
 * With two counters, events are split into the same groups on each CPU, and deltas are scaled by the CPU's own times.
 */
TEST_WITH(test_split_and_multiplexed, NULL, end)
{
    begin(fake_machine_two_counters(), GROUPS("[{name: cache, events: 'cycles,instructions,branches'}]"));
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_cgroup_run(rig.fake, CGROUP, 0, 300);
    run(1, 1, 3000);
    assert_int_equal(value("cycles", "cpu", "cache"), 3300);
    assert_int_equal(value("branches", "cpu", "cache-2"), 3300);
    assert_int_equal(value("group_running_seconds", "cpu", "cache-2"), 2200);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "cache")->state, ROW_MULTIPLEXED);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "cache")->counters[0].raw, 2200);
}

/* Fractions of counts are summed as well: here a half on each of two CPUs. */
TEST_WITH(test_remainders, NULL, end)
{
    struct fake_sys *fake = fake_machine_two_counters();
    fake_rate(fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, 2});
    begin(fake, GROUPS("[{name: a, events: 'cycles,branches'}, {name: b, events: instructions}]"));
    /*
     * The events need three counters, and the PMU has two. In 3 ns each group runs for 2 ns and counts 1, which scales
     * to 1.5 per CPU.
     */
    fake_cgroup_run(rig.fake, CGROUP, 0, 3);
    run(1, 1, 3);
    assert_int_equal(value("cycles", "cpu", "a"), 3);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "a")->counters[0].raw, 2);
}

/*
 * Each step is a reading of two CPUs. Since the previous reading, a CPU was either idle (its group was not enabled), or
 * its group was enabled for 10 ns and either counted or starved.
 */
static const struct state_step {
    enum { IDLE, RAN, STARVED } in[2]; /* for each CPU */
    enum row_state out;
    uint64_t out_value; /* NOT_SHOWN: the series is left out */
} state_steps[] = {
    {{IDLE, IDLE}, ROW_COUNTING, 0},
    {{STARVED, IDLE}, ROW_STARVED, NOT_SHOWN}, /* the only enabled group did not run */
    {{RAN, IDLE}, ROW_MULTIPLEXED, 20},        /* the group ran for half of the time since the baseline */
    {{RAN, RAN}, ROW_COUNTING, 40},
    {{IDLE, IDLE}, ROW_COUNTING, 40},
    {{RAN, STARVED}, ROW_MULTIPLEXED, 50},
    {{STARVED, IDLE}, ROW_STARVED, NOT_SHOWN},
    {{IDLE, RAN}, ROW_MULTIPLEXED, 70}, /* CPU 1 has counted since it starved, CPU 0 has not */
    {{RAN, RAN}, ROW_MULTIPLEXED, 100},
    {{RAN, RAN}, ROW_COUNTING, 120},
};

TEST_WITH(test_states, NULL, end)
{
    begin(fake_machine_two_counters(), GROUPS("[{name: core, events: cycles}]"));
    for (size_t i = 0; i < ARRAY_SIZE(state_steps); i++) {
        const struct state_step *step = &state_steps[i];
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            fake_find_pmu(rig.fake, "cpu")->counters = step->in[cpu] == STARVED ? 0 : 2;
            if (step->in[cpu] != IDLE)
                fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
        }
        assert_int_equal(cgroup_counts_read(counts, rig.sys), 2);
        assert_int_equal(core_row()->state, step->out);
        assert_int_equal(core("cycles"), step->out_value);
        assert_true(core("group_enabled_seconds") < NOT_SHOWN);
    }
}

/* If the group of one of four CPUs is in the error state, the row is incomplete and shows the cause. */
TEST_WITH(test_error_on_one_cpu, NULL, end)
{
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}]"));
    run(0, 3, 10);
    assert_null(core_row()->cause);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .on_cpu = true, .cpu = 0});
    run(0, 3, 10);
    assert_int_equal(core_row()->state, ROW_MULTIPLEXED);
    assert_non_null(core_row()->cause);
    assert_true(str_starts(core_row()->cause, "it is pinned and found no counter"));
}

/*
 * If an event is missing on one CPU, the row sums the other CPUs, and the failure names the CPU. No series appears
 * twice.
 */
TEST_WITH(test_event_missing_on_one_cpu, NULL, end)
{
    for (int missing_on = 0; missing_on < 4; missing_on += 3)
        for (int left = 0; left < 2; left++) { /* 1: the CPU that lacks the event counts another hardware event */
            struct fake_sys *fake = fake_machine_one_pmu();
            rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, missing_on);
            begin(fake, left ? GROUPS("[{name: core, events: '{cycles,cs,instructions}'}]")
                             : GROUPS("[{name: core, events: '{cycles,cs}'}]"));
            run(0, 3, 10);
            assert_int_equal(core("cycles"), 30);
            /*
             * If the CPU counts no hardware event, its context switches are in a row of the PMU "software", and those
             * of the other CPUs in the row of the PMU "cpu".
             */
            uint64_t own = value("context_switches", "software", "core"), others = core("context_switches");
            assert_int_equal(own + (others == NOT_SHOWN ? 0 : others), 40);
            if (left) {
                _cleanup_(failures_done) struct failures failures = failures_of(&counts, 1);
                assert_int_equal(core("instructions"), 40);
                assert_int_equal(rig.snapshot.n_rows, 1);
                assert_true(core_row()->uneven);
                assert_int_equal(failures.n, 1);
                assert_int_equal(cpuset_next(&failures.items[0].cpus, -1), missing_on);
            }
            end(state);
        }
}

/*
 * A CPU comes online with an event that the other CPUs lack. The creation time of the existing series stays the same.
 */
TEST_WITH(test_created_once, NULL, end)
{
    static const char instructions[] = "perf_cgroup_instructions_total{cgroup=\"/a\",pmu=\"cpu\",group=\"core\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    char before[32] = "", after[32] = "";
    for (int cpu = 0; cpu < 3; cpu++)
        rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, cpu);
    fake_set_online(fake, 3, false);
    begin(fake, GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    const struct series *series = find_series(&rig.snapshot, instructions);
    memcpy(before, series->text + series->size, MIN(series->created_size, sizeof(before) - 1));
    fake_advance(fake, 5 * NSEC_PER_SEC);
    fake_set_online(fake, 3, true);
    rescan("");
    series = find_series(&rig.snapshot, instructions);
    memcpy(after, series->text + series->size, MIN(series->created_size, sizeof(after) - 1));
    assert_true(before[0] != '\0');
    assert_string_equal(after, before);
    assert_int_equal(core_row()->n_counters, 2);
}

/* A sum does not fall when a CPU goes offline, since the counts of the CPU remain in it. */
TEST_WITH(test_cpu_leaves_and_returns, NULL, end)
{
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    run(0, 3, 100);
    uint64_t id = core_row()->id;
    fake_set_online(rig.fake, 3, false);
    cgroup_counts_read(counts, rig.sys);
    assert_true(is_stale());
    assert_int_equal(core("cycles"), 400);
    rescan("3");
    assert_int_equal(group_set_descriptors(&counts->groups), cgroup_rig_own(6));
    assert_int_equal(rig.fake->n_open, 6);
    run(0, 0, 1);
    assert_false(is_stale());
    assert_int_equal(core("cycles"), 401);
    assert_int_equal(core("group_enabled_seconds"), 401);
    assert_int_equal(core_row()->state, ROW_COUNTING);
    fake_set_online(rig.fake, 3, true);
    rescan("");
    assert_int_equal(rig.fake->n_open, 8);
    run(3, 3, 20);
    assert_int_equal(core("cycles"), 421);
    assert_int_equal(core_row()->id, id);
}

/* Groups are opened when their CPUs come online, also for a cluster that was offline as a whole. */
TEST_WITH(test_cpus_come_later, NULL, end)
{
    struct fake_sys *fake = fake_machine_big_little();
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, false);
    begin(fake, GROUPS("[{name: core, events: '{cycles,cs}'}, {name: big, events: armv8_cortex_a76/stall_backend/}]"));
    struct failures failures = failures_of(&counts, 1);
    assert_int_equal(failures.n, 1);
    assert_null(strstr(failures.items[0].message, "collectors.cpu"));
    failures_done(&failures);
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, true);
    rescan("");
    assert_n_failures(0);
    assert_int_equal(rig.snapshot.n_rows, 3);
    run(0, 7, 10);
    assert_int_equal(value("cycles", "armv8_cortex_a55", "core"), 40);
    assert_int_equal(value("context_switches", "armv8_cortex_a76", "core"), 40);
    assert_int_equal(value("stall_backend", "armv8_cortex_a76", "big"), 40);
}

/*
 * A removed cgroup is read one last time and closed at once. The rows of a removed cgroup stay, and when a cgroup of
 * the same name is created, their totals continue.
 */
TEST_WITH(test_ends_and_resumes, NULL, end)
{
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 8);
    assert_int_equal(group_set_descriptors(&counts->groups), 0);
    assert_int_equal(core("cycles"), 100);
    assert_int_equal(core_row()->state, ROW_COUNTING);
    assert_int_equal(cgroup_counts_read(counts, rig.sys), 0);
    assert_int_equal(core("cycles"), 100);
    assert_int_equal(collect().groups[ROW_COUNTING], 0);
    /*
     * Resuming a cgroup that does not exist changes nothing. The bpf engine opens nothing for a cgroup, so only the
     * cgroup tree notices that the cgroup does not exist.
     */
    if (cgroup_rig_uses(ENGINE_PERF)) {
        assert_int_equal(resume(CGROUP), -ENODEV);
        assert_int_equal(rig.fake->n_open, 0);
        assert_int_equal(core("cycles"), 100);
    }
    assert_int_equal(resume(OTHER), 0);
    fake_cgroup_run(rig.fake, OTHER, 0, 11);
    fake_cgroup_run(rig.fake, OTHER, 1, 11);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(core("cycles"), 122);
    assert_int_equal(core("group_enabled_seconds"), 122);
}

/*
 * A cgroup whose directory cannot be opened gets no new groups. Open groups that are still configured continue to
 * count.
 */
TEST_WITH(test_no_directory, NULL, end)
{
    NEEDS_ENGINE(ENGINE_PERF); /* only the perf engine has descriptors for each cgroup */
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}, {name: soft, events: cs}]"));
    struct config *before = rig.config;
    rig.env.config = rig.config = config_of(GROUPS("[{name: core, events: cycles}, {name: other, events: faults}]"));
    assert_int_equal(resume(-EMFILE), -EMFILE);
    config_free(before);
    assert_int_equal(rig.fake->n_open, 4);
    run(0, 3, 10);
    assert_int_equal(core("cycles"), 40);
    assert_int_equal(rig.snapshot.n_rows, 1);
    assert_int_equal(resume(CGROUP), 0);
    run(0, 3, 10);
    assert_int_equal(core("cycles"), 80);
    assert_int_equal(value("page_faults", "software", "other"), 40);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(resume(-EMFILE), -EMFILE);
    assert_int_equal(rig.fake->n_open, 0);
}

/*
 * Events that no CPU counts have a row without a CPU. A group is in the state "counting" even if some of its events are
 * not counted.
 */
TEST_WITH(test_counted_nowhere, NULL, end)
{
    begin(fake_machine_one_pmu(),
          GROUPS("[{name: mixed, events: 'cs,power/event=2/'}, {name: none, events: power/event=3/}]"));
    for (size_t i = 0; i < 2; i++) {
        struct collected collected = collect();
        assert_int_equal(collected.groups[ROW_COUNTING], 1);
        assert_int_equal(collected.groups[ROW_UNAVAILABLE], 1);
        assert_int_equal(rig.snapshot.n_rows, 3);
        const struct row *row = find_row(&rig.snapshot, "power", "mixed");
        assert_int_equal(row->cpu, -1);
        assert_string_equal(row->cgroup, "/a");
        assert_string_equal(row->error, "PMU \"power\" counts for several CPUs at once, whatever cgroup runs on them: "
                                        "this event belongs to collectors.pmu");
        _cleanup_(failures_done) struct failures failures = failures_of(&counts, 1);
        assert_int_equal(failures.n, 2);
        assert_int_equal(cpuset_count(&failures.items[0].cpus), 0);
        rescan("");
    }
}

/* Opening a cgroup that has just been removed fails with ENODEV, also on a machine without hardware events. */
TEST_WITH(test_removed_while_opening, NULL, end)
{
    NEEDS_ENGINE(ENGINE_PERF); /* only the perf engine has descriptors for each cgroup */
    struct fake_sys *(*const machines[])(void) = {fake_machine_one_pmu, fake_machine_no_pmu};

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        cgroup_rig_start(&rig, machines[i](), GROUPS("[{name: core, events: cycles}, {name: software, events: cs}]"));
        fake_cgroup_remove(rig.fake, CGROUP);
        assert_int_equal(cgroup_counts_open(&rig_engine, &rig.env, "/a", "/a", CGROUP, &counts), -ENODEV);
        assert_null(counts);
        end(state);
    }
}

/* A reload that notices the removal first reads the cgroup one last time. */
TEST_WITH(test_removed_before_reload, NULL, end)
{
    NEEDS_ENGINE(ENGINE_PERF); /* only the perf engine has descriptors for each cgroup */
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}]"));
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    assert_int_equal(resume(CGROUP), -ENODEV);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(core("cycles"), 100);
}

/*
 * If descriptors run out, groups that are completely open are read, and the others are opened once descriptors are
 * free.
 */
TEST_WITH(test_out_of_descriptors, NULL, end)
{
    for (unsigned after = 0; after < 16; after++) {
        struct fake_sys *fake = fake_machine_one_pmu();
        fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = after});
        begin(fake,
              GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]"));
        assert_int_equal(rig.fake->n_open, after & ~1U);
        assert_int_equal(group_set_descriptors(&counts->groups), cgroup_rig_own(after & ~1U));
        struct failures failures = failures_of(&counts, 1);
        assert_int_equal(failures.n, after < 8 ? 4 : 2);
        assert_string_equal(failures.items[0].reason, "EMFILE");
        assert_int_equal(failures.items[0].n_targets, 1);
        failures_done(&failures);
        fake_fail_no_more(rig.fake);
        assert_int_equal(resume(CGROUP), 0);
        assert_int_equal(rig.fake->n_open, 16);
        assert_n_failures(0);
        assert_int_equal(rig.snapshot.n_rows, 2);
        run(3, 3, 5);
        assert_int_equal(core("instructions"), 5);
        end(state);
    }
}

/* A reload keeps unchanged groups open. With per_cpu, per-CPU series replace the sums. */
TEST_WITH(test_reload, NULL, end)
{
    begin(fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}, {name: software, events: cs}]"));
    run(0, 0, 10);
    uint64_t id = core_row()->id;
    configure(GROUPS("[{name: software, events: '{cs,faults}'}, {name: core, events: cycles}]"));
    assert_int_equal(core_row()->id, id);
    run(0, 0, 10);
    assert_int_equal(core("cycles"), 20);
    assert_int_equal(value("page_faults", "software", "software"), 10);
    configure(GROUPS_PER_CPU("[{name: core, events: cycles}]"));
    assert_int_equal(rig.snapshot.n_rows, 4);
    assert_int_equal(rig.fake->n_open, 4);
}

CGROUP_RIG_MAIN()
