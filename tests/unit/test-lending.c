/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the collector cpu that serve a tally as well, while CPUs and configurations come and go. */
#include "tests/unit/lending-rig.h"
#include "tests/unit/test.h"

/* Events of the collector cpu and of cgroups: of one group or of others, with other bits, with another leader. */
static const struct {
    const char *in_cpu, *in_cgroup, *out;
    size_t out_own; /* descriptors on each CPU */
} lendings[] = {
    {"[{name: a, events: '{cycles,instructions}'}]", "[{name: b, events: '{instructions,cycles}'}]", "R0+ R0", 0},
    {"[{name: a, events: '{cycles,instructions}'}]", "[{name: b, events: '{cycles,branches}'}]", "R0+ R0", 2},
    {"[{name: a, events: cycles}, {name: c, events: branches}]", "[{name: b, events: '{cycles,branches}'}]", "R0+ R0",
     2},
    {"[{name: a, events: '{cycles,instructions}'}]", "[{name: b, events: '{cycles:u,instructions:u}'}]", "R0+ R0", 2},
    {"[{name: a, events: '{cycles,instructions}:D'}]", "[{name: b, events: '{cycles,instructions}'}]", "R0+ R0", 2},
    {"[{name: a, events: '{cycles,instructions}:D'}]", "[{name: b, events: '{cycles,instructions}:D'}]", "R0+ R0", 0},
    {"[{name: a, events: '{cycles:e,instructions}'}]", "[{name: b, events: '{cycles,instructions}'}]", "R0+ R0", 2},
    {"[{name: a, events: 'cpu/event=0x3c/'}]", "[{name: b, events: 'cpu/event=0x3c,umask=1/'}]", "R0+", 1},
    {"[{name: a, events: 'cpu/event=0x3c/'}]", "[{name: b, events: 'cpu/event=0x3c,name=c/'}]", "R0+", 0},
    /* Clocks: the first one of a group of clocks is read. */
    {"[{name: a, events: cycles}]", "[{name: b, events: 'cpu-clock,cycles,task-clock'}]", "T0 R0+ T0", 0},
    {"[]", "[{name: b, events: 'cpu-clock,cycles,task-clock'}]", "T0 R0+ T0", 3},
    {"[{name: a, events: 'task-clock,cpu-clock'}]", "[{name: b, events: 'task-clock,cpu-clock'}]", "R0+ T0", 2},
    /* Switches: the program counts them, but in a group that may be multiplexed, and with filters. */
    {"[]", "[{name: b, events: 'cs'}]", "S0 R0+", 1},
    {"[{name: a, events: 'cs,faults'}]", "[{name: b, events: 'task-clock,cs'}]", "T0 S0 R0+", 0},
    {"[]", "[{name: b, events: 'task-clock,cs'}]", "T0 S0 R0+", 2},
    {"[{name: a, events: '{cycles,cs}'}]", "[{name: b, events: cs}]", "R0+", 0},
    {"[]", "[{name: b, events: 'cs:u'}, {name: c, events: 'cs,faults,task-clock'}]", "R0+ S1 R1+ T1", 4},
    /* One group serves two. */
    {"[{name: a, events: '{cycles,instructions,branches}'}]",
     "[{name: b, events: '{cycles,branches}'}, {name: c, events: '{instructions,cycles}'}]", "R0+ R0 R1+ R1", 0},
    /* Five events on four counters are two groups of each, and each group is lent. */
    {"[{name: a, events: 'cycles,instructions,branches,branch-misses,cache-misses'}]",
     "[{name: b, events: 'cycles,instructions,branches,branch-misses,cache-misses'}]", "R0+ R0 R0 R0 R1+", 0},
};

static void test_what_is_lent(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lendings); i++) {
        _cleanup_(freep) char *config = NULL;
        struct lending_rig rig;

        assert_true(asprintf(&config, CONFIG("%s", "%s"), lendings[i].in_cpu, lendings[i].in_cgroup) > 0);
        lending_rig_init(&rig, fake_machine_one_pmu(), config);
        if (!str_equal(lending_rig_describe(&rig, 2), lendings[i].out) ||
            lending_rig_descriptors(&rig) != 4 * lendings[i].out_own)
            fail_msg("%s for %s: %s, %zu descriptors", lendings[i].in_cpu, lendings[i].in_cgroup,
                     lending_rig_describe(&rig, 2), lending_rig_descriptors(&rig));
        lending_rig_done(&rig);
    }
}

/* The groups of a CPU that left are closed by both that hold them; when it is back, they are others. */
static void test_hotplug(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    struct tally_sources before = lending_rig_sources(&rig, 3), other = lending_rig_sources(&rig, 0), after;
    assert_true(tally_sources_match(&before, &before));
    assert_false(tally_sources_match(&before, &other));
    fake_set_online(rig.rig.fake, 3, false);
    assert_int_equal(lending_rig_word(&rig, 3, 1), UINT64_MAX);
    assert_true(tally_groups_are_stale(&rig.groups));
    lending_rig_rescan(&rig, "3");
    assert_false(tally_groups_are_stale(&rig.groups));
    assert_int_equal(rig.rig.fake->n_open, 3 * 7);
    assert_string_equal(lending_rig_describe(&rig, 3), "- - - - - -");
    assert_int_equal(rig.groups.events, 6);
    after = lending_rig_sources(&rig, 0);
    assert_true(tally_sources_match(&other, &after));
    fake_set_online(rig.rig.fake, 3, true);
    lending_rig_rescan(&rig, "");
    assert_int_equal(rig.rig.fake->n_open, 4 * 7);
    assert_string_equal(lending_rig_describe(&rig, 3), "T0 R0+ R0 S1 R1+ R1");
    assert_int_equal(lending_rig_descriptors(&rig), 0);
    after = lending_rig_sources(&rig, 3);
    assert_false(tally_sources_match(&before, &after));
    lending_rig_done(&rig);
}

/* It left and came back between two readings: nobody has seen that a group is dead. */
static void test_cpu_blinks(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    fake_set_online(rig.rig.fake, 3, false);
    fake_set_online(rig.rig.fake, 3, true);
    assert_int_equal(cpuset_parse("3", &rig.rig.left, NULL), 0);
    group_collector_leave(&rig.groups.collector, &rig.rig.context);
    assert_string_equal(lending_rig_describe(&rig, 3), "- - - - - -");
    assert_string_equal(lending_rig_describe(&rig, 2), "T0 R0+ R0 S1 R1+ R1");
    lending_rig_rescan(&rig, "3");
    fake_advance(rig.rig.fake, 20);
    assert_int_equal(lending_rig_word(&rig, 3, 1), 20);
    assert_int_equal(rig.rig.fake->n_open, 4 * 7);
    lending_rig_done(&rig);
}

/* A group that the collector cpu no longer counts goes on; one that it counts now takes the place of the own one. */
static void test_reload(void **state)
{
    static const char without[] = CONFIG("[{name: other, events: branches}]", CGROUP_DEFAULT),
                      disabled[] = "collectors: {cpu: {enabled: false}, cgroup: {groups: " CGROUP_DEFAULT "}}",
                      larger[] = CONFIG("[{name: more, events: '{cycles,instructions,cache-misses}'}]", CGROUP_DEFAULT);
    const char *const configs[] = {without, disabled};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
        struct lending_rig rig;
        lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
        struct tally_sources before = lending_rig_sources(&rig, 1);
        fake_advance(rig.rig.fake, 100);
        lending_rig_configure(&rig, configs[i]);
        struct tally_sources after = lending_rig_sources(&rig, 1);
        assert_true(tally_sources_match(&before, &after));
        fake_advance(rig.rig.fake, 10);
        assert_int_equal(lending_rig_word(&rig, 1, 1), 110);
        assert_int_equal(rig.rig.fake->n_open, 4 * 7 + (i == 0 ? 4 : 0));
        /* The whole group of three is not kept beside one that has both events. */
        lending_rig_configure(&rig, larger);
        assert_int_equal(rig.rig.fake->n_open, 4 * (3 + 4));
        after = lending_rig_sources(&rig, 1);
        assert_false(tally_sources_match(&before, &after));
        fake_advance(rig.rig.fake, 10);
        assert_int_equal(lending_rig_word(&rig, 1, 1), 10);
        assert_string_equal(lending_rig_describe(&rig, 1), "T0 R0+ R0 S1 R1+ R1");
        lending_rig_done(&rig);
    }
}

/* From groups of its own to those of the collector cpu, and other cgroup groups. */
static void test_reload_lends(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG("[]", CGROUP_DEFAULT));
    assert_int_equal(lending_rig_descriptors(&rig), 4 * 6);
    assert_string_equal(lending_rig_describe(&rig, 1), "T0 R0+ R0 S1 R1+ R1");
    lending_rig_configure(&rig, CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    assert_int_equal(lending_rig_descriptors(&rig), 0);
    assert_int_equal(rig.rig.fake->n_open, 4 * 7);
    lending_rig_configure(&rig, CONFIG(CPU_DEFAULT, "[{name: software, events: '{cs,minor-faults,major-faults}'}]"));
    assert_string_equal(lending_rig_describe(&rig, 1), "S0 R0+ R0");
    assert_int_equal(rig.rig.fake->n_open, 4 * 7);
    lending_rig_done(&rig);
}

/* Both disable and enable the same group: it counts when both are done. */
static void test_pause(void **state)
{
    struct lending_rig rig;

    (void)state;
    lending_rig_init(&rig, fake_machine_one_pmu(), CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
    fake_advance(rig.rig.fake, 100);
    for (int paused = 1; paused >= 0; paused--) {
        rig.rig.context.paused = paused;
        assert_int_equal(collector_cpu.pause(&rig.rig.context, rig.cpu), 0);
        assert_int_equal(group_collector_pause(&rig.rig.context, &rig.groups.collector), 0);
        lending_rig_resume(&rig);
        fake_advance(rig.rig.fake, 10);
        assert_int_equal(lending_rig_word(&rig, 0, 1), paused ? 100 : 110);
        assert_int_equal(lending_rig_word(&rig, 0, tally_groups_enabled(&rig.groups, 0)), paused ? 100 : 110);
    }
    lending_rig_done(&rig);
}

/* Groups that are opened and lent while counting is paused count at its end. */
static void test_opened_while_paused(void **state)
{
    struct lending_rig rig = {0};

    (void)state;
    rig_init_collector(&rig.rig, fake_machine_one_pmu(), "cgroup",
                       CONFIG(CPU_DEFAULT, "[{name: a, events: '{cycles,instructions}'}, {name: b, events: faults}]"));
    rig.rig.context.paused = true;
    lending_rig_resume(&rig);
    assert_int_equal(lending_rig_descriptors(&rig), 4);
    fake_advance(rig.rig.fake, 100);
    rig.rig.context.paused = false;
    assert_int_equal(collector_cpu.pause(&rig.rig.context, rig.cpu), 0);
    assert_int_equal(group_collector_pause(&rig.rig.context, &rig.groups.collector), 0);
    fake_advance(rig.rig.fake, 10);
    assert_int_equal(lending_rig_word(&rig, 0, 1), 10);
    assert_int_equal(lending_rig_word(&rig, 0, 2), 10);
    lending_rig_done(&rig);
}

/* A group that could not be opened for want of descriptors is opened at the next try. */
static void test_out_of_descriptors(void **state)
{
    (void)state;
    for (unsigned after = 0; after <= 4 * 13; after++) {
        struct lending_rig rig;
        struct fake_sys *fake = fake_machine_one_pmu();
        fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = after});
        lending_rig_init(&rig, fake, CONFIG(CPU_DEFAULT, CGROUP_DEFAULT));
        fake_fail_no_more(fake);
        lending_rig_resume(&rig);
        assert_string_equal(lending_rig_describe(&rig, 3), "T0 R0+ R0 S1 R1+ R1");
        assert_int_equal(fake->n_open, 4 * 7);
        lending_rig_done(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_lent),        cmocka_unit_test(test_hotplug),
        cmocka_unit_test(test_cpu_blinks),          cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_lends),        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_opened_while_paused), cmocka_unit_test(test_out_of_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
