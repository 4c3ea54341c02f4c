/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that are opened again, while CPUs, PMUs and counters come and go on machines that tests play. */
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CORE CPU_GROUPS("[{name: core, events: cycles}]")
#define CORE_PAIR CPU_GROUPS("[{name: core, events: '{cycles,instructions}'}]")

/* Reads, and gives a count of a CPU in the group core. */
static uint64_t core_on(struct rig *rig, const char *metric, int cpu)
{
    return series_value(rig_read(rig), CPU_SERIES, metric, cpu, "cpu", "core");
}

/* --- events that are tried again --- */

/* An event that another profiler held counts after a reload, as the remedies say; the rest of the group goes on. */
static void test_reload_tries_again(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
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
    unsigned opens = fake->calls[FAKE_OPEN];
    rig_configure(&rig, CORE_PAIR);
    assert_int_equal(fake->calls[FAKE_OPEN], opens);
    rig_done(&rig);
}

/* Descriptors were short at the first opening: a group that is tried again by itself stays one group. */
static void test_retry(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
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
    unsigned opens = fake->calls[FAKE_OPEN];
    assert_int_equal(registry_retry(rig.registry, NULL), 0);
    assert_int_equal(fake->calls[FAKE_OPEN], opens);
    rig_done(&rig);
}

/* An event that this machine does not have is not tried again. */
static void test_retry_is_of_no_use(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(),
             CPU_GROUPS("[{name: core, events: 'cycles,cs'}, {name: bad, events: nothere/x/}]"));
    assert_true(registry_failures(rig.registry)->n > 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    rig_done(&rig);
}

/* A module was loaded: its event was missing in a group that is counted otherwise. */
static void test_pmu_comes_later(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: mixed, events: 'cs,late/event=1,name=ticks/'}]"));
    assert_int_equal(registry_failures(rig.registry)->n, 1);
    fake_add_pmu(rig.fake, "late", 99, "cpus", "0-3");
    fake_pmu_file(rig.fake, "late", "format/event", "config:0-7");
    rig_rescan(&rig, "");
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(rig.fake, 10);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "ticks", 2, "late", "mixed-2"), 10);
    rig_done(&rig);
}

/* --- CPUs that leave and return --- */

enum change { NOTHING, LEAVES, RETURNS, BLINKS };

struct step {
    enum change change;  /* of CPU 3 */
    uint64_t unread_ns;  /* that pass then */
    const char *rescan;  /* NULL: none; else the CPUs that the kernel's messages name */
    uint64_t ns;         /* that pass before the reading */
    uint64_t out_cycles; /* of CPU 3, and the same enabled time */
    unsigned out_n_open;
    bool out_absent, out_stale;
};

static const struct {
    const char *name;
    struct step steps[3];
} scenarios[] = {
    {"leaves and returns",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false},
      {LEAVES, 0, "3", 1000, NOT_SHOWN, 6, true, false},
      {RETURNS, 0, "", 10, 110, 8, false, false}}},
    /* Back before anybody looked: the messages still say that it was away, and its groups are dead. */
    {"blinks", {{NOTHING, 0, NULL, 100, 100, 8, false, false}, {BLINKS, 0, "3", 10, 110, 8, false, false}}},
    /* Messages that were lost may have been about any CPU: a group that was not away has counted up to now. */
    {"messages lost",
     {{NOTHING, 0, NULL, 100, 100, 8, false, false}, {NOTHING, 1000, "0-3", 10, 1110, 8, false, false}}},
    /* A suspend sends no message: the reading is enough. */
    {"suspend",
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

static void test_hotplug(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct rig rig;
        rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: 'cycles,instructions'}]"));
        for (size_t k = 0; k < ARRAY_SIZE(scenarios[i].steps) && scenarios[i].steps[k].out_n_open; k++)
            run_step(&rig, scenarios[i].name, &scenarios[i].steps[k]);
        rig_done(&rig);
    }
}

static void test_cpu_comes_later(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
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
    int in_error;
    enum reason_span out_span;
    size_t out_failures; /* a CPU that is not there yet is no failure that an operator can fix */
} refusals[] = {
    {EMFILE, REASON_PASSES, 2}, {ENFILE, REASON_PASSES, 2}, {ENOMEM, REASON_PASSES, 2}, {EBUSY, REASON_PASSES, 2},
    {EINTR, REASON_BRIEF, 2},   {ENODEV, REASON_BRIEF, 0},  {EACCES, REASON_LASTS, 2},
};

/* A CPU came back, and the kernel did not let it be counted yet: no further message comes. */
static void test_cpu_returns_and_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        bool lasts = refusals[i].out_span == REASON_LASTS;
        struct rig rig;

        rig_init(&rig, fake_machine_one_pmu(), CORE_PAIR);
        fake_advance(rig.fake, 100);
        rig_read(&rig);
        change_cpu(rig.fake, BLINKS);
        fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = refusals[i].in_error});
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

/* A PMU that is read on the lowest CPU: the totals of that CPU go on when it is back. */
static void test_lowest_cpu_leaves_and_returns(void **state)
{
    static const char ticks[] = "perf_pmu_ticks_total{cpu=\"%d\",pmu=\"lone\",group=\"p\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
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

/* A thousand transitions: no descriptor leaks, no total falls. */
static void test_transitions(void **state)
{
    uint64_t before = 0;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: 'cycles,instructions'}]"));
    for (unsigned i = 0; i < 1000; i++) {
        bool online = i % 2;
        change_cpu(rig.fake, online ? RETURNS : LEAVES);
        rig_rescan(&rig, online ? "" : "3");
        fake_advance(rig.fake, 10);
        const struct series *series = find_series(rig_read(&rig), CPU_SERIES, "cycles", 3, "cpu", "core");
        assert_int_equal(series->visible, online);
        assert_true(series->value >= before);
        before = series->value;
        assert_int_equal(rig.fake->n_open, online ? 8 : 6);
    }
    assert_int_equal(before, 5000);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reload_tries_again),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_retry_is_of_no_use),
        cmocka_unit_test(test_pmu_comes_later),
        cmocka_unit_test(test_hotplug),
        cmocka_unit_test(test_cpu_comes_later),
        cmocka_unit_test(test_cpu_returns_and_is_refused),
        cmocka_unit_test(test_lowest_cpu_leaves_and_returns),
        cmocka_unit_test(test_transitions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
