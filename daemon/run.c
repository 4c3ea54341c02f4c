/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/run.h"

#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "daemon/status.h"
#include "formats/availability.h"
#include "formats/history-json.h"
#include "perf/event-list.h"
#include "process/child.h"
#include "systemd/service-manager.h"

/* --- struct service --- */

/* A reading this long after the last check of the online CPUs requests another check, in case a uevent was lost. */
#define CPU_CHECK_NS (60 * NSEC_PER_SEC)
/* Maximum age of the findings served to clients (FINDINGS_AGE_NS), and of the metric perfcountd_finding. */
#define FINDINGS_AGE_NS (10 * NSEC_PER_SEC)
#define FINDINGS_MAX_AGE_NS (90 * NSEC_PER_SEC)

/*
 * If the metrics' text exceeds this many bytes, the memory limit is recomputed before a reply is rendered. JSON is
 * twice as large.
 */
#define LARGE_REPLY (128 * 1024)

static const struct snapshot *serve_read(void *userdata, uint32_t mask, bool fresh)
{
    struct daemon *daemon = userdata;
    struct registry *registry = daemon->session.registry;
    const struct snapshot *snapshot =
        registry_read(registry, mask, fresh ? 0 : daemon->session.config->web.min_interval_ns);

    if (registry_failures(registry)->n != daemon->n_reported_failures)
        daemon_follow_failures(daemon);
    if (registry_is_stale(registry) || snapshot->monotonic_ns - daemon->cpus_checked_ns > CPU_CHECK_NS)
        hotplug_request_check(daemon->hotplug);
    if (snapshot->metrics.text_size > LARGE_REPLY)
        memory_limit_apply(&daemon->session.memory);
    if (mask == UINT32_MAX)
        recorder_take(daemon->recorder, snapshot);
    (void)daemon_findings(daemon, FINDINGS_MAX_AGE_NS);
    return snapshot;
}

static const struct histories *serve_histories(void *userdata)
{
    return recorder_histories(((struct daemon *)userdata)->recorder);
}

static struct service_pause serve_paused(void *userdata)
{
    return daemon_paused(userdata);
}

static json_t *serve_document(void *userdata, enum api_document which)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;

    switch (which) {
    case DOCUMENT_PMUS:
        return document_pmus(session->machine);
    case DOCUMENT_METRICS:
        return availability_json(session->registry, session->machine);
    case DOCUMENT_CGROUPS:
        memory_limit_apply(&session->memory);
        return document_cgroups(session->registry);
    case DOCUMENT_FINDINGS: {
        const struct findings *findings = daemon_findings(daemon, FINDINGS_AGE_NS);
        return findings ? findings_json(findings, sys_now(&session->sys, CLOCK_REALTIME)) : NULL;
    }
    case DOCUMENT_STATUS:
        return document_status(session, &(struct document_process){
                                            .privsep = daemon->privsep,
                                            .reload_error = daemon->reload_error,
                                            .started_realtime_ns = daemon->started_realtime_ns,
                                            .boot_ns = daemon->boot_ns,
                                            .pause = daemon_paused(daemon),
                                        });
    case DOCUMENT_CONFIG:
        return config_json(session->config);
    }
    return NULL;
}

struct events_draft {
    struct deferred_document deferred;
    struct offered_events *events;
};

static void write_events(struct deferred_document *deferred, struct buffer *content)
{
    offered_events_write(((struct events_draft *)deferred)->events, content);
}

static void free_events(struct deferred_document *deferred)
{
    struct events_draft *events = (struct events_draft *)deferred;

    offered_events_free(events->events);
    free(events);
}

static struct deferred_document *serve_defer_events(void *userdata)
{
    struct session *session = &((struct daemon *)userdata)->session;
    _cleanup_(freep) struct events_draft *events = calloc(1, sizeof(*events));

    if (!events || offered_events_new(&session->sys, session->machine, &events->events) < 0)
        return NULL;
    events->deferred = (struct deferred_document){.write = write_events, .free = free_events};
    return &steal(events)->deferred;
}

static uint64_t serve_events_generation(void *userdata)
{
    return ((struct daemon *)userdata)->session.generation;
}

static bool serve_ready(void *userdata)
{
    return ((struct daemon *)userdata)->state != DAEMON_STARTING;
}

static uint64_t serve_now(void *userdata)
{
    struct sys *sys = &((struct daemon *)userdata)->session.sys;

    return sys_now(sys, CLOCK_MONOTONIC);
}

static void serve_complain(void *userdata, const char *sentence)
{
    (void)userdata;
    log_event(LOG_KIND_WEB, NULL, 0, "%s", sentence);
}

static int serve_pause(void *userdata, unsigned seconds, struct error *error)
{
    return daemon_pause(userdata, seconds, error);
}

static struct sampler *serve_sampler(void *userdata)
{
    return ((struct daemon *)userdata)->sampler;
}

static int serve_reload(void *userdata, struct error *error)
{
    return daemon_reload(userdata, error);
}

void serving_init(struct daemon *daemon)
{
    daemon->service = (struct service){
        .userdata = daemon,
        .read = serve_read,
        .histories = serve_histories,
        .document = serve_document,
        .events_generation = serve_events_generation,
        .defer_events = serve_defer_events,
        .reload = serve_reload,
        .sampler = serve_sampler,
        .ready = serve_ready,
        .now = serve_now,
        .complain = serve_complain,
        .pause = serve_pause,
        .paused = serve_paused,
    };
}

/* --- `perfcountd run` --- */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct error error;

    (void)source;
    (void)info;
    daemon_reload(userdata, &error);
    return 0;
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source;
    log_info("shutting down on %s", info->ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    notify_stopping();
    return daemon_end(daemon, EXIT_SUCCESS);
}

static int watch_signals(struct daemon *daemon)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    signal(SIGPIPE, SIG_IGN);
    int r = sd_event_add_signal(daemon->event, NULL, SIGTERM, on_terminate, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGINT, on_terminate, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGHUP, on_hangup, daemon);
    return r;
}

/*
 * Logs why the daemon does not start, and also shows it in `systemctl status`: the journal may fail to attribute a
 * message to the unit if the process exits right after it.
 */
static int fail(enum log_kind kind, const struct log_field *field, const char *sentence, int status)
{
    log_event(kind, field, field ? 1 : 0, "%s", sentence);
    notify_status(sentence);
    return status;
}

static int fail_start(const char *sentence)
{
    return fail(LOG_KIND_START_FAILED, NULL, sentence, EXIT_FAILURE);
}

static int fail_config(const struct daemon *daemon, const char *sentence)
{
    const struct log_field field = daemon_config_field(daemon);

    return fail(LOG_KIND_CONFIG_BAD, &field, sentence, EXIT_BAD_USAGE);
}

/* Starts the opener. This must be the first stage, because a fork of this process inherits every open descriptor. */
static int split_off(struct daemon *daemon)
{
    const struct privileged_calls calls = session_privileged_calls(&daemon->session);
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error = {0};

    if (session_begin(&daemon->session, daemon->options, true, &error) < 0)
        return fail_start(error.message);
    if (settings_read(daemon->options, &daemon->session.sys, &config, &error) < 0)
        return fail_config(daemon, error.message);
    int r = privsep_new(daemon->options, config, &calls, daemon->session.has_reader ? &daemon->session.reader : NULL,
                        &daemon->privsep, &error);
    if (r < 0) {
        fail_start(error.message);
        return r == -EINVAL ? EXIT_BAD_USAGE : EXIT_FAILURE;
    }
    daemon->service.files = settings_files(&daemon->session.sys);
    return EXIT_SUCCESS;
}

static int load(struct daemon *daemon)
{
    struct error error = {0};

    if (session_load(&daemon->session, daemon->options, &error) < 0)
        return fail_config(daemon, error.message);
    if (session_divide_descriptors(&daemon->session, &error) < 0)
        return fail_start(error.message);
    return EXIT_SUCCESS;
}

/* Reports that the event loop failed, usually because of a limit on memory, open files or inotify(7) instances. */
static int fail_loop(const char *what, int error)
{
    char sentence[256];

    snprintf(sentence, sizeof(sentence),
             "%s: %s; check the limits on memory, open files (LimitNOFILE=, fs.file-max) and inotify "
             "(fs.inotify.max_user_instances), and start perfcountd again",
             what, strerror(-error));
    return fail_start(sentence);
}

static int make_event_loop(struct daemon *daemon)
{
    int r = daemon_watch(daemon);

    if (r >= 0)
        r = watch_signals(daemon);
    if (r >= 0)
        r = sd_event_set_watchdog(daemon->event, true);
    return r < 0 ? fail_loop("the event loop cannot start", r) : EXIT_SUCCESS;
}

static int start_listening(struct daemon *daemon)
{
    struct error error = {0};

    if (daemon_listen(daemon, &error) < 0)
        return fail(LOG_KIND_LISTEN_FAILED, NULL, error.message, EXIT_BAD_USAGE);
    return EXIT_SUCCESS;
}

/* Drops privileges, before any client is served, and opens counters. */
static int drop_and_open(struct daemon *daemon)
{
    struct error error = {0};

    daemon->session.children =
        (struct children){.opener = privsep_opener(daemon->privsep),
                          .symboliser = &daemon->symboliser,
                          .reader = daemon->session.has_reader ? &daemon->session.reader.child : NULL};
    if (privsep_drop(daemon->privsep, !daemon->handed_over, &error) < 0 || session_open(&daemon->session, &error) < 0)
        return fail_start(error.message);
    return EXIT_SUCCESS;
}

static int serve(struct daemon *daemon)
{
    char address[512];

    daemon_count(daemon);
    if (hotplug_listen_error(daemon->hotplug) < 0)
        log_event(
            LOG_KIND_CHANGES_UNHEARD, NULL, 0,
            "CPUs that go online or offline are noticed late, because the kernel's messages cannot be received: %s",
            strerror(-hotplug_listen_error(daemon->hotplug)));
    for (size_t i = 0; server_describe(daemon->server, i, address, sizeof(address)); i++)
        log_info("listening on %s", address);
    int status = sd_event_loop(daemon->event); /* the exit status that was passed to daemon_end() */
    return status < 0 ? fail_loop("the event loop cannot continue", status) : status;
}

int command_run(const struct options *options)
{
    static int (*const stages[])(struct daemon * daemon) = {
        split_off, load, make_event_loop, start_listening, drop_and_open, serve,
    };
    struct daemon daemon = {.options = options};
    int status = EXIT_SUCCESS;

    daemon.symboliser = CHILD_NONE;
    serving_init(&daemon);
    sys_init(&daemon.session.sys);
    process_stat_read_boot(&daemon.boot_ns);
    daemon.started_realtime_ns = sys_now(&daemon.session.sys, CLOCK_REALTIME);
    for (size_t i = 0; i < ARRAY_SIZE(stages) && status == EXIT_SUCCESS; i++)
        status = stages[i](&daemon);
    daemon_done(&daemon);
    return status;
}
