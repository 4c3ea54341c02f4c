/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bpf engine's perf groups: the words of an entry, groups that the cpu collector lends, and the series of both
 * collectors.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "tests/unit/fake-bpf.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/sharing-rig.h"
#include "tests/unit/test.h"

/*
 * All CPUs use the same word layout. An event that one kind of core lacks has no source on CPUs of that kind. An event
 * that no CPU has gets no word.
 */
TEST(test_two_pmus)
{
    struct sharing_rig rig;

    sharing_rig_init(&rig, fake_machine_big_little(),
                     CONFIG("[]", "[{name: big, events: 'armv8_cortex_a76/stall_backend/,cs'}, {name: core, events: "
                                  "'{cycles,nosuch/x/,instructions}'}]"));
    assert_string_equal(sharing_rig_describe(&rig, 0), "- S0 R0+ R1+ R1");
    assert_string_equal(sharing_rig_describe(&rig, 7), "R0+ R0 - R1+ R1");
    sharing_rig_done(&rig);
}

TEST(test_too_many)
{
    static const struct {
        unsigned in_events, in_groups;
        bool out_fits;
    } cases[] = {{BPF_EVENTS_MAX, 1, true},
                 {BPF_EVENTS_MAX / 2 + 1, 2, false},
                 {1, BPF_GROUPS_MAX, true},
                 {1, BPF_GROUPS_MAX + 1, false}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char config[16384] = "collectors: {cpu: {enabled: false}, cgroup: {groups: [";
        struct sharing_rig rig = {0};
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
        int r = bpf_groups_configure(&rig.groups, &rig.rig.env, &error);
        assert_int_equal(r, cases[i].out_fits ? 0 : -E2BIG);
        assert_int_equal(strstr(error.message, "engine to perf") != NULL, !cases[i].out_fits);
        bpf_groups_done(&rig.groups, &rig.rig.env);
        assert_int_equal(rig.rig.fake->n_open, 0);
        rig_done(&rig.rig);
    }
}

/*
 * The engine shares a group of the cpu collector that contains the same events with the same modifiers. `out` is the
 * source of each event, as sharing_rig_describe() writes it.
 */
static const struct {
    const char *in_cpu, *in_cgroup, *out;
    size_t out_own; /* descriptors that the engine opens itself, on each CPU */
} sharings[] = {
    /* With the default configuration the engine opens no events itself. */
    {"[{name: overview, events: '{cycles,instructions,branches}'}, {name: software, events: "
     "'{cs,migrations,minor-faults,major-faults}'}]",
     "[{name: core, events: '{task-clock,cycles,instructions}'}, {name: software, events: "
     "'{cs,minor-faults,major-faults}'}]",
     "T0 R0+ R0 S1 R1+ R1", 0},
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
    /*
     * A clock is not read; its value is the running time of its group. If a group consists only of clocks, the first
     * one is read.
     */
    {"[{name: a, events: cycles}]", "[{name: b, events: 'cpu-clock,cycles,task-clock'}]", "T0 R0+ T0", 0},
    {"[]", "[{name: b, events: 'cpu-clock,cycles,task-clock'}]", "T0 R0+ T0", 3},
    {"[{name: a, events: 'task-clock,cpu-clock'}]", "[{name: b, events: 'task-clock,cpu-clock'}]", "R0+ T0", 2},
    /* The BPF program counts context switches, except with a filter or in a group that may be multiplexed. */
    {"[]", "[{name: b, events: 'cs'}]", "S0 R0+", 1},
    {"[{name: a, events: 'cs,faults'}]", "[{name: b, events: 'task-clock,cs'}]", "T0 S0 R0+", 0},
    {"[]", "[{name: b, events: 'task-clock,cs'}]", "T0 S0 R0+", 2},
    {"[{name: a, events: '{cycles,cs}'}]", "[{name: b, events: cs}]", "R0+", 0},
    {"[]", "[{name: b, events: 'cs:u'}, {name: c, events: 'cs,faults,task-clock'}]", "R0+ S1 R1+ T1", 4},
    /* Two groups of the engine share one group of the cpu collector. */
    {"[{name: a, events: '{cycles,instructions,branches}'}]",
     "[{name: b, events: '{cycles,branches}'}, {name: c, events: '{instructions,cycles}'}]", "R0+ R0 R1+ R1", 0},
    /* With four counters, both collectors split five events into two groups, and the engine shares both. */
    {"[{name: a, events: 'cycles,instructions,branches,branch-misses,cache-misses'}]",
     "[{name: b, events: 'cycles,instructions,branches,branch-misses,cache-misses'}]", "R0+ R0 R0 R0 R1+", 0},
};

TEST(test_what_is_lent)
{
    for (size_t i = 0; i < ARRAY_SIZE(sharings); i++) {
        _cleanup_(freep) char *config = NULL;
        struct sharing_rig rig;

        assert_true(asprintf(&config, CONFIG("%s", "%s"), sharings[i].in_cpu, sharings[i].in_cgroup) > 0);
        sharing_rig_init(&rig, fake_machine_one_pmu(), config);
        if (!str_equal(sharing_rig_describe(&rig, 2), sharings[i].out) ||
            sharing_rig_descriptors(&rig) != 4 * sharings[i].out_own)
            fail_msg("%s for %s: %s, %zu descriptors", sharings[i].in_cpu, sharings[i].in_cgroup,
                     sharing_rig_describe(&rig, 2), sharing_rig_descriptors(&rig));
        sharing_rig_done(&rig);
    }
}

#define BOTH(cpu, cgroup)                                                                                              \
    "collectors: {self: {enabled: false}, pmu: {groups: []}, cpu: {" cpu "}, "                                         \
    "cgroup: {engine: bpf, include: ['/c'], groups: [" cgroup "]}}"
#define CPU_GROUPS_OF_BOTH                                                                                             \
    "{name: core, events: '{cycles,instructions,branches}'}, {name: software, events: '{cs,faults}'}"
#define CGROUP_CORE "{name: core, events: '{task-clock,cycles,instructions}'}"
#define CGROUP_SOFTWARE "{name: software, events: faults}"
#define BOTH_DEFAULT BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", " CGROUP_SOFTWARE)

struct both {
    struct rig rig;
    int cgroup; /* the cgroup's number for fake_cgroup_run() */
};

static void both_init(struct both *both, struct fake_sys *fake)
{
    struct stat st;

    fake_bpf_add(fake);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    assert_int_equal(mkdir(fake_path(fake, "/sys/fs/cgroup/c"), 0755), 0);
    assert_int_equal(stat(fake_path(fake, "/sys/fs/cgroup/c"), &st), 0);
    both->cgroup = (int)st.st_ino;
    rig_init(&both->rig, fake, BOTH_DEFAULT);
}

/* Runs the cgroup on a CPU and something else on the next CPU for the same time, then reads. */
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

/* Both collectors close the groups of an offline CPU, and share them again when it is back. */
TEST(test_lent_hotplug)
{
    struct both both;

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

/*
 * A CPU goes offline and comes back many times, with and without a rescan in between: nothing leaks, and no total
 * falls.
 */
TEST(test_transitions)
{
    uint64_t before = 0;
    struct both both;

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
    bool out_restarts; /* a different layout of the words needs a new BPF program */
} reloads[] = {
    {BOTH_DEFAULT, 4 * 5, false},
    /* The cpu collector no longer counts the shared events; the engine keeps their groups open. */
    {BOTH("groups: [{name: other, events: branches}]", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * (5 + 1), false},
    {BOTH("enabled: false", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * 5, false},
    {BOTH("cpus: '0-1', groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", " CGROUP_SOFTWARE), 4 * 5, false},
    /* The cpu collector now counts the same events in a different group. */
    {BOTH("groups: [{name: more, events: '{cycles,instructions,cache-misses}'}, {name: f, events: faults}]",
          CGROUP_CORE ", " CGROUP_SOFTWARE),
     4 * 4, false},
    /* The groups of the engine have changed. */
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE), 4 * 5, true},
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_SOFTWARE ", " CGROUP_CORE), 4 * 5, true},
    {BOTH("groups: [" CPU_GROUPS_OF_BOTH "]", CGROUP_CORE ", {name: software, events: '{faults,migrations}'}"),
     4 * (5 + 2), true},
};

TEST(test_lent_reload)
{
    for (size_t i = 0; i < ARRAY_SIZE(reloads); i++) {
        struct both both;
        both_init(&both, fake_machine_one_pmu());
        both_run(&both, 1, 100);
        unsigned starts = fake_bpf_starts(both.rig.fake);
        rig_configure(&both.rig, reloads[i].in_config);
        assert_int_equal(both.rig.fake->n_open, reloads[i].out_open);
        assert_int_equal(fake_bpf_starts(both.rig.fake) - starts, reloads[i].out_restarts);
        both_run(&both, 1, 10);
        uint64_t cycles = of_cgroup(&both, "cycles", "cpu", "core");
        if (cycles != 110)
            fail_msg("%s: %" PRIu64, reloads[i].in_config, cycles);
        rig_configure(&both.rig, BOTH_DEFAULT);
        assert_int_equal(both.rig.fake->n_open, 4 * 5);
        both_run(&both, 2, 5);
        assert_int_equal(of_cgroup(&both, "cycles", "cpu", "core"), 115);
        rig_done(&both.rig);
    }
}

/*
 * Nothing is counted during a pause, although both collectors disable and enable the same groups. Groups opened during
 * the pause do not count until it ends.
 */
TEST(test_lent_pause)
{
    struct both both;

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

/* A group that could not be opened for lack of descriptors is opened by a retry, and then shared. */
TEST(test_retry)
{
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

TEST_MAIN(NULL, NULL)
