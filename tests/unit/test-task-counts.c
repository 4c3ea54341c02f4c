/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a task and its children on simulated machines: which PMUs are used, how counts are scaled, and what is
 * refused.
 */
#include "collectors/task-counts.h"

#include "base/cleanup.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define PID 4321

static const char *const collectors[] = {TASK_COLLECTOR, NULL};

struct task_rig {
    struct fake_sys *fake;
    struct machine *machine;
    struct config *config;
    struct snapshot snapshot;
    struct task_counts *counts;
};

static void task_init(struct task_rig *rig, struct fake_sys *fake, const char *groups)
{
    char text[1024];

    snprintf(text, sizeof(text), "collectors: {cpu: {groups: %s}}", groups);
    *rig = (struct task_rig){.fake = fake, .machine = machine_of(&fake->sys), .config = config_of(text)};
    rig->snapshot.collector_names = collectors;
    assert_int_equal(task_counts_new(&fake->sys, rig->machine, PID, &rig->snapshot, &rig->counts), 0);
    assert_int_equal(task_counts_open(rig->counts, &rig->config->cpu.groups), 0);
    fake_exec(fake);
}

static void task_done(struct task_rig *rig)
{
    task_counts_free(rig->counts);
    snapshot_done(&rig->snapshot);
    config_free(rig->config);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

/*
 * Runs the task on this CPU for `ns` nanoseconds. Events on other CPUs, and events of PMUs that do not cover this CPU,
 * do not count.
 */
static void run_on(struct task_rig *rig, unsigned cpu, uint64_t ns)
{
    for (size_t i = 0; i < rig->fake->n_events; i++) {
        struct fake_event *event = rig->fake->events[i];
        if (event)
            event->off_counter = (event->cpu >= 0 && event->cpu != (int)cpu) || !cpuset_has(&event->pmu->cpus, cpu);
    }
    fake_advance(rig->fake, ns);
}

static const struct row *find_row(const struct task_rig *rig, const char *pmu, const char *event, size_t *ret)
{
    for (size_t i = 0; i < rig->snapshot.n_rows; i++) {
        const struct row *row = rig->snapshot.rows[i];
        for (size_t k = 0; k < row->n_counters && str_equal(row->pmu, pmu); k++)
            if (str_equal(row->counters[k].event, event)) {
                *ret = k;
                return row;
            }
    }
    fail_msg("PMU %s has no row with %s", pmu, event);
    return NULL;
}

#define UNKNOWN UINT64_MAX

static void expect(struct task_rig *rig, const char *pmu, const char *event, uint64_t out)
{
    size_t i;

    assert_int_equal(task_counts_read(rig->counts), 0);
    const struct row *row = find_row(rig, pmu, event, &i);
    assert_int_equal(row->counters[i].known ? row->counters[i].value : UNKNOWN, out);
}

static void expect_share(const struct task_rig *rig, const char *pmu, const char *event, uint64_t enabled,
                         uint64_t running)
{
    size_t i;
    const struct row *row = find_row(rig, pmu, event, &i);

    assert_int_equal(row->enabled_ns, enabled);
    assert_int_equal(row->running_ns, running);
}

static void expect_failure(const struct task_rig *rig, const char *event, const char *out)
{
    const struct failures *failures = task_counts_failures(rig->counts);

    for (size_t i = 0; i < failures->n; i++)
        if (str_equal(failures->items[i].event, event)) {
            assert_string_equal(failures->items[i].message, out);
            return;
        }
    fail_msg("%s did not fail", event);
}

/* All events are inherited, enabled at exec(2), and not bound to a CPU. */
TEST(test_attributes)
{
    struct task_rig rig;

    task_init(&rig, fake_machine_one_pmu(), "[{name: g, events: \"cycles,instructions,page-faults,task-clock\"}]");
    assert_int_equal(rig.fake->n_open, 4);
    for (size_t i = 0; i < rig.fake->n_events; i++) {
        const struct fake_event *event = rig.fake->events[i];
        if (!event)
            continue;
        assert_int_equal(event->cpu, -1);
        assert_true(event->attr.inherit);
        assert_int_equal(event->attr.disabled, event->leader == event);
        assert_int_equal(event->attr.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
        assert_int_equal(event->leader->pmu == event->pmu, true); /* software events do not depend on hardware events */
    }
    task_done(&rig);
}

/* Hardware events share the counters and are scaled accordingly. Software events are counted all the time. */
TEST(test_scaled)
{
    struct task_rig rig;
    size_t n;

    task_init(&rig, fake_machine_two_counters(),
              "[{name: a, events: \"cycles,page-faults,task-clock\"}, {name: b, events: \"{instructions,branches}\"}]");
    fake_rate(rig.fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 3, 1});
    expect(&rig, "cpu", "cycles", UNKNOWN);
    fake_advance(rig.fake, 3000);
    expect(&rig, "cpu", "cycles", 3000);
    expect(&rig, "cpu", "instructions", 9000);
    expect(&rig, "software", "page_faults", 3000);
    expect(&rig, "software", "task_clock", 3000);
    expect_share(&rig, "cpu", "instructions", 3000, 2000);
    expect_share(&rig, "software", "page_faults", 3000, 3000);
    assert_int_equal(find_row(&rig, "cpu", "cycles", &n)->state, ROW_MULTIPLEXED);
    task_done(&rig);
}

/* The count of an event that never had a counter is unknown. */
TEST(test_never_ran)
{
    struct task_rig rig;

    task_init(&rig, fake_machine_one_pmu(), "[{name: a, events: \"cycles,page-faults\"}]");
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_advance(rig.fake, 3000);
    expect(&rig, "cpu", "cycles", UNKNOWN);
    expect(&rig, "software", "page_faults", 3000);
    task_done(&rig);
}

/*
 * With two kinds of core, each PMU counts during its own time, unscaled, and software events are counted once. If the
 * kernel does not accept the PMU's type in `config`, an event is opened for each CPU.
 */
static void check_kinds(bool extended, unsigned out_open)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct task_rig rig;

    fake->extended_types = extended;
    task_init(&rig, fake, "[{name: a, events: \"{instructions,page-faults}\"}]");
    assert_int_equal(fake->n_open, out_open);
    run_on(&rig, 2, 700);
    expect(&rig, "armv8_cortex_a55", "instructions", 700);
    expect(&rig, "armv8_cortex_a76", "instructions", UNKNOWN);
    run_on(&rig, 5, 200);
    run_on(&rig, 6, 100);
    expect(&rig, "armv8_cortex_a55", "instructions", 700);
    expect(&rig, "armv8_cortex_a76", "instructions", 300);
    expect_share(&rig, "armv8_cortex_a76", "instructions", 300, 300);
    expect(&rig, "software", "page_faults", 1000);
    task_done(&rig);
}

TEST(test_kinds)
{
    check_kinds(true, 3);
    check_kinds(false, 9);
}

/* On each kind of core, missing running time is attributed to the groups that share the counters. */
TEST(test_kinds_multiplexed)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct task_rig rig;

    fake->extended_types = true;
    task_init(&rig, fake,
              "[{name: a, events: \"{cycles,instructions,branches}\"},"
              " {name: b, events: \"{cache-misses,branch-misses,cache-references}\"}]");
    fake_find_pmu(fake, "armv8_cortex_a55")->counters = fake_find_pmu(fake, "armv8_cortex_a76")->counters = 3;
    run_on(&rig, 0, 800);
    run_on(&rig, 4, 200);
    expect(&rig, "armv8_cortex_a55", "instructions", 800);
    expect(&rig, "armv8_cortex_a76", "instructions", 200);
    expect(&rig, "armv8_cortex_a76", "cache_misses", 200);
    expect_share(&rig, "armv8_cortex_a55", "instructions", 800, 400);
    task_done(&rig);
}

/* An event that only one kind of core has is not scaled up for the time on the other kind. */
TEST(test_one_kind)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct task_rig rig;

    fake->extended_types = true;
    task_init(&rig, fake, "[{name: a, events: \"armv8_cortex_a76/config=0x8/\"}]");
    run_on(&rig, 0, 800);
    run_on(&rig, 4, 200);
    assert_int_equal(task_counts_read(rig.counts), 0);
    assert_int_equal(rig.snapshot.n_rows, 1);
    assert_string_equal(rig.snapshot.rows[0]->pmu, "armv8_cortex_a76");
    assert_int_equal(rig.snapshot.rows[0]->counters[0].value, 200);
    task_done(&rig);
}

/* If the kernel is excluded, the names of events say so. Events that occur only in the kernel are refused. */
TEST(test_user_only)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct task_rig rig;

    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                          .error = EACCES,
                                          .times = 1,
                                          .on_event = true,
                                          .type = PERF_TYPE_SOFTWARE,
                                          .config = PERF_COUNT_SW_DUMMY});
    task_init(&rig, fake, "[{name: a, events: \"cycles,instructions:u,page-faults,task-clock,context-switches\"}]");
    assert_true(task_counts_user_only(rig.counts));
    for (size_t i = 0; i < fake->n_events; i++)
        assert_true(!fake->events[i] || fake->events[i]->attr.exclude_kernel);
    fake_advance(fake, 1000);
    expect(&rig, "cpu", "cycles_user", 1000);
    expect(&rig, "cpu", "instructions_user", 1000);
    expect(&rig, "software", "page_faults_user", 1000);
    expect(&rig, "software", "task_clock", 1000);
    expect(&rig, "software", "context_switches", UNKNOWN);
    expect_failure(&rig, "context-switches",
                   "this happens in the kernel, but this user may count only user mode: run perfcountd with sudo, or "
                   "lower kernel.perf_event_paranoid to 1");
    task_done(&rig);
}

/* If an event cannot count a task, the reason is reported. */
TEST(test_refused)
{
    struct task_rig rig;

    task_init(&rig, fake_machine_one_pmu(), "[{name: a, events: \"power/energy-pkg/,cycles\"}]");
    expect_failure(
        &rig, "power/energy-pkg/",
        "PMU \"power\" counts for several CPUs at once, whatever runs on them, so it cannot count one command; "
        "use -a");
    fake_advance(rig.fake, 10);
    expect(&rig, "cpu", "cycles", 10);
    task_done(&rig);
    task_init(&rig, fake_machine_no_pmu(), "[{name: a, events: \"cycles,page-faults\"}]");
    assert_int_equal(task_counts_failures(rig.counts)->n, 1);
    assert_string_equal(task_counts_failures(rig.counts)->items[0].reason, "no_pmu");
    task_done(&rig);
}

/* An event that cannot be read is unknown; the other events have counts. */
TEST(test_unreadable)
{
    struct task_rig rig;

    task_init(&rig, fake_machine_one_pmu(), "[{name: a, events: \"cycles\"}, {name: b, events: \"page-faults\"}]");
    fake_advance(rig.fake, 10);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ,
                                              .error = EIO,
                                              .on_event = true,
                                              .type = PERF_TYPE_HARDWARE,
                                              .config = PERF_COUNT_HW_CPU_CYCLES});
    expect(&rig, "cpu", "cycles", UNKNOWN);
    expect(&rig, "software", "page_faults", 10);
    task_done(&rig);
}

/* If one call fails while events are opened, the other events still count, and every descriptor is closed. */
TEST(test_failing_calls)
{
    static const enum fake_call calls[] = {FAKE_OPEN, FAKE_IOCTL};

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        for (unsigned k = 0; k < 6; k++) {
            struct fake_sys *fake = fake_machine_one_pmu();
            struct task_rig rig;
            fake_fail(fake, (struct fake_failure){.call = calls[i], .error = EMFILE, .after = k, .times = 1});
            task_init(&rig, fake, "[{name: a, events: \"cycles,instructions\"}, {name: b, events: \"page-faults\"}]");
            fake_advance(fake, 10);
            assert_int_equal(task_counts_read(rig.counts), 0);
            size_t n = task_counts_failures(rig.counts)->n;
            assert_true(n <= 1);
            assert_int_equal(fake->n_open, 3 - n);
            task_done(&rig);
        }
}

TEST_MAIN(NULL, NULL)
