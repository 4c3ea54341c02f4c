/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running daemon does besides serving requests: pauses and retries, detecting a service manager, and
 * summarizing its state in one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/timer.h"
#include "base/util.h"
#include "daemon/changes.h"
#include "daemon/daemon.h"
#include "daemon/status.h"
#include "systemd/service-manager.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/* --- timers: `due_in_usec` is the delay of the last one, and `at_once` lets them fire at once */

static uint64_t due_in_usec;
static bool at_once;

int __wrap_timer_arm_in(sd_event_source *timer, uint64_t usec);
int __real_timer_arm_in(sd_event_source *timer, uint64_t usec);

int __wrap_timer_arm_in(sd_event_source *timer, uint64_t usec)
{
    due_in_usec = usec;
    return __real_timer_arm_in(timer, at_once ? 0 : usec);
}

int __wrap_uevent_open(void);

/* The kernel would also report devices that other tests create. */
int __wrap_uevent_open(void)
{
    return -EPERM;
}

struct fixture {
    sd_event *event;
    struct retry *retry;
    enum reason_span span;
    unsigned tries;
};

static void on_time(void *userdata)
{
    struct fixture *f = userdata;

    f->tries++;
    assert_int_equal(retry_want(f->retry, f->span), 0);
}

static int setup(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof(*f));

    assert_true(sd_event_new(&f->event) >= 0);
    assert_int_equal(retry_new(f->event, on_time, f, &f->retry), 0);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    retry_free(f->retry);
    sd_event_unref(f->event);
    free(f);
    return 0;
}

/* A daemon without a server, which counts on a simulated machine. */
TEST(test_pause)
{
    struct options options = {.no_opener = true};
    struct daemon daemon = {.options = &options};
    struct error error = {0};
    struct rig rig;

    daemon.symboliser = CHILD_NONE;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: c, events: cycles}]"));
    sys_init(&daemon.session.sys);
    daemon.session.machine = rig.machine;
    daemon.session.config = rig.config;
    daemon.session.registry = rig.registry;
    const struct privileged_calls calls = session_privileged_calls(&daemon.session);
    assert_int_equal(privsep_new(&options, rig.config, &calls, NULL, &daemon.privsep, &error), 0);
    at_once = false;
    assert_true(daemon_watch(&daemon) >= 0);
    while (sd_event_run(daemon.event, 0) > 0)
        ;

    assert_false(daemon_paused(&daemon).paused);
    assert_int_equal(daemon_pause(&daemon, 3600, &error), 0);
    assert_true(registry_is_paused(rig.registry));
    assert_true(daemon_paused(&daemon).paused);
    assert_in_range(daemon_paused(&daemon).seconds, 1, 3600);
    at_once = true;
    assert_int_equal(daemon_pause(&daemon, 1, &error), 0);
    assert_int_equal(due_in_usec, USEC_PER_SEC);
    assert_true(registry_is_paused(rig.registry));
    assert_true(sd_event_run(daemon.event, USEC_PER_SEC) > 0);
    assert_false(registry_is_paused(rig.registry));
    assert_false(daemon_paused(&daemon).paused);
    /* A pause that was ended early does not end a second time. */
    assert_int_equal(daemon_pause(&daemon, 1, &error), 0);
    assert_int_equal(daemon_pause(&daemon, 0, &error), 0);
    assert_false(registry_is_paused(rig.registry));
    assert_int_equal(sd_event_run(daemon.event, 0), 0);

    daemon.session = (struct session){.sys = daemon.session.sys}; /* the rig frees everything else in it */
    daemon_done(&daemon);
    rig_done(&rig);
}

static const struct {
    enum reason_span in_span;
    unsigned out_waits[9];
} spans[] = {
    {REASON_LASTS, {0}},
    {REASON_PASSES, {1, 2, 4, 8, 16, 32, 60, 60, 60}},
    {REASON_BRIEF, {1, 2, 4, 8, 16, 32, 60, 0}},
};

TEST(test_waits)
{
    for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
        unsigned wait_s = 0;
        for (size_t k = 0; k < ARRAY_SIZE(spans[i].out_waits); k++) {
            wait_s = retry_next(wait_s, spans[i].in_span);
            assert_int_equal(wait_s, spans[i].out_waits[k]);
            if (wait_s == 0)
                break;
        }
    }
}

/* The intervals between retries grow, and the event loop is not woken needlessly. */
TEST_WITH(test_retry, setup, teardown)
{
    struct fixture *f = *state;

    at_once = true;
    assert_int_equal(retry_want(f->retry, REASON_LASTS), 0);
    assert_int_equal(sd_event_run(f->event, 0), 0);
    f->span = REASON_PASSES;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(retry_want(f->retry, REASON_PASSES), 0);
        assert_int_equal(due_in_usec, USEC_PER_SEC);
    }
    assert_true(sd_event_run(f->event, USEC_PER_SEC) > 0);
    assert_int_equal(f->tries, 1);
    assert_int_equal(due_in_usec, 2 * USEC_PER_SEC);
    retry_restart(f->retry);
    assert_int_equal(sd_event_run(f->event, 0), 0);
    assert_int_equal(retry_want(f->retry, REASON_PASSES), 0);
    f->span = REASON_LASTS;
    assert_true(sd_event_run(f->event, USEC_PER_SEC) > 0);
    assert_int_equal(f->tries, 2);
}

/* --- the service manager, detected by variables that systemd sets and that child processes inherit */

enum whose { UNSET, OWN, OTHERS, GARBLED };

static const struct {
    bool in_socket;
    enum whose in_exec, in_watchdog, in_listen;
    bool out;
} environments[] = {
    {false, UNSET, UNSET, UNSET, false}, {false, OWN, OWN, OWN, false},
    {true, UNSET, UNSET, UNSET, false}, /* only NOTIFY_SOCKET is set, as in a container */
    {true, OWN, UNSET, UNSET, true},     {true, UNSET, OWN, UNSET, true}, /* variables as systemd 247 sets them */
    {true, UNSET, UNSET, OWN, true},     {true, OTHERS, OTHERS, OTHERS, false},
    {true, OTHERS, OWN, OTHERS, true},   {true, GARBLED, GARBLED, GARBLED, false},
};

static void set(const char *name, enum whose whose)
{
    char pid[32];

    unsetenv(name);
    snprintf(pid, sizeof(pid), "%d", whose == OWN ? (int)getpid() : (int)getppid());
    if (whose != UNSET)
        setenv(name, whose == GARBLED ? "pid" : pid, 1);
}

TEST(test_is_received)
{
    for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
        unsetenv("NOTIFY_SOCKET");
        if (environments[i].in_socket)
            setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
        set("SYSTEMD_EXEC_PID", environments[i].in_exec);
        set("WATCHDOG_PID", environments[i].in_watchdog);
        set("LISTEN_PID", environments[i].in_listen);
        assert_int_equal(notify_is_received(), environments[i].out);
    }
}

/* --- the state in one line */

static const struct {
    const char *in_groups;
    struct summary_state in;
    const char *out;
} states[] = {
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
     "reload failed, the previous configuration stays in effect: a.yaml:1:2: bad; paused for 59 seconds; counting 4 "
     "groups on 4 CPUs"},
    {"[{name: c, events: cycles}]",
     {.reload_error = "", .opener_lost = true},
     "the opener is gone, restart perfcountd; counting 4 groups on 4 CPUs"},
    {"[{name: c, events: cycles}]",
     {.reload_error = "", .opener_lost = true, .ends = true},
     "the opener is gone, perfcountd exits so that it is restarted; counting 4 groups on 4 CPUs"},
    {"[]", {.reload_error = ""}, "counting 0 groups"},
};

TEST(test_states)
{
    char yaml[512], text[512], cut[10];
    struct rig rig;

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        snprintf(yaml, sizeof(yaml), CPU_GROUPS("%s"), states[i].in_groups);
        rig_init(&rig, fake_machine_one_pmu(), yaml);
        summary_format(rig.registry, &states[i].in, text, sizeof(text));
        assert_string_equal(text, states[i].out);
        summary_format(rig.registry, &states[i].in, cut, sizeof(cut));
        assert_memory_equal(cut, text, sizeof(cut) - 1);
        rig_done(&rig);
    }
}

/* How counted groups are listed on a machine with two kinds of core and a system-wide PMU. */
static const struct {
    const char *in_collectors, *out;
} descriptions[] = {
    {"cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: soft, events: cs}]}, pmu: {enabled: false}",
     "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), soft"},
    {"cpu: {groups: [{name: core, events: 'cycles,sched:no_such'}, {name: big, events: armv8_cortex_a76/r11/}]}, "
     "pmu: {enabled: false}",
     "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), big (armv8_cortex_a76); 1 event is not counted, "
     "see \"perfcountd plan\""},
    {"cpu: {groups: [{name: a, events: sched:no_such}, {name: b, events: '{cs,sched:no_such}'}]}, pmu: {enabled: "
     "false}",
     "counting: cpu 0-7: b; 2 events are not counted, see \"perfcountd plan --config.file=/etc/a.yaml\""},
    {"cpu: {enabled: false}, pmu: {groups: [{name: power, events: power/energy-pkg/}]}",
     "counting: pmu: power (power)"},
    {"cpu: {groups: [{name: soft, events: cs}]}, pmu: {groups: [{name: power, events: power/energy-pkg/}]}",
     "counting: cpu 0-7: soft; pmu: power (power)"},
    {"cpu: {groups: []}, pmu: {enabled: false}", "nothing can be counted"},
    {"cpu: {enabled: false}, pmu: {enabled: false}, cgroup: {engine: perf, groups: [{name: core, events: cycles}]}",
     "counting: 2 cgroups by perf: core (armv8_cortex_a55, armv8_cortex_a76)"},
};

TEST(test_descriptions)
{
    char yaml[512], text[512];

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
        const char *file = strstr(descriptions[i].out, "--config.file") ? "/etc/a.yaml" : NULL;
        summary_describe(rig.registry, file, text, sizeof(text));
        assert_string_equal(text, descriptions[i].out);
        rig_done(&rig);
    }
}

TEST_MAIN(NULL, NULL)
