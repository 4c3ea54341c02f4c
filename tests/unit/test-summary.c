/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line, on machines that tests play. */
#include <stdio.h>

#include "daemon/summary.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

static const struct {
    const char *in_groups;
    struct summary_state in;
    const char *out;
} cases[] = {
    {"[{name: c, events: cycles}]", {.reload_error = ""}, "counting 4 groups on 4 CPUs"},
    {"[{name: c, events: cycles}, {name: s, events: cs}]", {.reload_error = ""}, "counting 8 groups on 4 CPUs"},
    {"[{name: c, events: '{cycles,bus-cycles}'}]",
     {.reload_error = "", .paused_seconds = 1},
     "paused for 1 second; counting 4 groups on 4 CPUs"},
    {"[{name: c, events: 'cycles,sched:no_such'}]",
     {.reload_error = ""},
     "counting 4 groups on 4 CPUs; 1 event unavailable, see /api/v1/status"},
    {"[{name: c, events: cycles}]",
     {.reload_error = "a.yaml:1:2: bad", .paused_seconds = 59},
     "reload failed, the old configuration stays in use: a.yaml:1:2: bad; paused for 59 seconds; counting 4 groups on "
     "4 "
     "CPUs"},
    {"[{name: c, events: cycles}]",
     {.reload_error = "", .opener_lost = true},
     "the opener is gone, restart perfcountd; counting 4 groups on 4 CPUs"},
    {"[{name: c, events: cycles}]",
     {.reload_error = "", .opener_lost = true, .ends = true},
     "the opener is gone, perfcountd ends so that it is started again; counting 4 groups on 4 CPUs"},
    {"[]", {.reload_error = ""}, "counting 0 groups"},
};

static void summarize(size_t i, char *text, size_t size)
{
    struct rig rig;
    char yaml[512];

    snprintf(yaml, sizeof(yaml), "collectors: {cgroup: {enabled: false}, pmu: {groups: []}, cpu: {groups: %s}}",
             cases[i].in_groups);
    rig_init(&rig, fake_machine_one_pmu(), yaml);
    summary_format(rig.registry, &cases[i].in, text, size);
    rig_done(&rig);
}

static void test_cases(void **state)
{
    char text[512];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        summarize(i, text, sizeof(text));
        assert_string_equal(text, cases[i].out);
    }
}

static void test_cut(void **state)
{
    char text[10];

    (void)state;
    summarize(0, text, sizeof(text));
    assert_string_equal(text, "counting ");
}

/* Groups that are counted, on a machine with two kinds of CPU and a PMU of the system. */
static const struct {
    const char *in_collectors, *out;
} descriptions[] = {
    {"cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: soft, events: cs}]}, pmu: {enabled: false}",
     "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), soft"},
    {"cpu: {groups: [{name: core, events: 'cycles,sched:no_such'}, {name: big, events: armv8_cortex_a76/r11/}]}, "
     "pmu: {enabled: false}",
     "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), big (armv8_cortex_a76); 1 event is not counted, "
     "see \"perfcountd plan\""},
    {"cpu: {enabled: false}, pmu: {groups: [{name: power, events: power/energy-pkg/}]}",
     "counting: pmu: power (power)"},
    {"cpu: {groups: [{name: soft, events: cs}]}, pmu: {groups: [{name: power, events: power/energy-pkg/}]}",
     "counting: cpu 0-7: soft; pmu: power (power)"},
    {"cpu: {groups: []}, pmu: {enabled: false}", "nothing can be counted"},
    {"cpu: {enabled: false}, pmu: {enabled: false}, cgroup: {engine: perf, groups: [{name: core, events: cycles}]}",
     "counting: 2 cgroups by perf: core (armv8_cortex_a55, armv8_cortex_a76)"},
};

static void test_descriptions(void **state)
{
    char yaml[512], text[512];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
        struct fake_sys *fake = fake_machine_big_little();
        struct rig rig;
        fake_add_pmu(fake, "power", 40, "cpumask", "0");
        fake_pmu_file(fake, "power", "format/event", "config:0-7");
        fake_pmu_file(fake, "power", "events/energy-pkg", "event=0x02");
        fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
        fake_file(fake, "/sys/fs/cgroup/a.slice/cgroup.procs", "%s", "");
        fake_file(fake, "/sys/fs/cgroup/b.slice/cgroup.procs", "%s", "");
        snprintf(yaml, sizeof(yaml), "collectors: {self: {enabled: false}, %s%s}",
                 strstr(descriptions[i].in_collectors, "cgroup:") ? "" : "cgroup: {enabled: false}, ",
                 descriptions[i].in_collectors);
        rig_init(&rig, fake, yaml);
        summary_describe(rig.registry, text, sizeof(text));
        assert_string_equal(text, descriptions[i].out);
        rig_done(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
