/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon on a machine that is played: see played-daemon.h. */
#include "tests/faults/played-daemon.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/serving.h"
#include "daemon/settings.h"
#include "formats/exposition.h"
#include "tests/faults/faults.h"
#include "tests/faults/faulty-sys.h"
#include "tests/faults/residue.h"
#include "tests/faults/said.h"

#define CONFIG_FILE "/etc/perfcountd.yaml"
#define TURNS_MAX 1000
/* More than the longest wait between two tries, and than cgroups linger. */
#define WAIT_S 61

struct played *played_new(struct fake_sys *fake, const char *config)
{
    struct played *played = calloc(1, sizeof(*played));

    fault_expect(played, "out of memory");
    played->fake = fake;
    played->n_descriptors = residue_now().descriptors;
    played->options = (struct options){.config_file = CONFIG_FILE, .no_opener = true};
    truth_init(&played->truth, fake);
    played_write_config(played, config);
    return played;
}

void played_free(struct played *played)
{
    played_stop(played);
    truth_done(&played->truth);
    fake_sys_free(played->fake);
    free(played);
}

void played_write_config(struct played *played, const char *config)
{
    faults_hold();
    fake_file(played->fake, CONFIG_FILE, "%s\n", config);
    faults_release();
}

/* --- the stages of daemon/command/run.c --- */

static int split_off(struct daemon *daemon, struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    int r = settings_read(daemon->options, &daemon->session.sys, &config, error);

    daemon->session.terms = (struct fd_budget_terms){.limit = 65536, .inherited = STDERR_FILENO + 1, .serves = true};
    if (r == 0)
        r = split_new(daemon->options, config, &daemon->session.sys, NULL, &daemon->split, error);
    daemon->service.files = settings_files(&daemon->session.sys);
    return r;
}

static int load(struct daemon *daemon, struct error *error)
{
    int r = session_load(&daemon->session, daemon->options, error);

    return r < 0 ? r : session_divide_descriptors(&daemon->session, error);
}

static int make_event_loop(struct daemon *daemon, struct error *error)
{
    daemon->cpus_checked_ns = daemon->session.sys.now(&daemon->session.sys, CLOCK_MONOTONIC);
    int r = sd_event_new(&daemon->event);
    if (r >= 0)
        r = daemon_watch(daemon);
    if (r < 0)
        return error_set(error, r, "the event loop cannot start");
    daemon_apply_config(daemon);
    return 0;
}

static int start_listening(struct daemon *daemon, struct error *error)
{
    const struct config *config = daemon->session.config;
    int r = server_new(daemon->event, &daemon->service, config->web.telemetry_path, NULL, &daemon->server, error);

    if (r == 0)
        r = listening_adopt(&daemon->listening, daemon->server, error);
    return r < 0 ? r : daemon_configure_server(daemon, config, error);
}

static int drop_and_open(struct daemon *daemon, struct error *error)
{
    daemon->session.children = (struct children){.symboliser = &daemon->symboliser};
    return session_open(&daemon->session, error);
}

bool played_start(struct played *played)
{
    static int (*const stages[])(struct daemon * daemon, struct error * error) = {
        split_off, load, make_event_loop, start_listening, drop_and_open,
    };
    struct daemon *daemon = &played->daemon;
    struct error error = {0};
    int r = 0;

    *daemon = (struct daemon){.options = &played->options};
    daemon->symboliser = CHILD_NONE;
    serving_init(daemon);
    faulty_sys_init(&daemon->session.sys, played->fake);
    played->runs = true;
    truth_restart(&played->truth);
    for (size_t i = 0; i < ARRAY_SIZE(stages) && r == 0; i++)
        r = stages[i](daemon, &error);
    if (r == 0) {
        daemon->ready = true;
        daemon_follow_collectors(daemon);
        return true;
    }
    fault_expect(error.message[0], "it cannot start (%d), and does not say why", r);
    said_add(error.message);
    played_stop(played);
    return false;
}

void played_stop(struct played *played)
{
    if (played->runs)
        daemon_done(&played->daemon);
    played->runs = false;
}

/* --- what happens to it --- */

void played_turn(struct played *played)
{
    unsigned n = 0;

    if (!played->runs)
        return;
    while (sd_event_run(played->daemon.event, 0) > 0)
        fault_expect(++n < TURNS_MAX, "the event loop does not come to rest");
}

void played_pass(struct played *played, uint64_t seconds)
{
    faults_pass(seconds * NSEC_PER_SEC);
    truth_advance(&played->truth, seconds * NSEC_PER_SEC);
    played_turn(played);
}

void played_scrape(struct played *played)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error;

    if (!played->runs)
        return;
    const struct snapshot *snapshot = played->daemon.service.read(&played->daemon, UINT32_MAX, true);
    truth_check(&played->truth, snapshot);
    exposition_write(&text, &snapshot->metrics, UINT32_MAX, EXPOSITION_TEXT);
    /* As for a client that asks for samples: by the configuration that the sampler knows. */
    sampler_admit(played->daemon.sampler, STANDING_OPERATOR, &error);
}

/* Something is reported as not being there. */
static bool reports_failures(const struct played *played)
{
    const struct registry *registry = played->daemon.session.registry;
    struct collector_status status;
    bool any = registry_failures(registry)->n > 0;

    for (size_t i = 0; registry_status(registry, i, &status); i++)
        any |= status.enabled && !status.successful;
    return any || played->daemon.reload_error[0];
}

void played_recover(struct played *played)
{
    struct error error = {0};

    /* A file that was empty at the start is a right configuration, but not this one. */
    if (played->runs && played->daemon.session.config->blank)
        played_stop(played);
    if (!played->runs)
        fault_expect(played_start(played), "it cannot start, although nothing fails any more");
    for (unsigned i = 0; i < 8; i++)
        played_pass(played, WAIT_S);
    played_scrape(played);
    played_pass(played, WAIT_S);
    if (reports_failures(played))
        fault_expect(daemon_reload(&played->daemon, &error) == 0, "it cannot reload: %s", error.message);
    played_scrape(played);
}

void played_scenario_recover(void *state)
{
    played_recover(state);
}

void played_scenario_describe(void *state, struct buffer *out)
{
    played_describe(state, out);
}

void played_scenario_finish(void *state)
{
    played_free(state);
}
