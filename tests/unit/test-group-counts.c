/* SPDX-License-Identifier: Apache-2.0 */
/* The groups that configured groups become on machines that tests play, and what they show. */
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CORE CPU_GROUPS("[{name: core, events: cycles}]")

/* Reads, and gives a count of a CPU in the group core. */
static uint64_t core_on(struct rig *rig, const char *metric, int cpu)
{
    return series_value(rig_read(rig), CPU_SERIES, metric, cpu, "cpu", "core");
}

static void test_two_kinds_of_cpu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_big_little(),
             CPU_GROUPS("[{name: core, events: 'cycles'}, {name: big, events: 'armv8_cortex_a76/l2d_cache_refill/'}]"));
    fake_advance(rig.fake, 10);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(snapshot->n_rows, 12);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "armv8_cortex_a55", "core"), 10);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 7, "armv8_cortex_a76", "core"), 10);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "l2d_cache_refill", 4, "armv8_cortex_a76", "big"), 10);
    assert_null(find_series(snapshot, CPU_SERIES, "l2d_cache_refill", 3, "armv8_cortex_a76", "big"));
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    rig_done(&rig);
}

static void test_no_pmu(void **state)
{
    struct rig rig;
    char **sentences;
    size_t n, unavailable = 0;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(),
             CPU_GROUPS("[{name: core, events: 'cycles,cs,instructions'}, {name: bad, events: nothere/x/}]"));
    fake_advance(rig.fake, 10);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(registry_failures(rig.registry)->n, 3);
    assert_int_equal(failures_sentences(registry_failures(rig.registry), &sentences, &n), 0);
    assert_int_equal(n, 2);
    assert_true(str_starts(sentences[0], "cpu 0-1 cycles, instructions: this machine offers no hardware PMU (ENOENT)"));
    strings_free(sentences, n);
    assert_int_equal(series_value(snapshot, "perfcountd_events_unavailable{collector=\"cpu\",group=\"core\","
                                            "event=\"cycles\",pmu=\"cpu\",reason=\"ENOENT\"}"),
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
    rig_done(&rig);
}

static void test_split(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(),
             CPU_GROUPS("[{name: cache, events: 'cycles,instructions,branches,cache-misses,branch-misses'}]"));
    fake_advance(rig.fake, 300 * NSEC_PER_MSEC);
    const struct snapshot *snapshot = rig_read(&rig);
    uint64_t cycles = series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "cache");
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "branches", 0, "cpu", "cache-2"), NOT_SHOWN);
    assert_int_not_equal(series_value(snapshot, CPU_SERIES, "branch_misses", 0, "cpu", "cache-3"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"multiplexed\"}"), 6);
    assert_in_range(cycles, 299 * NSEC_PER_MSEC, 300 * NSEC_PER_MSEC);
    assert_true(snapshot->rows[0]->counters[0].raw < cycles);
    rig_done(&rig);
}

static void test_strict(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(),
             CPU_GROUPS("[{name: all, strict: true, events: 'cycles,instructions,branches'},"
                        " {name: soft, events: cs}]"));
    const struct failures *failures = registry_failures(rig.registry);
    assert_int_equal(failures->n, 3);
    assert_string_equal(failures->items[2].reason, "EINVAL");
    assert_non_null(strstr(failures->items[0].message, "because of branches"));
    assert_null(find_series(rig_read(&rig), CPU_SERIES, "cycles", 0, "cpu", "all"));
    rig_done(&rig);
}

/* An event that is not there keeps a strict group closed. */
static void test_strict_left_out(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             CPU_GROUPS("[{name: core, strict: true, events: 'cycles,late/event=1,name=ticks/'}]"));
    const struct failures *failures = registry_failures(rig.registry);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(failures->n, 2);
    assert_non_null(strstr(failures->items[1].message, "left out with its strict group"));
    rig_done(&rig);
}

/* Starved: counters are left out, times stay, and the next reading covers the gap. */
static void test_starved(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    fake_advance(rig.fake, 100);
    assert_int_equal(core_on(&rig, "cycles", 0), 100);
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "core"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 200);
    assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
    assert_true(snapshot->rows[0]->counters[0].known);
    assert_int_equal(snapshot->rows[0]->counters[0].value, 100);
    assert_int_equal(series_value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"starved\"}"), 4);
    fake_find_pmu(rig.fake, "cpu")->counters = 4;
    fake_advance(rig.fake, 100);
    assert_int_equal(core_on(&rig, "cycles", 0), 300);
    rig_done(&rig);
}

static void test_never_ran(void **state)
{
    struct rig rig;
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    fake_find_pmu(fake, "cpu")->counters = 1;
    rig_init(&rig, fake, CORE);
    fake_find_pmu(fake, "cpu")->counters = 0;
    fake_advance(fake, 100);
    assert_false(rig_read(&rig)->rows[0]->counters[0].known);
    rig_done(&rig);
}

/* A pinned group that found no counter reads as nothing; it is enabled again after a second, then later and later. */
static void test_error_state(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), CPU_GROUPS("[{name: soft, events: cs}]"));
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = 0});
    unsigned before = rig.fake->calls[FAKE_IOCTL];
    for (unsigned second = 0; second < 16; second++) {
        const struct snapshot *snapshot = rig_read(&rig);
        assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
        assert_non_null(strstr(snapshot->rows[0]->cause, "pinned"));
        fake_advance(rig.fake, NSEC_PER_SEC);
    }
    /* On two CPUs after 0, 1, 3, 7 and 15 seconds. */
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], before + 10);
    fake_fail_no_more(rig.fake);
    assert_int_equal(rig_read(&rig)->rows[0]->state, ROW_COUNTING);
    rig_done(&rig);
}

/* Enabled again, it says nothing until it has run, as while no task of its cgroup is on the CPU: 0 would be no count.
 */
static void test_error_state_and_idle(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), CPU_GROUPS("[{name: soft, events: cs}]"));
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = 0});
    rig_read(&rig);
    fake_fail_no_more(rig.fake);
    for (int i = 0; i < 2; i++) {
        const struct snapshot *snapshot = rig_read(&rig);
        assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
        assert_non_null(strstr(snapshot->rows[0]->cause, "pinned"));
        assert_false(snapshot->rows[0]->counters[0].known);
        assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "soft"), NOT_SHOWN);
    }
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "soft"), 100);
    assert_int_equal(snapshot->rows[0]->state, ROW_COUNTING);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_kinds_of_cpu),
        cmocka_unit_test(test_no_pmu),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_strict_left_out),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_never_ran),
        cmocka_unit_test(test_error_state),
        cmocka_unit_test(test_error_state_and_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
