/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors cpu and cgroup with the same perf groups, as the registry runs them: what both show goes on. */
#include <inttypes.h>
#include <sys/stat.h>

#include "tests/unit/fake-tally.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define BOTH(cpu, cgroup)                                                                                              \
    "collectors: {self: {enabled: false}, pmu: {groups: []}, cpu: {" cpu "}, "                                         \
    "cgroup: {engine: bpf, include: ['/c'], groups: [" cgroup "]}}"
#define CPU_GROUPS_OF_BOTH                                                                                             \
    "{name: core, events: '{cycles,instructions,branches}'}, {name: software, events: '{cs,faults}'}"
#define CGROUP_CORE "{name: core, events: '{task-clock,cycles,instructions}'}"
#define CGROUP_SOFTWARE "{name: software, events: faults}"
#define CONFIG BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", " CGROUP_SOFTWARE)

struct both {
    struct rig rig;
    int cgroup; /* as fake_cgroup_run() has it */
};

static void both_init(struct both *both, struct fake_sys *fake)
{
    char path[64];
    struct stat st;

    fake_tally_add(fake);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/c", fake->root);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(stat(path, &st), 0);
    both->cgroup = (int)st.st_ino;
    rig_init(&both->rig, fake, CONFIG);
}

/* The cgroup runs on a CPU; in the same time something else runs on the next one. Reads. */
static void both_run(struct both *both, unsigned cpu, uint64_t ns)
{
    fake_cgroup_run(both->rig.fake, both->cgroup, cpu, ns);
    fake_cgroup_run(both->rig.fake, -1, (cpu + 1) % 4, ns);
    rig_read(&both->rig);
}

static uint64_t of_cgroup(struct both *both, const char *metric, const char *pmu, const char *group)
{
    return series_value(rig_read(&both->rig), "perf_cgroup_%s_total{cgroup=\"/c\",pmu=\"%s\",group=\"%s\"}", metric,
                        pmu, group);
}

static uint64_t of_cpu(struct both *both, unsigned cpu)
{
    return series_value(rig_read(&both->rig), CPU_SERIES, "cycles", cpu, "cpu", "core");
}

static void test_both_show(void **state)
{
    struct both both;

    (void)state;
    both_init(&both, fake_machine_one_pmu());
    assert_int_equal(both.rig.fake->n_open, 4 * 5); /* those of the collector cpu */
    both_run(&both, 0, 100);
    both_run(&both, 3, 20);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 120);
    assert_int_equal(of_cgroup(&both, "task_clock_seconds", "software", "core"), 120);
    assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), 120);
    assert_int_equal(of_cpu(&both, 0), 120);
    assert_int_equal(of_cpu(&both, 1), 100);
    assert_int_equal(of_cpu(&both, 2), 0);
    rig_done(&both.rig);
}

/* Both let go of the groups of a CPU that left, and have the same ones again when it is back. */
static void test_hotplug(void **state)
{
    struct both both;

    (void)state;
    both_init(&both, fake_machine_one_pmu());
    both_run(&both, 3, 100);
    fake_set_online(both.rig.fake, 3, false);
    rig_read(&both.rig);
    assert_true(registry_is_stale(both.rig.registry));
    rig_rescan(&both.rig, "3");
    assert_int_equal(both.rig.fake->n_open, 3 * 5);
    both_run(&both, 0, 10);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 110);
    fake_set_online(both.rig.fake, 3, true);
    rig_rescan(&both.rig, "");
    assert_int_equal(both.rig.fake->n_open, 4 * 5);
    both_run(&both, 3, 5);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 115);
    assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), 115);
    assert_int_equal(of_cpu(&both, 3), 105);
    assert_false(registry_is_stale(both.rig.registry));
    rig_done(&both.rig);
}

/* Left and back, again and again, noticed or not: nothing leaks, and no total falls. */
static void test_transitions(void **state)
{
    uint64_t before = 0;
    struct both both;

    (void)state;
    both_init(&both, fake_machine_one_pmu());
    for (unsigned i = 0; i < 50; i++) {
        fake_set_online(both.rig.fake, 2, false);
        if (i % 3 == 0)
            rig_rescan(&both.rig, "2");
        fake_set_online(both.rig.fake, 2, true);
        rig_rescan(&both.rig, i % 3 == 0 ? "" : "2");
        both_run(&both, 2, 10);
        both_run(&both, 0, 10);
        uint64_t now = of_cgroup(&both, "cycles", "cpu", "core");
        assert_int_equal(now, before + 20);
        before = now;
        assert_int_equal(both.rig.fake->n_open, 4 * 5);
    }
    rig_done(&both.rig);
}

static const struct {
    const char *in_config;
    unsigned out_open;
    bool out_restarts; /* another layout of words needs another tally */
} reloads[] = {
    {CONFIG, 4 * 5, false},
    /* The collector cpu counts something else, or nothing: what it lent goes on. */
    {BOTH("groups: [{name: other, events: branches}]", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * (5 + 1), false},
    {BOTH("enabled: false", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * 5, false},
    {BOTH("cpus: '0-1', groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * 5, false},
    /* It counts the same in another group. */
    {BOTH("groups: [{name: more, events: '{cycles,instructions,cache-misses}'}, {name: f, events: faults}]",
          CGROUP_CORE ", " CGROUP_SOFTWARE),
     4 * 4, false},
    /* The cgroups want other groups. */
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE), 4 * 5, true},
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_SOFTWARE ", " CGROUP_CORE), 4 * 5, true},
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", {name: software, events: '{faults,migrations}'}"),
     4 * (5 + 2), true},
};

static void test_reload(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(reloads); i++) {
        struct both both;
        both_init(&both, fake_machine_one_pmu());
        both_run(&both, 1, 100);
        unsigned starts = fake_tally_starts(both.rig.fake);
        rig_configure(&both.rig, reloads[i].in_config);
        assert_int_equal(both.rig.fake->n_open, reloads[i].out_open);
        assert_int_equal(fake_tally_starts(both.rig.fake) - starts, reloads[i].out_restarts);
        both_run(&both, 1, 10);
        uint64_t cycles = of_cgroup(&both, "cycles", "cpu", "core");
        if (cycles != 110)
            fail_msg("%s: %" PRIu64, reloads[i].in_config, cycles);
        rig_configure(&both.rig, CONFIG);
        assert_int_equal(both.rig.fake->n_open, 4 * 5);
        both_run(&both, 2, 5);
        assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 115);
        rig_done(&both.rig);
    }
}

/* Nothing counts in between, although both disable and enable the same groups; also what is opened meanwhile. */
static void test_pause(void **state)
{
    struct both both;

    (void)state;
    both_init(&both, fake_machine_one_pmu());
    both_run(&both, 0, 100);
    assert_int_equal(registry_pause(both.rig.registry, true), 0);
    both_run(&both, 0, 7);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 100);
    assert_int_equal(of_cpu(&both, 0), 100);
    fake_set_online(both.rig.fake, 3, false);
    fake_set_online(both.rig.fake, 3, true);
    rig_rescan(&both.rig, "3");
    both_run(&both, 3, 7);
    both_run(&both, 0, 7);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 100);
    assert_int_equal(registry_pause(both.rig.registry, false), 0);
    both_run(&both, 0, 10);
    both_run(&both, 3, 1);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 111);
    assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), 111);
    assert_int_equal(of_cpu(&both, 3), 1);
    rig_done(&both.rig);
}

/* A pinned group that both have finds no counter for a time: its values wait, and the other group's go on. */
static void test_pinned_in_error(void **state)
{
    static const char pinned[] =
        BOTH("groups: [{name: p, events: 'cycles:D'}]", "{name: core, events: 'cycles:D'}, " CGROUP_SOFTWARE);
    struct both both;

    (void)state;
    both_init(&both, fake_machine_one_pmu());
    rig_configure(&both.rig, pinned);
    assert_int_equal(both.rig.fake->n_open, 4 * 2);
    both_run(&both, 0, 100);
    uint64_t faults = of_cgroup(&both, "page_faults", "software", "software");
    fake_fail(both.rig.fake, (struct fake_failure){.call = FAKE_READ, .on_event = true, .type = PERF_TYPE_HARDWARE});
    both_run(&both, 0, 30);
    const struct row *row = find_row(rig_read(&both.rig), "cpu", "core");
    assert_non_null(row->cause);
    assert_true(str_starts(row->cause, "it is pinned and found no counter"));
    assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), faults + 30);
    fake_fail_no_more(both.rig.fake);
    both_run(&both, 0, 10);
    assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 110);
    assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), faults + 40);
    assert_false(registry_is_stale(both.rig.registry));
    rig_done(&both.rig);
}

/* A group that could not be opened for want of descriptors is tried again, and lent then. */
static void test_retry(void **state)
{
    (void)state;
    for (unsigned after = 0; after < 4 * (5 + 4); after += 3) {
        struct fake_sys *fake = fake_machine_one_pmu();
        struct both both;
        fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = after});
        both_init(&both, fake);
        fake_fail_no_more(fake);
        assert_int_equal(registry_retry(both.rig.registry, NULL), 0);
        assert_int_equal(registry_failures(both.rig.registry)->n, 0);
        both_run(&both, 3, 10);
        assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 10);
        assert_int_equal(of_cgroup(&both, "page_faults", "software", "software"), 10);
        assert_int_equal(fake->n_open, 4 * 5);
        rig_done(&both.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_show),       cmocka_unit_test(test_hotplug), cmocka_unit_test(test_transitions),
        cmocka_unit_test(test_reload),          cmocka_unit_test(test_pause),   cmocka_unit_test(test_retry),
        cmocka_unit_test(test_pinned_in_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
