/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon exits while four clients are connected: one is idle, one waits for rates, two receive streams. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/faults/rings.h"
#include "tests/faults/scenario.h"
#include "tests/faults/served-daemon.h"
#include "tests/unit/fake-machine.h"

#define CONFIG                                                                                                         \
    "collectors: {self: {enabled: false}, cgroup: {enabled: false}, pmu: {groups: []},\n"                              \
    "             cpu: {groups: [{name: core, events: cycles}]}}\n"                                                    \
    "sampler: {enabled: true, period: 1000000, ring_pages: 16, allow: local}\n"
#define N_CLIENTS 4

enum { IDLE, RATES, SAMPLES, PROFILE };

/* Returns whether the sample stream has begun. */
static bool has_begun(const void *userdata)
{
    return strstr(((const struct client *)userdata)->in, "\"header\"");
}

static bool has_ended(const void *userdata)
{
    return sd_event_get_state((sd_event *)userdata) == SD_EVENT_FINISHED;
}

static void *ending_prepare(void)
{
    struct served_daemon *served = calloc(1, sizeof(*served));
    struct fake_sys *fake = fake_machine_two_counters();

    assert(served);
    rings_simulate(fake);
    served_daemon_init(served, fake, N_CLIENTS);
    served_daemon_set_config(served, "", false, CONFIG);
    served_daemon_start(served);
    assert(served_daemon_get(served, IDLE, "GET /metrics", "")->status == 200);
    served_daemon_ask(served, RATES, "GET /api/v1/rates?seconds=30", "");
    served_daemon_ask(served, SAMPLES, "GET /api/v1/samples", "");
    served_daemon_ask(served, PROFILE, "GET /api/v1/folded", "");
    assert(served_daemon_until(served, has_begun, &served->clients[SAMPLES], EVENT_SECONDS));
    served_daemon_turn(served, 20);
    assert(rings_sample(fake, 1000000, 4242, 0x401234, NULL) == 2);
    return served;
}

/* Stops the daemon as daemon/run.c does on SIGTERM. */
static void ending_act(void *state)
{
    struct served_daemon *served = state;
    sd_event *event = served_daemon_of(served)->event;

    daemon_end(served_daemon_of(served), EXIT_SUCCESS);
    fault_expect(served_daemon_until(served, has_ended, event, EVENT_SECONDS),
                 "the daemon does not stop within %d seconds", EVENT_SECONDS);
    served_daemon_of(served)->server = server_free(served_daemon_of(served)->server);
    for (size_t k = 0; k < N_CLIENTS; k++)
        client_step(&served->clients[k]);
}

static void ending_recover(void *state)
{
    (void)state;
}

static void ending_describe(void *state, struct buffer *out)
{
    struct served_daemon *served = state;
    struct client *samples = &served->clients[SAMPLES], *folded = &served->clients[PROFILE];
    int code = -1;

    fault_expect(sd_event_get_exit_code(served_daemon_of(served)->event, &code) == 0 && code == 0, "exit status %d",
                 code);
    for (size_t k = 0; k < N_CLIENTS; k++)
        fault_expect(served->clients[k].outcome != CLIENT_WAITS, "client %zu is still connected", k);
    if (samples->outcome == CLIENT_ANSWERED && samples->status == 200)
        fault_expect(strstr(client_text(samples), "\"reason\":\"shutdown\",\"records\":2,"),
                     "the stream looks complete:\n%s", client_text(samples));
    if (folded->outcome == CLIENT_ANSWERED && folded->status == 200)
        fault_expect(folded->body_size > 10, "the profile is empty, but looks complete");
    buffer_append_text(out, "it has ended\n");
}

static void ending_finish(void *state)
{
    served_daemon_stop(state);
    free(state);
}

const struct scenario scenarios_of_ending[] = {
    {"ending", ending_prepare, ending_act, ending_recover, ending_describe, ending_finish, .asks = 1},
    {.name = NULL},
};
