/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: see daemon.h. */
#include "daemon/daemon.h"

#include <signal.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "daemon/catalogue.h"
#include "daemon/command.h"
#include "daemon/complaints.h"
#include "daemon/documents.h"
#include "daemon/hotplug.h"
#include "daemon/session.h"
#include "daemon/split.h"
#include "daemon/watches.h"
#include "http/server.h"
#include "systemd/notify.h"

/* A reading this long after the last look at the CPUs asks for another, in case an uevent was not heard. */
#define LOOK_NS (60 * NSEC_PER_SEC)

struct daemon {
    const struct options *options;
    struct session session;
    struct split *split;
    struct service service;
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t looked_ns; /* at the CPUs */
    struct watches *watches;
    struct complaints complaints;
    char reload_error[512];
    bool ready;
    uint64_t started_realtime_ns;
};

static void daemon_done(struct daemon *daemon)
{
    daemon->server = server_free(daemon->server);
    daemon->hotplug = hotplug_free(daemon->hotplug);
    daemon->watches = watches_free(daemon->watches);
    session_done(&daemon->session);
    daemon->split = split_free(daemon->split);
    complaints_done(&daemon->complaints);
    sd_event_unref(daemon->event);
}

static const struct snapshot *serve_read(void *userdata, uint32_t mask, bool fresh)
{
    struct daemon *daemon = userdata;
    struct registry *registry = daemon->session.registry;
    const struct snapshot *snapshot =
        registry_read(registry, mask, fresh ? 0 : daemon->session.config->web.min_interval_ns);

    if (registry_is_stale(registry) || snapshot->monotonic_ns - daemon->looked_ns > LOOK_NS)
        hotplug_suspect(daemon->hotplug);
    return snapshot;
}

static json_t *serve_document(void *userdata, enum service_document which)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;
    _cleanup_(json_decrefp) json_t *opener = split_json(daemon->split);
    struct document_process process = {
        .config = session->config,
        .machine = session->machine,
        .reload = &session->reload,
        .reload_error = daemon->reload_error,
        .opener = opener,
        .started_realtime_ns = daemon->started_realtime_ns,
    };

    switch (which) {
    case DOCUMENT_PMUS:
        return document_pmus(session->machine);
    case DOCUMENT_EVENTS:
        return catalogue_json(&session->sys, session->machine);
    case DOCUMENT_CGROUPS:
        return document_cgroups(session->registry);
    case DOCUMENT_STATUS:
        return document_status(session->registry, &process);
    case DOCUMENT_CONFIG:
        return config_json(session->config);
    }
    return NULL;
}

static bool serve_ready(void *userdata)
{
    return ((struct daemon *)userdata)->ready;
}

static uint64_t serve_now(void *userdata)
{
    struct sys *sys = &((struct daemon *)userdata)->session.sys;

    return sys->now(sys, CLOCK_MONOTONIC);
}

static void serve_complain(void *userdata, const char *sentence)
{
    (void)userdata;
    log_warning("%s", sentence);
}

/* "30 groups counting, 6 events missing", for `systemctl status`. */
static void notify_state(const struct daemon *daemon)
{
    const struct snapshot *snapshot = registry_read(daemon->session.registry, 0, UINT64_MAX);
    size_t groups = 0;
    char status[128];

    for (size_t i = 0; i < snapshot->n_rows; i++)
        groups += snapshot->rows[i]->state != ROW_UNAVAILABLE;
    snprintf(status, sizeof(status), "%zu groups open, %zu events missing%s", groups,
             registry_failures(daemon->session.registry)->n,
             split_is_lost(daemon->split) ? ", the opener is gone: restart perfcountd" : "");
    notify_ready(status);
}

/* After each opening of what the configuration wants: what came with it is watched, what is missing is told. */
static void settle(struct daemon *daemon)
{
    int r = watches_update(daemon->watches, daemon->session.registry);

    if (r < 0)
        log_error("changes are not noticed: %s", strerror(-r));
    complaints_tell(&daemon->complaints, daemon->session.registry);
    notify_state(daemon);
}

static void on_opener_lost(void *userdata)
{
    log_error("the opener is gone: what is open goes on counting, and nothing new can be opened; restart perfcountd");
    notify_state(userdata);
}

static void on_watched(void *userdata)
{
    struct daemon *daemon = userdata;

    complaints_tell(&daemon->complaints, daemon->session.registry);
}

/* `left` is empty where nothing was heard and something is suspected. */
static void on_cpus(void *userdata, const struct cpuset *left)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;
    struct error error;

    daemon->looked_ns = serve_now(daemon);
    if (cpuset_count(left) == 0 && !registry_is_stale(session->registry) &&
        !machine_is_outdated(&session->sys, session->machine))
        return;
    if (session_rescan(session, left, &error) < 0) {
        log_error("the CPUs changed, and what is counted cannot follow: %s", error.message);
        return;
    }
    _cleanup_(freep) char *online = cpuset_format(&session->machine->online);
    log_info("CPUs online: %s", online ? online : "");
    settle(daemon);
}

static struct server_limits limits_of(const struct config_limits *limits)
{
    return (struct server_limits){
        .connections = (unsigned)limits->connections,
        .connections_per_address = (unsigned)limits->connections_per_address,
        .memory_per_connection = limits->header_size,
        .request_ns = limits->request_timeout_ns,
        .keepalive_ns = limits->idle_timeout_ns,
        .response_ns = limits->response_timeout_ns,
    };
}

static int accept_config(void *userdata, const struct config *config, struct error *error)
{
    struct daemon *daemon = userdata;
    const struct config_web *web = &config->web;
    struct server_settings settings = {
        .addresses = web->listen,
        .n_addresses = web->n_listen,
        .telemetry_path = web->telemetry_path,
        .web_config = web->config_file,
        .limits = limits_of(&web->limits),
    };

    return server_configure(daemon->server, &settings, error);
}

static int serve_reload(void *userdata, struct error *error)
{
    struct daemon *daemon = userdata;

    notify_reloading();
    int r = session_reload(&daemon->session, daemon->options, accept_config, daemon, error);
    if (r < 0) {
        snprintf(daemon->reload_error, sizeof(daemon->reload_error), "%s", error->message);
        log_error("%s; the old configuration goes on", error->message);
    } else {
        daemon->reload_error[0] = '\0';
        log_info("configuration reloaded");
    }
    settle(daemon);
    return r;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct error error;

    (void)source;
    (void)info;
    serve_reload(userdata, &error);
    return 0;
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    (void)userdata;
    log_info("%s: ending", sigabbrev_np((int)info->ssi_signo));
    return sd_event_exit(sd_event_source_get_event(source), 0);
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
    int r = sd_event_add_signal(daemon->event, NULL, SIGTERM, on_end, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGINT, on_end, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGHUP, on_hangup, daemon);
    return r;
}

static int listen_as_configured(struct daemon *daemon, struct error *error)
{
    const struct config_web *web = &daemon->session.config->web;
    int r = server_new(daemon->event, &daemon->service, web->telemetry_path, NULL, &daemon->server, error);

    return r < 0 ? r : accept_config(daemon, daemon->session.config, error);
}

static int loop(struct daemon *daemon)
{
    const char *url;

    daemon->ready = true;
    settle(daemon);
    if (hotplug_deafness(daemon->hotplug) < 0)
        log_warning("CPUs that come and go are noticed late: the kernel's messages cannot be heard: %s",
                    strerror(-hotplug_deafness(daemon->hotplug)));
    for (size_t i = 0; (url = server_url(daemon->server, i)); i++)
        log_info("listening on %s", url);
    int r = sd_event_loop(daemon->event);
    notify_stopping();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int start(struct daemon *daemon)
{
    struct error error = {0};

    if (split_new(daemon->options, &daemon->session.sys, &daemon->split, &error) < 0) {
        log_error("%s", error.message);
        return EXIT_FAILURE;
    }
    if (session_load(&daemon->session, daemon->options, &error) < 0) {
        log_error("%s", error.message);
        return EXIT_BAD_USAGE;
    }
    daemon->looked_ns = serve_now(daemon);
    if (sd_event_new(&daemon->event) < 0 || watch_signals(daemon) < 0 ||
        hotplug_new(daemon->event, on_cpus, daemon, &daemon->hotplug) < 0 ||
        watches_new(daemon->event, on_watched, daemon, &daemon->watches) < 0 ||
        split_watch(daemon->split, daemon->event, on_opener_lost, daemon) < 0) {
        log_error("the event loop cannot start");
        return EXIT_FAILURE;
    }
    if (listen_as_configured(daemon, &error) < 0) {
        log_error("%s", error.message);
        return EXIT_BAD_USAGE;
    }
    if (session_open(&daemon->session, &error) < 0) {
        log_error("%s", error.message);
        return EXIT_FAILURE;
    }
    return loop(daemon);
}

int daemon_run(const struct options *options)
{
    struct daemon daemon = {.options = options};

    daemon.service = (struct service){
        .userdata = &daemon,
        .read = serve_read,
        .document = serve_document,
        .reload = serve_reload,
        .ready = serve_ready,
        .now = serve_now,
        .complain = serve_complain,
    };
    sys_init(&daemon.session.sys);
    daemon.started_realtime_ns = daemon.session.sys.now(&daemon.session.sys, CLOCK_REALTIME);
    int status = start(&daemon);
    daemon_done(&daemon);
    return status;
}
