/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups come and go, and are counted by each engine. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/played-daemon.h"
#include "tests/faults/scenario.h"
#include "tests/unit/fake-tally.h"

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

static struct played *start(struct fake_sys *fake, const char *config)
{
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    struct played *played = played_new(fake, config);
    fault_expect(played_start(played), "it does not start");
    make_cgroup(played, 1, true);
    played_turn(played);
    return played;
}

static void *prepare_perf(void)
{
    return start(fake_machine_two_counters(), CGROUPS("perf"));
}

static void *prepare_bpf(void)
{
    struct fake_sys *fake = fake_machine_two_counters();

    fake_tally_add(fake);
    return start(fake, CGROUPS("bpf"));
}

static void run_and_scrape(struct played *played)
{
    truth_advance(&played->truth, 1000);
    truth_run(&played->truth, "/c1", 0, 100);
    truth_run(&played->truth, "/c2", 1, 200);
    played_scrape(played);
}

static void act(void *state)
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

/* A group comes; what was counted before goes on. */
static void reload_act(struct played *played, const char *config)
{
    struct error error;

    played_write_config(played, config);
    daemon_reload(&played->daemon, &error);
    run_and_scrape(played);
    played_turn(played);
}

static void reload_perf_act(void *state)
{
    reload_act(state, OTHER_CGROUPS("perf"));
}

/* A tally that cannot be started again, or has no memory for it, is replaced: its counts begin at 0 (engine.h). */
static void reload_bpf_act(void *state)
{
    ((struct played *)state)->truth.cgroups_restart = true;
    reload_act(state, OTHER_CGROUPS("bpf"));
}

const struct scenario scenario_cgroups_perf = {
    .name = "cgroups-perf",
    .prepare = prepare_perf,
    .act = act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

const struct scenario scenario_cgroups_bpf = {
    .name = "cgroups-bpf",
    .prepare = prepare_bpf,
    .act = act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

const struct scenario scenario_cgroups_reload_perf = {
    .name = "cgroups-reload-perf",
    .prepare = prepare_perf,
    .act = reload_perf_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

const struct scenario scenario_cgroups_reload_bpf = {
    .name = "cgroups-reload-bpf",
    .may_be_silent = true, /* a tally that cannot be attached is replaced at the next check of the CPUs */
    .prepare = prepare_bpf,
    .act = reload_bpf_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};
