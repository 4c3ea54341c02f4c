/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon without clients: it starts, is scraped, reloads, follows CPUs, pauses, records and ends; cgroups are created
 * and removed, and counted with each engine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/played-daemon.h"
#include "tests/faults/scenario.h"
#include "tests/unit/fake-bpf.h"

#define CPU_GROUPS                                                                                                     \
    "cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: software, events: '{cs,faults}'}]}, "        \
    "pmu: {groups: []}, cgroup: {enabled: false}"
#define OTHER_GROUPS                                                                                                   \
    "cpu: {groups: [{name: core, events: '{cycles,instructions}'}, {name: soft, events: '{cs,minor-faults}'}, "        \
    "{name: single, events: 'migrations'}]}, pmu: {groups: []}, cgroup: {enabled: false}"

static void *new_daemon(void)
{
    return played_new(fake_machine_two_counters(), PLAYED_CONFIG(CPU_GROUPS));
}

static void *running_daemon(void)
{
    struct played *played = new_daemon();

    fault_expect(played_start(played), "it does not start");
    played_turn(played);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
    return played;
}

static void start_act(void *state)
{
    struct played *played = state;

    if (played_start(played))
        played_turn(played);
}

static void scrapes_act(void *state)
{
    struct played *played = state;

    for (unsigned i = 0; i < 3; i++) {
        truth_advance(&played->truth, 1000);
        played_scrape(played);
        played_turn(played);
    }
}

/* Reloads twice: the group "software" is removed and added again. */
static void reload_act(void *state)
{
    struct played *played = state;
    struct error error;

    played->truth.comes_and_goes = "software";
    played_write_config(played, PLAYED_CONFIG(OTHER_GROUPS));
    daemon_reload(&played->daemon, &error);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
    played_write_config(played, PLAYED_CONFIG(CPU_GROUPS ", self: {enabled: false}"));
    daemon_reload(&played->daemon, &error);
    played_turn(played);
}

/* Requests a check, as a scrape does when a group has lost a member. */
static void set_online(struct played *played, bool online)
{
    faults_hold();
    fake_set_online(played->fake, 1, online);
    faults_release();
    hotplug_request_check(played->daemon.hotplug);
    played_pass(played, 2);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
}

static void hotplug_act(void *state)
{
    set_online(state, false);
    set_online(state, true);
    played_pass(state, 61); /* a failed check is repeated */
    played_scrape(state);
    played_pass(state, 2);
}

/* A check may have failed; the next scrape requests another. */
static void hotplug_recover(void *state)
{
    struct played *played = state;

    hotplug_request_check(played->daemon.hotplug);
    played_recover(played);
}

static void pause_act(void *state)
{
    struct played *played = state;
    struct error error;

    daemon_pause(&played->daemon, 10, &error);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
    played_pass(played, 11);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
}

#define INTERVAL_S 11 /* longer than history.interval */
#define LAST_FRAMES 2

/* Checks and describes how much each row grew in the last frames. */
static void describe_line(const struct played *played, const struct history_line *line, size_t n_steps,
                          struct buffer *out)
{
    const struct history_row *row = &line->row;

    for (size_t i = 0; i < n_steps; i++)
        for (size_t k = 0; k < row->n_events; k++) {
            const struct growth_event *growth = &line->values[i * row->n_events + k];
            if (!history_is_known(&line->cells[i]) || !growth->known)
                continue;
            truth_check_growth(&played->truth, row->events[k].event, row->cpu, growth->value);
            if (i + LAST_FRAMES >= n_steps && !str_equal(row->collector, "self"))
                buffer_appendf(out, "recorded: %s cpu %d +%" PRIu64 "\n", row->events[k].event, row->cpu,
                               growth->value);
        }
}

/* Checks that everything in the history was really counted. */
static void look_back(struct played *played, struct buffer *out)
{
    const struct histories *histories = recorder_histories(played->daemon.recorder);
    struct history_table table = {0};

    if (histories &&
        history_read(histories->coarse, &(struct history_range){.until_ns = UINT64_MAX}, NULL, NULL, &table) == 0)
        for (size_t i = 0; i < table.n_lines; i++)
            describe_line(played, &table.lines[i], table.n_steps, out);
    history_table_done(&table);
    daemon_findings(&played->daemon, 0);
}

static void history_act(void *state)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    for (unsigned i = 0; i < 4; i++)
        played_pass(state, INTERVAL_S);
    look_back(state, &out);
}

static void history_describe(void *state, struct buffer *out)
{
    for (unsigned i = 0; i <= LAST_FRAMES; i++)
        played_pass(state, INTERVAL_S);
    look_back(state, out);
    played_describe(state, out);
}

static void end_recover(void *state)
{
    struct played *played = state;

    fault_expect(played->fake->n_open == 0, "%u events are open after the end", played->fake->n_open);
}

/* --- cgroups --- */

#define CGROUPS(engine) CGROUPS_OF(engine, "{name: software, events: '{cs,faults}'}")
#define OTHER_CGROUPS(engine)                                                                                          \
    CGROUPS_OF(engine, "{name: software, events: '{cs,faults}'}, {name: more, events: 'minor-faults'}")
#define CGROUPS_OF(engine, groups)                                                                                     \
    PLAYED_CONFIG("cpu: {groups: [{name: core, events: '{cycles,instructions}'}]}, pmu: {groups: []}, "                \
                  "cgroup: {engine: " engine ", include: ['/c*'], linger: 1s, groups: [" groups "]}")

static void make_cgroup(struct played *played, unsigned i, bool there)
{
    char path[128];

    faults_hold();
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/c%u", played->fake->root, i);
    fault_expect((there ? mkdir(path, 0755) : rmdir(path)) == 0, "%s: %s", path, strerror(errno));
    faults_release();
    played_turn(played);
}

static struct played *start_counting_cgroups(struct fake_sys *fake, const char *config)
{
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    struct played *played = played_new(fake, config);
    fault_expect(played_start(played), "it does not start");
    make_cgroup(played, 1, true);
    played_turn(played);
    return played;
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

static void run_and_scrape(struct played *played)
{
    truth_advance(&played->truth, 1000);
    truth_run(&played->truth, "/c1", 0, 100);
    truth_run(&played->truth, "/c2", 1, 200);
    played_scrape(played);
}

static void cgroups_act(void *state)
{
    struct played *played = state;

    make_cgroup(played, 2, true);
    make_cgroup(played, 3, true);
    run_and_scrape(played);
    make_cgroup(played, 1, false);
    run_and_scrape(played);
    make_cgroup(played, 4, true);
    played_turn(played);
}

/* Adds a group; the totals of the existing groups continue. */
static void reload_cgroups(struct played *played, const char *config)
{
    struct error error;

    played_write_config(played, config);
    daemon_reload(&played->daemon, &error);
    run_and_scrape(played);
    played_turn(played);
}

static void reload_perf_act(void *state)
{
    reload_cgroups(state, OTHER_CGROUPS("perf"));
}

/* If the engine bpf cannot restart its program, or lacks memory for it, it is replaced, and counts restart at 0. */
static void reload_bpf_act(void *state)
{
    ((struct played *)state)->truth.cgroups_restart = true;
    reload_cgroups(state, OTHER_CGROUPS("bpf"));
}

#define PLAYED .describe = played_describe, .finish = played_free

const struct scenario scenarios_of_daemon[] = {
    {"start", new_daemon, start_act, played_recover, PLAYED},
    {"scrapes", running_daemon, scrapes_act, played_recover, PLAYED},
    {"reload", running_daemon, reload_act, played_recover, PLAYED, .asks = 2},
    {"hotplug", running_daemon, hotplug_act, hotplug_recover, PLAYED, .asks = 2},
    {"pause", running_daemon, pause_act, played_recover, PLAYED},
    {"history", running_daemon, history_act, played_recover, history_describe, played_free, .asks = 1},
    {"end", running_daemon, played_stop, end_recover, PLAYED},
    {"cgroups-perf", perf_engine, cgroups_act, played_recover, PLAYED},
    {"cgroups-bpf", bpf_engine, cgroups_act, played_recover, PLAYED},
    {"cgroups-reload-perf", perf_engine, reload_perf_act, played_recover, PLAYED},
    /* A BPF program that could not be attached is replaced at the next check of the CPUs. */
    {"cgroups-reload-bpf", bpf_engine, reload_bpf_act, played_recover, PLAYED, .may_be_silent = true},
    {.name = NULL},
};
