/* SPDX-License-Identifier: Apache-2.0 */
/* How configured groups are opened and counted, while CPUs, PMUs and counters come and go on simulated machines. */
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CORE CPU_GROUPS("[{name: core, events: cycles}]")

/* Reads all collectors and returns a value of the group "core" on a CPU. */
static uint64_t core_on(struct rig *rig, const char *metric, int cpu)
{
    return series_value(rig_read(rig), CPU_SERIES, metric, cpu, "cpu", "core");
}

RIG_TEST(test_two_kinds_of_cpu, fake_machine_big_little,
         CPU_GROUPS("[{name: core, events: 'cycles'}, {name: big, events: 'armv8_cortex_a76/l2d_cache_refill/'}]"))
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 10);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(snapshot->n_rows, 12);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "armv8_cortex_a55", "core"), 10);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 7, "armv8_cortex_a76", "core"), 10);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "l2d_cache_refill", 4, "armv8_cortex_a76", "big"), 10);
    assert_null(find_series(snapshot, CPU_SERIES, "l2d_cache_refill", 3, "armv8_cortex_a76", "big"));
    assert_int_equal(registry_failures(rig->registry)->n, 0);
}

RIG_TEST(test_no_pmu, fake_machine_no_pmu,
         CPU_GROUPS("[{name: core, events: 'cycles,cs,instructions'}, {name: bad, events: nothere/x/}]"))
{
    struct rig *rig = *state;
    char **sentences;
    size_t n, unavailable = 0;

    fake_advance(rig->fake, 10);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(registry_failures(rig->registry)->n, 3);
    assert_int_equal(registry_retry_span(rig->registry), REASON_LASTS); /* there is nothing to retry */
    assert_int_equal(failures_sentences(registry_failures(rig->registry), &sentences, &n), 0);
    assert_int_equal(n, 2);
    assert_true(str_starts(sentences[0], "cpu 0-1 cycles, instructions: this machine offers no hardware PMU: "));
    strings_free(sentences, n);
    assert_int_equal(series_value(snapshot, "perfcountd_events_unavailable{collector=\"cpu\",group=\"core\","
                                            "event=\"cycles\",pmu=\"cpu\",reason=\"no_pmu\"}"),
                     2);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 1, "software", "core"), 10);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"unavailable\"}"), 2);
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state == ROW_UNAVAILABLE) {
            unavailable++;
            assert_non_null(snapshot->rows[i]->error);
            assert_null(snapshot->rows[i]->counters[0].series);
        }
    assert_int_equal(unavailable, 6);
}

/* An event that no CPU counts is listed once, not once per CPU. */
RIG_TEST(test_counted_nowhere, fake_machine_one_pmu,
         CPU_GROUPS("[{name: mixed, events: 'cs,power/event=2/'}, {name: none, events: power/event=3/}]"))
{
    struct rig *rig = *state;

    for (size_t i = 0; i < 2; i++) {
        const struct snapshot *snapshot = rig_read(rig);
        const struct failures *failures = registry_failures(rig->registry);
        assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"counting\"}"), 4);
        assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"unavailable\"}"), 2);
        assert_int_equal(snapshot->n_rows, 4 + 2);
        assert_int_equal(find_row(snapshot, "power", "mixed")->cpu, -1);
        assert_int_equal(failures->n, 2);
        assert_int_equal(failures->items[0].n_targets, 1);
        assert_string_equal(failures->items[0].message,
                            "PMU \"power\" counts for several CPUs at once: this event belongs to collectors.pmu");
        rig_rescan(rig, "");
    }
}

RIG_TEST(test_split, fake_machine_two_counters,
         CPU_GROUPS("[{name: cache, events: 'cycles,instructions,branches,cache-misses,branch-misses,cs'}]"))
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 300 * NSEC_PER_MSEC);
    const struct snapshot *snapshot = rig_read(rig);
    uint64_t cycles = series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "cache");
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "cache"), NOT_SHOWN);
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "branches", 0, "cpu", "cache-2"), NOT_SHOWN);
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "branch_misses", 0, "cpu", "cache-3"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"multiplexed\"}"), 6);
    assert_in_range(cycles, 299 * NSEC_PER_MSEC, 300 * NSEC_PER_MSEC);
    assert_true(snapshot->rows[0]->counters[0].raw < cycles);
}

RIG_TEST(test_strict, fake_machine_two_counters,
         CPU_GROUPS("[{name: all, strict: true, events: 'cycles,instructions,branches'}, {name: soft, events: cs}]"))
{
    struct rig *rig = *state;

    const struct failures *failures = registry_failures(rig->registry);
    assert_int_equal(failures->n, 3);
    assert_string_equal(failures->items[2].reason, "EINVAL");
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(failures->items[i].message, "(EINVAL): only 2 of its 3 events can be counted at once"));
    assert_null(find_series(rig_read(rig), CPU_SERIES, "cycles", 0, "cpu", "all"));
}

/* If the kernel refuses one event of a strict group, the other events name it as the cause. */
RIG_TEST(test_strict_refused, fake_machine_one_pmu, CPU_GROUPS("[]"))
{
    struct rig *rig = *state;

    fake_fail(rig->fake,
              (struct fake_failure){
                  .call = FAKE_OPEN, .error = EINVAL, .on_event = true, .type = PERF_TYPE_HARDWARE, .config = 4});
    rig_configure(rig, CPU_GROUPS("[{name: all, strict: true, events: 'cycles,branches'}]"));
    const struct failures *failures = registry_failures(rig->registry);
    assert_int_equal(failures->n, 2);
    assert_non_null(strstr(failures->items[0].message, "because of branches: the kernel refuses these attributes"));
    assert_non_null(strstr(failures->items[1].message, "the kernel refuses these attributes (EINVAL)"));
}

/* A weak group of seven events is split on a PMU with six counters, and all events are counted. */
RIG_TEST(test_arm, fake_machine_big_little, CPU_GROUPS("[{name: all, events: '{cycles,instructions,r1,r2,r3,r4,r5}'}]"))
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 300 * NSEC_PER_MSEC);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "r4", 0, "armv8_cortex_a55", "all"), NOT_SHOWN);
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "r5", 0, "armv8_cortex_a55", "all-2"), NOT_SHOWN);
}

/* A strict group with a missing event is not opened. */
RIG_TEST(test_strict_left_out, fake_machine_one_pmu,
         CPU_GROUPS("[{name: core, strict: true, events: 'cycles,late/event=1,name=ticks/'}]"))
{
    struct rig *rig = *state;

    const struct failures *failures = registry_failures(rig->registry);
    assert_int_equal(rig->fake->n_open, 0);
    assert_int_equal(failures->n, 2);
    assert_non_null(strstr(failures->items[1].message, "left out with its strict group"));
}

/*
 * While a group starves, its counters are left out and its times are shown. The next count is extrapolated over the
 * time during which the group starved.
 */
RIG_TEST(test_starved, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 100);
    assert_int_equal(core_on(rig, "cycles", 0), 100);
    fake_find_pmu(rig->fake, "cpu")->counters = 0;
    fake_advance(rig->fake, 100);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "core"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 200);
    assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
    assert_true(snapshot->rows[0]->counters[0].known);
    assert_int_equal(snapshot->rows[0]->counters[0].value, 100);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"starved\"}"), 4);
    fake_find_pmu(rig->fake, "cpu")->counters = 4;
    fake_advance(rig->fake, 100);
    assert_int_equal(core_on(rig, "cycles", 0), 300);
}

/*
 * A pinned group that finds no counter reads as 0 bytes. Such a group is enabled again after a second, then at growing
 * intervals, and its values are unknown until it has run.
 */
RIG_TEST(test_error_state, fake_machine_no_pmu, CPU_GROUPS("[{name: soft, events: cs}]"))
{
    struct rig *rig = *state;

    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_READ, .error = 0});
    rig_read(rig);
    fake_fail_no_more(rig->fake);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
    assert_false(snapshot->rows[0]->counters[0].known);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "soft"), NOT_SHOWN);
    fake_advance(rig->fake, 100);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "context_switches", 0, "software", "soft"), 100);
    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_READ, .error = 0});
    unsigned before = rig->fake->calls[FAKE_IOCTL];
    for (unsigned second = 0; second < 16; second++) {
        snapshot = rig_read(rig);
        assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
        assert_non_null(strstr(snapshot->rows[0]->cause, "pinned"));
        fake_advance(rig->fake, NSEC_PER_SEC);
    }
    /* the group is enabled four times on each of two CPUs */
    assert_int_equal(rig->fake->calls[FAKE_IOCTL], before + 8);
    fake_fail_no_more(rig->fake);
    assert_int_equal(rig_read(rig)->rows[0]->state, ROW_COUNTING);
}

#define CORE_PAIR CPU_GROUPS("[{name: core, events: '{cycles,instructions}'}]")

/* --- retried events --- */

/*
 * An event that another profiler occupied is counted after a reload, as the failure's remedy says. The other events of
 * the group are not reopened.
 */
TEST(test_reload_tries_again)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    rig_refuse(fake, EBUSY, PERF_COUNT_HW_INSTRUCTIONS, -1);
    rig_init(&rig, fake, CORE_PAIR);
    fake_advance(fake, 100);
    rig_read(&rig);
    rig_configure(&rig, CORE_PAIR);
    assert_int_equal(registry_failures(rig.registry)->n, 1);
    fake_fail_no_more(fake);
    rig_configure(&rig, CORE_PAIR);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(fake, 10);
    assert_int_equal(core_on(&rig, "cycles", 1), 110);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "instructions", 1, "cpu", "core-2"), 10);
    assert_int_equal(rig_read(&rig)->n_rows, 8);
    rig_done(&rig);
}

/* If descriptors are scarce at first, a retry opens all events as one group. */
TEST(test_retry)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 3});
    rig_init(&rig, fake, CORE_PAIR);
    assert_int_equal(fake->n_open, 2);
    assert_int_equal(registry_failures(rig.registry)->n, 2);
    assert_string_equal(registry_failures(rig.registry)->items[0].reason, "EMFILE");
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    fake_advance(fake, 100);
    assert_int_equal(core_on(&rig, "cycles", 0), 100);
    assert_int_equal(registry_retry(rig.registry, NULL), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    fake_fail_no_more(fake);
    assert_int_equal(registry_retry(rig.registry, NULL), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(fake, 10);
    assert_int_equal(core_on(&rig, "cycles", 0), 110);
    assert_int_equal(core_on(&rig, "instructions", 1), 10);
    assert_int_equal(fake->n_open, 8);
    rig_done(&rig);
}

/* When a PMU appears, for example because a kernel module is loaded, its configured events are counted. */
RIG_TEST(test_pmu_comes_later, fake_machine_one_pmu,
         CPU_GROUPS("[{name: mixed, events: 'cs,late/event=1,name=ticks/'}]"))
{
    struct rig *rig = *state;

    assert_int_equal(registry_failures(rig->registry)->n, 1);
    fake_add_pmu(rig->fake, "late", 99, "cpus", "0-3");
    fake_pmu_file(rig->fake, "late", "format/event", "config:0-7");
    rig_rescan(rig, "");
    assert_int_equal(registry_failures(rig->registry)->n, 0);
    fake_advance(rig->fake, 10);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "ticks", 2, "late", "mixed-2"), 10);
}

/* --- CPUs that go offline and return --- */

enum change { NOTHING, LEAVES, RETURNS, BLINKS };

struct step {
    enum change change;  /* what first happens to CPU 3 */
    uint64_t unread_ns;  /* the time that passes after the change */
    const char *rescan;  /* the CPUs that were offline according to the kernel's messages; NULL: no rescan */
    uint64_t ns;         /* the time that passes before the reading */
    uint64_t out_cycles; /* cycles of CPU 3, which are equal to its enabled time */
    unsigned out_n_open;
    bool out_absent, out_stale;
};

static const struct {
    const char *name;
    struct step steps[3];
} scenarios[] = {
    {"CPU 3 goes offline and returns",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false},
      {LEAVES, 0, "3", 1000, NOT_SHOWN, 6, true, false},
      {RETURNS, 0, "", 10, 110, 8, false, false}}},
    /* The CPU is back before the rescan: the messages report that it was offline, and its groups are dead. */
    {"CPU 3 goes offline and returns before the rescan",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false}, {BLINKS, 0, "3", 10, 110, 8, false, false}}},
    /*
     * Lost messages may have been about any CPU. A group whose CPU was never offline has counted without interruption.
     */
    {"messages were lost",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false}, {NOTHING, 1000, "0-3", 10, 1110, 8, false, false}}},
    /* A suspend sends no messages, so the reading must notice it. */
    {"a suspend",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false},
      {BLINKS, 0, NULL, 0, NOT_SHOWN, 8, false, true},
      {NOTHING, 0, "", 10, 110, 8, false, false}}},
};

static void change_cpu(struct fake_sys *fake, enum change change)
{
    if (change == LEAVES || change == BLINKS)
        fake_set_online(fake, 3, false);
    if (change == RETURNS || change == BLINKS)
        fake_set_online(fake, 3, true);
}

static void run_step(struct rig *rig, const char *name, const struct step *step)
{
    change_cpu(rig->fake, step->change);
    fake_advance(rig->fake, step->unread_ns);
    if (step->rescan)
        rig_rescan(rig, step->rescan);
    fake_advance(rig->fake, step->ns);
    uint64_t cycles = core_on(rig, "cycles", 3);
    if (cycles != step->out_cycles)
        fail_msg("%s: %llu", name, (unsigned long long)cycles);
    const struct snapshot *snapshot = rig_read(rig);
    uint64_t enabled = series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 3, "cpu", "core");
    if (!step->out_stale)
        assert_int_equal(enabled, step->out_cycles);
    if (!step->out_stale)
        assert_int_equal(rig->fake->n_open, step->out_n_open);
    assert_int_equal(snapshot->rows[3]->cpu, 3);
    assert_int_equal(snapshot->rows[3]->absent, step->out_absent);
    assert_int_equal(registry_is_stale(rig->registry), step->out_stale);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"counting\"}"),
                     step->out_cycles == NOT_SHOWN ? 3 : 4);
}

TEST(test_hotplug)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct rig rig;
        rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: 'cycles,instructions'}]"));
        for (size_t k = 0; k < ARRAY_SIZE(scenarios[i].steps) && scenarios[i].steps[k].out_n_open; k++)
            run_step(&rig, scenarios[i].name, &scenarios[i].steps[k]);
        rig_done(&rig);
    }
}

TEST(test_cpu_comes_later)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    fake_set_online(fake, 3, false);
    rig_init(&rig, fake, CORE);
    fake_advance(fake, 100);
    assert_null(find_series(rig_read(&rig), CPU_SERIES, "cycles", 3, "cpu", "core"));
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_set_online(fake, 3, true);
    rig_rescan(&rig, "");
    fake_advance(fake, 10);
    assert_int_equal(core_on(&rig, "cycles", 3), 10);
    rig_done(&rig);
}

static const struct {
    enum fake_call in_call;
    int in_error;
    enum reason_span out_span;
    size_t out_failures; /* an operator cannot fix a CPU that is not online yet, so this is not a failure */
} refusals[] = {
    {FAKE_OPEN, EMFILE, REASON_PASSES, 2}, {FAKE_OPEN, ENFILE, REASON_PASSES, 2}, {FAKE_OPEN, ENOMEM, REASON_PASSES, 2},
    {FAKE_OPEN, EBUSY, REASON_PASSES, 2},  {FAKE_OPEN, EINTR, REASON_BRIEF, 2},   {FAKE_OPEN, ENODEV, REASON_BRIEF, 0},
    {FAKE_OPEN, EACCES, REASON_LASTS, 2},  {FAKE_IOCTL, ENODEV, REASON_BRIEF, 0},
};

/*
 * When a CPU returns, the kernel refuses to open its groups. The retry must open the groups, since the kernel sends no
 * further message.
 */
TEST(test_cpu_returns_and_is_refused)
{
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        bool lasts = refusals[i].out_span == REASON_LASTS;
        struct rig rig;

        rig_init(&rig, fake_machine_one_pmu(), CORE_PAIR);
        fake_advance(rig.fake, 100);
        rig_read(&rig);
        change_cpu(rig.fake, BLINKS);
        fake_fail(rig.fake, (struct fake_failure){.call = refusals[i].in_call, .error = refusals[i].in_error});
        rig_rescan(&rig, "3");
        assert_int_equal(registry_retry_span(rig.registry), refusals[i].out_span);
        assert_int_equal(registry_failures(rig.registry)->n, refusals[i].out_failures);
        fake_advance(rig.fake, 100);
        assert_int_equal(core_on(&rig, "cycles", 3), NOT_SHOWN);
        assert_int_equal(core_on(&rig, "cycles", 0), 200);
        fake_fail_no_more(rig.fake);
        assert_int_equal(registry_retry(rig.registry, NULL), 0);
        fake_advance(rig.fake, 10);
        assert_int_equal(core_on(&rig, "cycles", 3), lasts ? NOT_SHOWN : 110);
        if (!lasts) {
            assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
            assert_int_equal(registry_failures(rig.registry)->n, 0);
        }
        rig_done(&rig);
    }
}

/* A PMU is read on its lowest online CPU. When a lower CPU returns, the totals of that CPU continue. */
TEST(test_lowest_cpu_leaves_and_returns)
{
    static const char ticks[] = "perf_pmu_ticks_total{cpu=\"%d\",pmu=\"lone\",group=\"p\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    fake_add_pmu(fake, "lone", 99, NULL, "0-3");
    fake_pmu_file(fake, "lone", "format/event", "config:0-7");
    rig_init(&rig, fake,
             "collectors: {self: {enabled: false}, cpu: {groups: []},"
             " pmu: {groups: [{name: p, events: 'lone/event=1,name=ticks/'}]}}");
    fake_advance(fake, 100);
    assert_int_equal(series_value(rig_read(&rig), ticks, 0), 100);
    fake_set_online(fake, 0, false);
    rig_rescan(&rig, "0");
    fake_advance(fake, 10);
    assert_int_equal(series_value(rig_read(&rig), ticks, 1), 10);
    assert_int_equal(series_value(rig_read(&rig), ticks, 0), NOT_SHOWN);
    fake_set_online(fake, 0, true);
    rig_rescan(&rig, "");
    fake_advance(fake, 10);
    assert_int_equal(series_value(rig_read(&rig), ticks, 0), 110);
    assert_int_equal(series_value(rig_read(&rig), ticks, 1), NOT_SHOWN);
    assert_int_equal(fake->n_open, 1);
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
