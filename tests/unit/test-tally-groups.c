/* SPDX-License-Identifier: Apache-2.0 */
/* The perf groups that a tally divides: which words they have, where these come from, and what is read. */
#include "tests/unit/lending-rig.h"
#include "tests/unit/test.h"

/* The default configuration opens nothing of its own on CPUs that have the events, and reads what the others count. */
static void test_default_is_lent(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    assert_int_equal(rig.rig.fake->n_open, 4 * 7);
    assert_int_equal(lending_rig_descriptors(&rig), 0);
    assert_int_equal(rig.groups.events, 6);
    assert_int_equal(rig.groups.groups, 2);
    for (unsigned cpu = 0; cpu < 4; cpu++)
        assert_string_equal(lending_rig_describe(&rig, cpu), "T0 R0+ R0 S1 R1+ R1");
    fake_rate(rig.rig.fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 3, 1});
    fake_advance(rig.rig.fake, 100);
    assert_int_equal(lending_rig_word(&rig, 3, 0), UINT64_MAX); /* the reader has it from the times */
    assert_int_equal(lending_rig_word(&rig, 3, 1), 100);
    assert_int_equal(lending_rig_word(&rig, 3, 2), 300);
    assert_int_equal(lending_rig_word(&rig, 3, 3), UINT64_MAX);
    assert_int_equal(lending_rig_word(&rig, 3, 4), 100);
    assert_int_equal(lending_rig_word(&rig, 3, tally_groups_enabled(&rig.groups, 0)), 100);
    assert_int_equal(lending_rig_word(&rig, 3, tally_groups_enabled(&rig.groups, 1) + 1), 100);
    assert_int_equal(lending_rig_word(&rig, 4, 1), UINT64_MAX);
    assert_int_equal(rig.rig.snapshot.n_rows, 4 * 2); /* those of the collector cpu */
    lending_rig_done(&rig);
}

/* Words are the same on all CPUs; an event that one kind lacks has none there, and an event that no CPU has no word. */
static void test_two_pmus(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_big_little(),
                     CONFIG("[{name: a, events: cycles}]",
                            "[{name: big, events: 'armv8_cortex_a76/stall_backend/,cs'}, {name: core, events: '{cycles,"
                            "nosuch/x/,instructions}'}]"));
    assert_int_equal(rig.groups.events, 4 + 1);
    assert_string_equal(lending_rig_describe(&rig, 0), "- S0 R0+ R1+ R1");
    assert_string_equal(lending_rig_describe(&rig, 7), "R0+ R0 - R1+ R1");
    lending_rig_done(&rig);
}

/* The perf groups that a configured group became on a PMU have their times each, and those behind it have others. */
static void test_split(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(
        &rig, fake_machine_two_counters(),
        CONFIG("[]", "[{name: cache, events: 'cycles,instructions,branches'}, {name: b, events: faults}]"));
    assert_string_equal(lending_rig_describe(&rig, 1), "R0+ R0 R1+ R2+");
    assert_int_equal(rig.groups.groups, 3);
    assert_int_equal(rig.groups.spans[0].n_times, 2);
    assert_int_equal(rig.groups.spans[1].first_times, 2);
    fake_advance(rig.rig.fake, 300);
    assert_int_equal(lending_rig_word(&rig, 1, 1 + tally_groups_enabled(&rig.groups, 1)), 200);
    assert_int_equal(lending_rig_word(&rig, 1, 2), 200);
    assert_int_equal(lending_rig_word(&rig, 1, 1 + tally_groups_enabled(&rig.groups, 2)), 300);
    lending_rig_done(&rig);
}

/* A pinned group in the error state concerns its own words; enabled again, it is read again. */
static void test_pinned_in_error(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(),
                     CONFIG("[]", "[{name: a, events: 'cycles:D'}, {name: b, events: faults}]"));
    fake_advance(rig.rig.fake, 10);
    fake_fail(rig.rig.fake, (struct fake_failure){.call = FAKE_READ, .on_event = true, .type = PERF_TYPE_HARDWARE});
    uint64_t words[TALLY_WORDS_MAX], valid = 0;
    assert_int_equal(tally_groups_read(&rig.groups, rig.rig.sys, 0, words, &valid), 0);
    assert_int_equal(valid, 1 << 1 | 1 << 4 | 1 << 5); /* of faults: its value, enabled, running */
    assert_false(tally_groups_are_stale(&rig.groups));
    assert_int_equal(rig.groups.collector.n, 2);
    assert_int_equal(group_counts_view(rig.groups.collector.items[0]).groups[0].error, -ENODATA);
    fake_fail_no_more(rig.rig.fake);
    assert_int_equal(lending_rig_word(&rig, 0, 0), 10);
    fake_fail(rig.rig.fake, (struct fake_failure){.call = FAKE_READ});
    valid = 77;
    assert_int_equal(tally_groups_read(&rig.groups, rig.rig.sys, 0, words, &valid), -ENODATA);
    assert_int_equal(valid, 77);
    fake_fail_no_more(rig.rig.fake);
    lending_rig_done(&rig);
}

/* Events that cannot be opened are in the report, and their words belong to others when they come. */
static void test_unavailable(void **state)
{
    struct failures failures = {0};
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_no_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    assert_string_equal(lending_rig_describe(&rig, 1), "R0+ S1 R1+ R1");
    assert_int_equal(lending_rig_descriptors(&rig), 2);
    assert_int_equal(group_counts_view(rig.groups.collector.items[0]).unavailable->n, 2);
    assert_int_equal(group_collector_report(&rig.rig.context, &rig.groups.collector, &failures), 0);
    assert_int_equal(failures.n, 2);
    failures_done(&failures);
    /* All rows are those of the collector cpu: a software group and three unavailable events on each CPU. */
    assert_int_equal(rig.rig.snapshot.n_rows, 2 * (1 + 3));
    lending_rig_done(&rig);
}

static void test_too_many(void **state)
{
    static const struct {
        unsigned in_events, in_groups;
        bool out_fits;
    } cases[] = {{TALLY_EVENTS_MAX, 1, true},
                 {TALLY_EVENTS_MAX / 2 + 1, 2, false},
                 {1, TALLY_GROUPS_MAX, true},
                 {1, TALLY_GROUPS_MAX + 1, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char config[16384] = "collectors: {cpu: {enabled: false}, cgroup: {groups: [";
        struct lending_rig rig = {0};
        struct error error = {0};
        size_t n = strlen(config);
        for (unsigned group = 0; group < cases[i].in_groups; group++) {
            n += (size_t)snprintf(config + n, sizeof(config) - n, "{name: g%u, events: [", group);
            for (unsigned k = 0; k < cases[i].in_events; k++)
                n += (size_t)snprintf(config + n, sizeof(config) - n, "{event: faults, name: f%u_%u}, ", group, k);
            n += (size_t)snprintf(config + n, sizeof(config) - n, "]}, ");
        }
        snprintf(config + n, sizeof(config) - n, "]}}");
        rig_init_collector(&rig.rig, fake_machine_no_pmu(), "cgroup", config);
        int r = tally_groups_configure(&rig.groups, &rig.rig.context, &error);
        assert_int_equal(r, cases[i].out_fits ? 0 : -E2BIG);
        assert_int_equal(strstr(error.message, "engine: perf") != NULL, !cases[i].out_fits);
        tally_groups_done(&rig.groups, &rig.rig.context);
        assert_int_equal(rig.rig.fake->n_open, 0);
        rig_done(&rig.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_is_lent), cmocka_unit_test(test_two_pmus),    cmocka_unit_test(test_split),
        cmocka_unit_test(test_pinned_in_error), cmocka_unit_test(test_unavailable), cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
