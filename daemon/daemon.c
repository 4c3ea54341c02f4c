/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: see daemon.h. */
#include "daemon/daemon.h"

#include <signal.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/serving.h"
#include "daemon/settings.h"
#include "daemon/summary.h"
#include "systemd/notify.h"

static void daemon_done(struct daemon *daemon)
{
    daemon->server = server_free(daemon->server);
    daemon->shutdown = shutdown_free(daemon->shutdown);
    daemon->sampler = sampler_free(daemon->sampler);
    daemon->hotplug = hotplug_free(daemon->hotplug);
    daemon->watches = watches_free(daemon->watches);
    daemon->pause = pause_free(daemon->pause);
    daemon->retry = retry_free(daemon->retry);
    cpuset_done(&daemon->left);
    session_done(&daemon->session);
    daemon->split = split_free(daemon->split);
    failure_log_done(&daemon->failure_log);
    sd_event_unref(daemon->event);
}

unsigned daemon_paused_seconds(const struct daemon *daemon)
{
    return (unsigned)((pause_remaining(daemon->pause) + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

/* For `systemctl status`; `notify` is notify_ready() or notify_status(). */
static void tell_state(struct daemon *daemon, void (*notify)(const char *status))
{
    struct summary_state state = {
        .reload_error = daemon->reload_error,
        .paused_seconds = daemon_paused_seconds(daemon),
        .opener_lost = split_is_lost(daemon->split),
    };
    char status[1024];

    summary_format(daemon->session.registry, &state, status, sizeof(status));
    daemon->n_missing = registry_failures(daemon->session.registry)->n;
    notify(status);
}

/* What could not be opened, or followed, and may be later. */
static void try_later(struct daemon *daemon)
{
    enum reason_span span = daemon->lagging ? REASON_PASSES : registry_retry_span(daemon->session.registry);
    int r = retry_want(daemon->retry, span);

    if (r < 0)
        log_warning("what is missing is not tried again by itself: %s", strerror(-r));
}

static void watch_collectors(struct daemon *daemon)
{
    int r = watches_update(daemon->watches, daemon->session.registry);

    if (r < 0)
        log_event(LOG_KIND_CHANGES_UNHEARD, NULL, 0, "changes are not noticed: %s", strerror(-r));
}

/* After each opening of what the configuration wants: what came with it is watched, what is missing is told. */
static void settle(struct daemon *daemon)
{
    watch_collectors(daemon);
    failure_log_update(&daemon->failure_log, daemon->session.registry);
    tell_state(daemon, notify_ready);
    retry_restart(daemon->retry);
    try_later(daemon);
}

/* One that answers again is worth another try at once. */
static void on_opener(void *userdata)
{
    struct daemon *daemon = userdata;

    if (!split_is_lost(daemon->split)) {
        retry_restart(daemon->retry);
        try_later(daemon);
        return;
    }
    log_event(LOG_KIND_OPENER_LOST, NULL, 0,
              "the opener is gone: what is open goes on counting, and nothing new can be opened; restart perfcountd");
    tell_state(daemon, notify_status);
}

static void on_watched(void *userdata)
{
    struct daemon *daemon = userdata;

    failure_log_update(&daemon->failure_log, daemon->session.registry);
    /* Cgroups come and go often; what can no longer be counted, or can again, does not. */
    if (registry_failures(daemon->session.registry)->n != daemon->n_missing)
        tell_state(daemon, notify_status);
    try_later(daemon);
}

static int rescan(struct daemon *daemon)
{
    struct error error;
    int r = session_rescan(&daemon->session, &daemon->left, &error);

    if (r < 0 && !daemon->lagging)
        log_event(LOG_KIND_CPUS_LOST, NULL, 0, "the CPUs changed, and what is counted cannot follow yet: %s",
                  error.message);
    daemon->lagging = r < 0;
    return r;
}

static void follow_cpus(struct daemon *daemon)
{
    const struct machine *machine;

    if (rescan(daemon) < 0) {
        try_later(daemon);
        return;
    }
    machine = daemon->session.machine;
    _cleanup_(freep) char *online = cpuset_format(&machine->online);
    const struct log_field field = {"cpus", online ? online : ""};
    sampler_cpus_changed(daemon->sampler, machine, &daemon->left);
    cpuset_done(&daemon->left);
    log_event(LOG_KIND_CPUS_CHANGED, &field, 1, "CPUs online: %s", field.value);
    settle(daemon);
}

/* `left` is empty where nothing was heard and something is suspected. */
static void on_cpus(void *userdata, const struct cpuset *left)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;

    daemon->looked_ns = daemon->session.sys.now(&daemon->session.sys, CLOCK_MONOTONIC);
    CPUSET_FOREACH (cpu, left)
        cpuset_add(&daemon->left, (unsigned)cpu);
    if (daemon->lagging || cpuset_count(left) > 0 || registry_is_stale(session->registry) ||
        machine_is_outdated(&session->sys, session->machine))
        follow_cpus(daemon);
}

static void on_retry(void *userdata)
{
    struct daemon *daemon = userdata;
    struct error error;

    if (daemon->lagging) {
        follow_cpus(daemon);
        return;
    }
    if (registry_retry(daemon->session.registry, &error) < 0)
        log_warning("what is missing could not be tried again: %s", error.message);
    watch_collectors(daemon);
    on_watched(daemon);
}

/* As many clients as descriptors are set aside for. */
static struct server_limits limits_of(const struct config_limits *limits, const struct fd_budget *budget)
{
    return (struct server_limits){
        .connections = (unsigned)MIN(limits->connections, budget->clients),
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
        .hosts = web->hosts,
        .n_hosts = web->n_hosts,
        .operates = config_standing_to_operate(config),
        .limits = limits_of(&web->limits, &daemon->session.budget),
    };

    listening_check(&daemon->listening, web);
    return server_configure(daemon->server, &settings, error);
}

static struct log_field config_field(const struct daemon *daemon)
{
    const struct config *config = daemon->session.config;
    const char *file = config && config->file ? config->file : daemon->options->config_file;

    return (struct log_field){"config_file", file ? file : ""};
}

/* At the start and at each reload. */
static void warn_of_deprecated(const struct daemon *daemon)
{
    const struct log_field field = config_field(daemon);
    const struct config *config = daemon->session.config;
    char sentence[sizeof(((struct error *)NULL)->message) + 256];
    struct error warning;

    if (config_has_deprecated_key(config, &warning))
        log_event(LOG_KIND_CONFIG_DEPRECATED, &field, 1, "%s",
                  config_format_error(config->file, &warning, sentence, sizeof(sentence)));
}

static void apply_to_sampler(struct daemon *daemon)
{
    const struct config *config = daemon->session.config;

    sampler_configure(daemon->sampler, daemon->session.machine, &config->sampler, config_standing_to_sample(config));
    sampler_cpus_changed(daemon->sampler, daemon->session.machine, NULL);
}

int daemon_reload(struct daemon *daemon, struct error *error)
{
    if (shutdown_has_begun(daemon->shutdown))
        return error_set(error, -ESHUTDOWN, "perfcountd is shutdown");
    notify_reloading();
    int r = session_reload(&daemon->session, daemon->options, accept_config, daemon, error);
    const struct log_field field = config_field(daemon);
    if (r < 0) {
        snprintf(daemon->reload_error, sizeof(daemon->reload_error), "%s", error->message);
        log_event(LOG_KIND_RELOAD_FAILED, &field, 1, "%s; the old configuration goes on", error->message);
    } else {
        daemon->reload_error[0] = '\0';
        apply_to_sampler(daemon);
        warn_of_deprecated(daemon);
        log_event(LOG_KIND_RELOADED, &field, 1, "configuration reloaded");
    }
    settle(daemon);
    return r;
}

int daemon_set_paused(struct daemon *daemon, bool paused)
{
    int r = registry_pause(daemon->session.registry, paused);
    int sampled = sampler_pause(daemon->sampler, paused);

    r = r < 0 ? r : sampled;
    if (r < 0)
        log_warning("not every group could be %s: %s", paused ? "disabled" : "enabled again", strerror(-r));
    tell_state(daemon, notify_status);
    return r;
}

static void on_pause_end(void *userdata)
{
    struct daemon *daemon = userdata;

    log_event(LOG_KIND_RESUMED, NULL, 0, "counting goes on: the pause is over");
    daemon_set_paused(daemon, false);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct error error;

    (void)source;
    (void)info;
    daemon_reload(userdata, &error);
    return 0;
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source;
    log_info("%s: shutdown", sigabbrev_np((int)info->ssi_signo));
    notify_stopping();
    return shutdown_begin(daemon->shutdown);
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

    if (r == 0)
        r = listening_adopt(&daemon->listening, daemon->server, error);
    return r < 0 ? r : accept_config(daemon, daemon->session.config, error);
}

static int loop(struct daemon *daemon)
{
    const char *url;

    daemon->ready = true;
    settle(daemon);
    if (hotplug_listen_error(daemon->hotplug) < 0)
        log_event(LOG_KIND_CHANGES_UNHEARD, NULL, 0,
                  "CPUs that come and go are noticed late: the kernel's messages cannot be heard: %s",
                  strerror(-hotplug_listen_error(daemon->hotplug)));
    for (size_t i = 0; (url = server_url(daemon->server, i)); i++)
        log_info("listening on %s", url);
    return sd_event_loop(daemon->event) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Before all else: what is opened from here on, the opener does not have. */
static int split_off(struct daemon *daemon)
{
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error = {0};

    if (session_begin(&daemon->session, daemon->options, true, &error) < 0) {
        log_event(LOG_KIND_START_FAILED, NULL, 0, "%s", error.message);
        return EXIT_FAILURE;
    }
    if (settings_read(daemon->options, &daemon->session.sys, &config, &error) < 0) {
        const struct log_field field = config_field(daemon);
        log_event(LOG_KIND_CONFIG_BAD, &field, 1, "%s", error.message);
        return EXIT_BAD_USAGE;
    }
    int r = split_new(daemon->options, config, &daemon->session.sys, &daemon->split, &error);
    if (r < 0) {
        log_event(LOG_KIND_START_FAILED, NULL, 0, "%s", error.message);
        return r == -EINVAL ? EXIT_BAD_USAGE : EXIT_FAILURE;
    }
    daemon->service.files = settings_files(&daemon->session.sys);
    return EXIT_SUCCESS;
}

static int start(struct daemon *daemon)
{
    struct error error = {0};
    int status = split_off(daemon);

    if (status != EXIT_SUCCESS)
        return status;
    if (session_load(&daemon->session, daemon->options, &error) < 0) {
        const struct log_field field = config_field(daemon);
        log_event(LOG_KIND_CONFIG_BAD, &field, 1, "%s", error.message);
        return EXIT_BAD_USAGE;
    }
    if (session_divide_descriptors(&daemon->session, &error) < 0) {
        log_event(LOG_KIND_START_FAILED, NULL, 0, "%s", error.message);
        return EXIT_FAILURE;
    }
    daemon->looked_ns = daemon->session.sys.now(&daemon->session.sys, CLOCK_MONOTONIC);
    if (sd_event_new(&daemon->event) < 0 || watch_signals(daemon) < 0 ||
        hotplug_new(daemon->event, on_cpus, daemon, &daemon->hotplug) < 0 ||
        watches_new(daemon->event, on_watched, daemon, &daemon->watches) < 0 ||
        split_watch(daemon->split, daemon->event, on_opener, daemon) < 0 ||
        retry_new(daemon->event, on_retry, daemon, &daemon->retry) < 0 ||
        pause_new(daemon->event, on_pause_end, daemon, &daemon->pause) < 0 ||
        sampler_new(&daemon->session.sys, daemon->event, &daemon->sampler) < 0 ||
        shutdown_new(daemon->event, daemon->sampler, &daemon->shutdown) < 0 ||
        sd_event_set_watchdog(daemon->event, true) < 0) {
        log_event(LOG_KIND_START_FAILED, NULL, 0, "the event loop cannot start");
        return EXIT_FAILURE;
    }
    apply_to_sampler(daemon);
    warn_of_deprecated(daemon);
    if (listen_as_configured(daemon, &error) < 0) {
        log_event(LOG_KIND_LISTEN_FAILED, NULL, 0, "%s", error.message);
        return EXIT_BAD_USAGE;
    }
    if (split_drop(daemon->split, &error) < 0 || session_open(&daemon->session, &error) < 0) {
        log_event(LOG_KIND_START_FAILED, NULL, 0, "%s", error.message);
        return EXIT_FAILURE;
    }
    return loop(daemon);
}

int daemon_run(const struct options *options)
{
    struct daemon daemon = {.options = options};

    serving_init(&daemon);
    sys_init(&daemon.session.sys);
    daemon.started_realtime_ns = daemon.session.sys.now(&daemon.session.sys, CLOCK_REALTIME);
    int status = start(&daemon);
    daemon_done(&daemon);
    return status;
}
