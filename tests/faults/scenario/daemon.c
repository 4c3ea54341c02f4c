/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon without clients starts, is scraped, reloads, follows CPU hotplug, pauses, records its history and exits.
 * cgroups are created and removed, and counted with each engine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/scenario.h"
#include "tests/faults/simulated-daemon.h"
#include "tests/unit/fake-bpf.h"

#define CPU_GROUPS                                                                                                     \
    "cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: software, events: '{cs,faults}'}]}, "        \
    "pmu: {groups: []}, cgroup: {enabled: false}"
#define OTHER_GROUPS                                                                                                   \
    "cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: soft, events: '{cs,minor-faults}'}, "        \
    "{name: single, events: 'migrations'}]}, pmu: {groups: []}, cgroup: {enabled: false}"

static void *new_daemon(void)
{
    return simulated_new(fake_machine_two_counters(), SIMULATED_CONFIG(CPU_GROUPS));
}

static void *running_daemon(void)
{
    struct simulated *simulated = new_daemon();

    fault_expect(simulated_start(simulated), "the daemon does not start");
    simulated_turn(simulated);
    truth_advance(&simulated->truth, 1000);
    simulated_scrape(simulated);
    return simulated;
}

static void start_act(void *state)
{
    struct simulated *simulated = state;

    if (simulated_start(simulated))
        simulated_turn(simulated);
}

static void scrapes_act(void *state)
{
    struct simulated *simulated = state;

    for (unsigned i = 0; i < 3; i++) {
        truth_advance(&simulated->truth, 1000);
        simulated_scrape(simulated);
        simulated_turn(simulated);
    }
}

/* Reloads twice: the group "software" is removed and added again. */
static void reload_act(void *state)
{
    struct simulated *simulated = state;
    struct error error;

    simulated->truth.comes_and_goes = "software";
    simulated_write_config(simulated, SIMULATED_CONFIG(OTHER_GROUPS));
    daemon_reload(&simulated->daemon, &error);
    truth_advance(&simulated->truth, 1000);
    simulated_scrape(simulated);
    simulated_write_config(simulated, SIMULATED_CONFIG(CPU_GROUPS ", self: {enabled: false}"));
    daemon_reload(&simulated->daemon, &error);
    simulated_turn(simulated);
}

/* After the hotplug it requests a check of the CPUs, as a scrape does when a group has lost a member. */
static void set_online(struct simulated *simulated, bool online)
{
    faults_hold();
    fake_set_online(simulated->fake, 1, online);
    faults_release();
    hotplug_request_check(simulated->daemon.hotplug);
    simulated_pass(simulated, 2);
    truth_advance(&simulated->truth, 1000);
    simulated_scrape(simulated);
}

static void hotplug_act(void *state)
{
    set_online(state, false);
    set_online(state, true);
    simulated_pass(state, 61); /* a failed check is repeated by then */
    simulated_scrape(state);
    simulated_pass(state, 2);
}

/* A check may have failed; the next scrape requests another. */
static void hotplug_recover(void *state)
{
    struct simulated *simulated = state;

    hotplug_request_check(simulated->daemon.hotplug);
    simulated_recover(simulated);
}

static void pause_act(void *state)
{
    struct simulated *simulated = state;
    struct error error;

    daemon_pause(&simulated->daemon, 10, &error);
    truth_advance(&simulated->truth, 1000);
    simulated_scrape(simulated);
    simulated_pass(simulated, 11);
    truth_advance(&simulated->truth, 1000);
    simulated_scrape(simulated);
}

#define INTERVAL_S 11 /* seconds, more than history.interval */
#define LAST_FRAMES 2

/* Checks and describes how much each row grew in the last frames. */
static void describe_line(const struct simulated *simulated, const struct history_line *line, size_t n_steps,
                          struct buffer *out)
{
    const struct history_row *row = &line->row;

    for (size_t i = 0; i < n_steps; i++)
        for (size_t k = 0; k < row->n_events; k++) {
            const struct growth_event *growth = &line->values[i * row->n_events + k];
            if (!history_is_known(&line->cells[i]) || !growth->known)
                continue;
            truth_check_growth(&simulated->truth, row->events[k].event, row->cpu, growth->value);
            if (i + LAST_FRAMES >= n_steps && !str_equal(row->collector, "self"))
                buffer_appendf(out, "recorded: %s cpu %d +%" PRIu64 "\n", row->events[k].event, row->cpu,
                               growth->value);
        }
}

/* Checks that the history contains only what was really counted. */
static void look_back(struct simulated *simulated, struct buffer *out)
{
    const struct histories *histories = recorder_histories(simulated->daemon.recorder);
    struct history_table table = {0};

    if (histories &&
        history_read(histories->coarse, &(struct history_range){.until_ns = UINT64_MAX}, NULL, NULL, &table) == 0)
        for (size_t i = 0; i < table.n_lines; i++)
            describe_line(simulated, &table.lines[i], table.n_steps, out);
    history_table_done(&table);
    daemon_findings(&simulated->daemon, 0);
}

static void history_act(void *state)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    for (unsigned i = 0; i < 4; i++)
        simulated_pass(state, INTERVAL_S);
    look_back(state, &out);
}

static void history_describe(void *state, struct buffer *out)
{
    for (unsigned i = 0; i <= LAST_FRAMES; i++)
        simulated_pass(state, INTERVAL_S);
    look_back(state, out);
    simulated_describe(state, out);
}

static void end_recover(void *state)
{
    struct simulated *simulated = state;

    fault_expect(simulated->fake->n_open == 0, "%u events are still open after the daemon has stopped",
                 simulated->fake->n_open);
}

/* --- cgroups --- */

#define CGROUPS(engine) CGROUPS_OF(engine, "{name: software, events: '{cs,faults}'}")
#define OTHER_CGROUPS(engine)                                                                                          \
    CGROUPS_OF(engine, "{name: software, events: '{cs,faults}'}, {name: more, events: 'minor-faults'}")
#define CGROUPS_OF(engine, groups)                                                                                     \
    SIMULATED_CONFIG("cpu: {groups: [{name: core, events: '{cycles,instructions}'}]}, pmu: {groups: []}, "             \
                     "cgroup: {engine: " engine ", include: ['/c*'], linger: 1s, groups: [" groups "]}")

static void make_cgroup(struct simulated *simulated, unsigned i, bool there)
{
    char path[128];

    faults_hold();
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/c%u", simulated->fake->root, i);
    fault_expect((there ? mkdir(path, 0755) : rmdir(path)) == 0, "%s: %s", path, strerror(errno));
    faults_release();
    simulated_turn(simulated);
}

static struct simulated *start_counting_cgroups(struct fake_sys *fake, const char *config)
{
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    struct simulated *simulated = simulated_new(fake, config);
    fault_expect(simulated_start(simulated), "the daemon does not start");
    make_cgroup(simulated, 1, true);
    simulated_turn(simulated);
    return simulated;
}

static void *perf_engine(void)
{
    return start_counting_cgroups(fake_machine_two_counters(), CGROUPS("perf"));
}

static void *bpf_engine(void)
{
    struct fake_sys *fake = fake_machine_two_counters();

    fake_bpf_add(fake);
    return start_counting_cgroups(fake, CGROUPS("bpf"));
}

static void run_and_scrape(struct simulated *simulated)
{
    truth_advance(&simulated->truth, 1000);
    truth_run(&simulated->truth, "/c1", 0, 100);
    truth_run(&simulated->truth, "/c2", 1, 200);
    simulated_scrape(simulated);
}

static void cgroups_act(void *state)
{
    struct simulated *simulated = state;

    make_cgroup(simulated, 2, true);
    make_cgroup(simulated, 3, true);
    run_and_scrape(simulated);
    make_cgroup(simulated, 1, false);
    run_and_scrape(simulated);
    make_cgroup(simulated, 4, true);
    simulated_turn(simulated);
}

/* Adds a group; the totals of the existing groups continue. */
static void reload_cgroups(struct simulated *simulated, const char *config)
{
    struct error error;

    simulated_write_config(simulated, config);
    daemon_reload(&simulated->daemon, &error);
    run_and_scrape(simulated);
    simulated_turn(simulated);
}

static void reload_perf_act(void *state)
{
    reload_cgroups(state, OTHER_CGROUPS("perf"));
}

/* If the BPF engine cannot restart its program, or has no memory for it, it is replaced, and counts restart at 0. */
static void reload_bpf_act(void *state)
{
    ((struct simulated *)state)->truth.cgroups_restart = true;
    reload_cgroups(state, OTHER_CGROUPS("bpf"));
}

#define SIMULATED .describe = simulated_describe, .finish = simulated_free

const struct scenario scenarios_of_daemon[] = {
    {"start", new_daemon, start_act, simulated_recover, SIMULATED},
    {"scrapes", running_daemon, scrapes_act, simulated_recover, SIMULATED},
    {"reload", running_daemon, reload_act, simulated_recover, SIMULATED, .asks = 2},
    {"hotplug", running_daemon, hotplug_act, hotplug_recover, SIMULATED, .asks = 2},
    {"pause", running_daemon, pause_act, simulated_recover, SIMULATED},
    {"history", running_daemon, history_act, simulated_recover, history_describe, simulated_free, .asks = 1},
    {"end", running_daemon, simulated_stop, end_recover, SIMULATED},
    {"cgroups-perf", perf_engine, cgroups_act, simulated_recover, SIMULATED},
    {"cgroups-bpf", bpf_engine, cgroups_act, simulated_recover, SIMULATED},
    {"cgroups-reload-perf", perf_engine, reload_perf_act, simulated_recover, SIMULATED},
    /* A BPF program that could not be attached is replaced at the next check of the CPUs. */
    {"cgroups-reload-bpf", bpf_engine, reload_bpf_act, simulated_recover, SIMULATED, .may_be_silent = true},
    {.name = NULL},
};
