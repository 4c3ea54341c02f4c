/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon and its CPUs: it starts, is scraped, reloads, follows CPUs, pauses, ends. */
#include "tests/faults/played-daemon.h"
#include "tests/faults/scenario.h"

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

const struct scenario scenario_start = {
    .name = "start",
    .prepare = new_daemon,
    .act = start_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

static void scrapes_act(void *state)
{
    struct played *played = state;

    for (unsigned i = 0; i < 3; i++) {
        truth_advance(&played->truth, 1000);
        played_scrape(played);
        played_turn(played);
    }
}

const struct scenario scenario_scrapes = {
    .name = "scrapes",
    .prepare = running_daemon,
    .act = scrapes_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

/* There and half the way back: the group "software" goes and comes. */
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

const struct scenario scenario_reload = {
    .name = "reload",
    .asks = 2,
    .prepare = running_daemon,
    .act = reload_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

/* As a scrape does that finds a group which lost a member. */
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
    played_pass(state, 61); /* a check that could not look is made again */
    played_scrape(state);
    played_pass(state, 2);
}

/* A check may have failed, and another comes with the next scrape. */
static void hotplug_recover(void *state)
{
    struct played *played = state;

    hotplug_request_check(played->daemon.hotplug);
    played_recover(played);
}

const struct scenario scenario_hotplug = {
    .name = "hotplug",
    .asks = 2,
    .prepare = running_daemon,
    .act = hotplug_act,
    .recover = hotplug_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

static void pause_act(void *state)
{
    struct played *played = state;

    daemon_set_paused(&played->daemon, true);
    pause_start(played->daemon.pause, 10);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
    played_pass(played, 11);
    truth_advance(&played->truth, 1000);
    played_scrape(played);
}

const struct scenario scenario_pause = {
    .name = "pause",
    .prepare = running_daemon,
    .act = pause_act,
    .recover = played_scenario_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};

static void end_act(void *state)
{
    played_stop(state);
}

static void end_recover(void *state)
{
    struct played *played = state;

    fault_expect(played->fake->n_open == 0, "%u events are open after the end", played->fake->n_open);
}

const struct scenario scenario_end = {
    .name = "end",
    .prepare = running_daemon,
    .act = end_act,
    .recover = end_recover,
    .describe = played_scenario_describe,
    .finish = played_scenario_finish,
};
