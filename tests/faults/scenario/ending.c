/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon ends while clients are connected: one is idle, one waits for rates, two have streams. */
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
#define END_SECONDS 3

enum { IDLE, RATES, SAMPLES, PROFILE };

struct ending {
    struct served_daemon served;
};

static void *ending_prepare(void)
{
    struct ending *ending = calloc(1, sizeof(*ending));
    struct fake_sys *fake = fake_machine_two_counters();
    struct served_daemon *served = &ending->served;

    assert(ending);
    rings_play(fake);
    served_daemon_init(served, fake, N_CLIENTS);
    served_daemon_set_config(served, "", false, CONFIG);
    served_daemon_start(served);
    assert(served_daemon_get(served, IDLE, "GET /metrics", "")->status == 200);
    served_daemon_ask(served, RATES, "GET /api/v1/rates?seconds=30", "");
    served_daemon_ask(served, SAMPLES, "GET /api/v1/samples", "");
    served_daemon_ask(served, PROFILE, "GET /api/v1/folded", "");
    for (unsigned i = 0; i < 5000 && !strstr(served->clients[SAMPLES].in, "\"header\""); i++)
        clients_wait(served_daemon_of(served)->event, served->clients, N_CLIENTS, 0.001);
    served_daemon_turn(served, 20);
    assert(rings_sample(fake, 1000000, 4242, 0x401234, NULL) == 2);
    return ending;
}

/* As on SIGTERM: run.c. */
static void ending_act(void *state)
{
    struct served_daemon *served = &((struct ending *)state)->served;
    sd_event *event = served_daemon_of(served)->event;

    shutdown_begin(served_daemon_of(served)->shutdown, EXIT_SUCCESS);
    for (unsigned i = 0; i < END_SECONDS * 1000 && sd_event_get_state(event) != SD_EVENT_FINISHED; i++) {
        sd_event_run(event, 1000);
        for (size_t k = 0; k < N_CLIENTS; k++)
            client_step(&served->clients[k]);
    }
    fault_expect(sd_event_get_state(event) == SD_EVENT_FINISHED, "the daemon does not end in %d seconds", END_SECONDS);
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
    struct served_daemon *served = &((struct ending *)state)->served;
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
        fault_expect(folded->body_size > 10, "the profile looks complete, and is empty");
    buffer_append_text(out, "it has ended\n");
}

static void ending_finish(void *state)
{
    struct ending *ending = state;

    served_daemon_stop(&ending->served);
    free(ending);
}

const struct scenario scenario_ending = {
    .name = "ending",
    .seconds = 30,
    .prepare = ending_prepare,
    .act = ending_act,
    .recover = ending_recover,
    .describe = ending_describe,
    .finish = ending_finish,
};
