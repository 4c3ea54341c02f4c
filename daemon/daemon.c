/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include "base/cleanup.h"
#include "base/timer.h"
#include "collectors/cgroup/cgroup.h"
#include "daemon/log.h"
#include "daemon/status.h"
#include "perf/reason.h"
#include "systemd/service-manager.h"

/* --- listening --- */

/* Returns whether flags or the configuration set addresses other than the default. */
static bool has_chosen_addresses(const struct config_web *web)
{
    struct config *builtin;

    if (config_default(&builtin, NULL) < 0)
        return false;
    bool same = web->n_listen == builtin->web.n_listen;
    for (size_t i = 0; same && i < web->n_listen; i++)
        same = str_equal(web->listen[i], builtin->web.listen[i]);
    config_free(builtin);
    return !same;
}

static void warn_of_ignored_addresses(struct daemon *daemon, const struct config_web *web)
{
    if (!daemon->handed_over || daemon->addresses_ignored || !has_chosen_addresses(web))
        return;
    daemon->addresses_ignored = true;
    log_event(LOG_KIND_ADDRESSES_IGNORED, NULL, 0,
              "web.listen and --web.listen-address are ignored: systemd passed the listening sockets; set their "
              "addresses with ListenStream= in the socket unit");
}

static struct server_limits server_limits_of(const struct config_limits *limits, const struct fd_budget *budget)
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

/*
 * Passes the settings of `config` to the server, with no more connections than the budget has descriptors for clients.
 * Warns once if the configured addresses are ignored. Returns the errors from server_configure().
 */
static int configure_server(void *userdata, const struct config *config, struct error *error)
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
        .operates = config_trust_to_operate(config),
        .limits = server_limits_of(&web->limits, &daemon->session.budget),
    };

    warn_of_ignored_addresses(daemon, web);
    return server_configure(daemon->server, &settings, error);
}

/*
 * Passes the service manager's sockets, if any, to the server. Returns the errors from sockets_take() and
 * server_adopt().
 */
static int adopt_sockets(struct daemon *daemon, struct error *error)
{
    _cleanup_(sockets_done) struct sockets sockets = {.stored = -1};
    int r = sockets_take(&sockets, error);

    if (r == 0)
        recorder_adopt(daemon->recorder, steal_fd(&sockets.stored));
    if (r < 0 || sockets.n == 0)
        return r;
    r = server_adopt(daemon->server, sockets.fds, sockets.n, error);
    if (r < 0)
        return r;
    daemon->handed_over = true;
    sockets.n = 0; /* the server owns the sockets now */
    return 0;
}

int daemon_listen(struct daemon *daemon, struct error *error)
{
    const struct config *config = daemon->session.config;
    int r = server_new(daemon->event, &daemon->service, config->web.telemetry_path, NULL, &daemon->server, error);

    if (r == 0)
        r = adopt_sockets(daemon, error);
    return r < 0 ? r : configure_server(daemon, config, error);
}

/* --- state --- */

struct service_pause daemon_paused(struct daemon *daemon)
{
    struct sys *sys = &daemon->session.sys;
    uint64_t usec = timer_remaining(daemon->pause);

    if (!registry_is_paused(daemon->session.registry))
        return (struct service_pause){.paused = false};
    return (struct service_pause){
        .paused = true,
        .seconds = (unsigned)((usec + USEC_PER_SEC - 1) / USEC_PER_SEC),
        .until = (double)sys_now(sys, CLOCK_REALTIME) / (double)NSEC_PER_SEC + (double)usec / (double)USEC_PER_SEC,
    };
}

/*
 * Sends the daemon's state to the service manager, for `systemctl status`. `notify` is notify_ready() or
 * notify_status().
 */
static void report_state(struct daemon *daemon, void (*notify)(const char *status))
{
    struct summary_state state = {
        .reload_error = daemon->reload_error,
        .paused_seconds = daemon_paused(daemon).seconds,
        .opener_lost = privsep_is_lost(daemon->privsep),
        .ends = daemon->state == DAEMON_ENDING,
    };
    char status[1024];

    summary_format(daemon->session.registry, &state, status, sizeof(status));
    daemon->n_reported_failures = registry_failures(daemon->session.registry)->n;
    notify(status);
}

/* Logs one line that describes what is counted. Called at startup and after each reload. */
static void log_counting(const struct daemon *daemon)
{
    char text[1024];

    summary_describe(daemon->session.registry, daemon->options->config_file, text, sizeof(text));
    log_event(LOG_KIND_COUNTING, NULL, 0, "%s", text);
}

void daemon_follow_failures(struct daemon *daemon)
{
    failure_log_update(&daemon->failure_log, daemon->session.registry, &daemon->troubles);
    if (registry_failures(daemon->session.registry)->n != daemon->n_reported_failures)
        report_state(daemon, notify_status);
}

/*
 * Schedules a retry for groups that could not be opened and descriptors that could not be watched, if the cause may be
 * temporary.
 */
static void schedule_retry(struct daemon *daemon)
{
    bool passes = troubles_need_retry(&daemon->troubles);
    enum reason_span span = passes ? REASON_PASSES : registry_retry_span(daemon->session.registry);
    int r = retry_want(daemon->retry, span);

    if (r < 0)
        log_warning("events that could not be opened cannot be retried: %s", strerror(-r));
}

static void watch_collectors(struct daemon *daemon)
{
    int r = watches_update(daemon->watches, daemon->session.registry);

    trouble_set(&daemon->troubles, TROUBLE_CGROUPS_UNHEARD, r, "new and removed cgroups are not noticed yet: %s",
                strerror(-r));
}

/*
 * Must be called after each registry_configure(). Watches the collectors' descriptors, logs and reports what is
 * unavailable, and restarts retries from the shortest wait.
 */
static void follow_collectors(struct daemon *daemon)
{
    watch_collectors(daemon);
    failure_log_update(&daemon->failure_log, daemon->session.registry, &daemon->troubles);
    report_state(daemon, notify_ready);
    retry_restart(daemon->retry);
    schedule_retry(daemon);
}

static void record(struct daemon *daemon)
{
    int r = recorder_configure(daemon->recorder, &daemon->session.config->history);

    trouble_set(&daemon->troubles, TROUBLE_NOT_RECORDED, r, "no history is recorded: %s", strerror(-r));
}

void daemon_count(struct daemon *daemon)
{
    daemon->state = DAEMON_COUNTING;
    record(daemon);
    follow_collectors(daemon);
    log_counting(daemon);
}

/* --- shutdown --- */

/* How long clients may take to read the rest of their responses, and how often the daemon checks on them. */
#define DRAIN_USEC (1 * USEC_PER_SEC)
#define STEP_USEC 20000

static bool is_draining(const struct daemon *daemon)
{
    return daemon->streaming || server_is_answering(daemon->server);
}

static void on_streams_ended(void *userdata)
{
    ((struct daemon *)userdata)->streaming = false;
}

static int on_drain(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)usec;
    if (daemon->drain_steps-- > 0 && is_draining(daemon))
        return timer_arm_in(source, STEP_USEC);
    return sd_event_exit(daemon->event, daemon->status);
}

int daemon_end(struct daemon *daemon, int status)
{
    bool again = daemon->state == DAEMON_ENDING;

    daemon->state = DAEMON_ENDING;
    daemon->status = status;
    if (!again) {
        server_hurry(daemon->server);
        daemon->drain_steps = DRAIN_USEC / STEP_USEC;
        daemon->streaming = sampler_end(daemon->sampler, on_streams_ended, daemon);
    }
    if (!again && is_draining(daemon) && timer_arm_in(daemon->drain, STEP_USEC) >= 0)
        return 0;
    return sd_event_exit(daemon->event, status);
}

/* --- changes --- */

/* Shuts the daemon down after the opener is lost, so that the service manager restarts it with a new one. */
static void end_without_opener(struct daemon *daemon, const char *end)
{
    log_event(LOG_KIND_OPENER_LOST, NULL, 0,
              REASON_OPENER_GONE
              ": %s; perfcountd exits with status 1, so that the service manager restarts it (Restart=)",
              end);
    daemon_end(daemon, EXIT_FAILURE);
    report_state(daemon, notify_status);
    notify_stopping();
}

/*
 * Called when the opener has exited, and when a late opener has answered again. After a late answer a retry may
 * succeed, so retries restart from the shortest wait.
 */
static void on_opener_changed(void *userdata)
{
    struct daemon *daemon = userdata;
    char end[128];

    if (!privsep_is_lost(daemon->privsep)) {
        retry_restart(daemon->retry);
        schedule_retry(daemon);
        return;
    }
    privsep_describe_end(daemon->privsep, end, sizeof(end));
    /*
     * Force a new reading: the BPF program that counts cgroups is gone with the opener, but its last counts would
     * otherwise be served until they are too old.
     */
    registry_expire(daemon->session.registry);
    registry_read(daemon->session.registry, UINT32_MAX, 0);
    if (notify_is_received() && daemon->state != DAEMON_ENDING) {
        end_without_opener(daemon, end);
        return;
    }
    log_event(LOG_KIND_OPENER_LOST, NULL, 0,
              REASON_OPENER_GONE
              ": %s; open groups continue to count, but nothing new can be opened; " REASON_OPENER_GONE_REMEDY,
              end);
    failure_log_update(&daemon->failure_log, daemon->session.registry, &daemon->troubles);
    report_state(daemon, notify_status);
}

/*
 * Recomputes the memory limit, because the kernel's memory for counting new cgroups is also charged to this process's
 * cgroup. If there was no limit, looks for one only after rows have been added or removed, or after -ENOMEM.
 */
static void limit_memory(struct daemon *daemon, int error)
{
    size_t size = registry_snapshot(daemon->session.registry)->metrics.text_size;

    if (error < 0 || daemon->is_limited || size != daemon->limited_size)
        daemon->is_limited = memory_limit_apply(&daemon->session.memory);
    daemon->limited_size = size;
}

/* `error` is the result of registry_dispatch(). After an error, the next retry catches up with the changes. */
static void on_collector_changed(void *userdata, int error)
{
    struct daemon *daemon = userdata;

    trouble_set(&daemon->troubles, TROUBLE_CHANGES_MISSED, error,
                "some new or removed cgroups were missed: %s; perfcountd will retry", strerror(-error));
    limit_memory(daemon, error);
    daemon_follow_failures(daemon);
    schedule_retry(daemon);
}

static int rescan(struct daemon *daemon)
{
    struct error error;
    int r = session_rescan(&daemon->session, &daemon->unhandled_cpus, &error);

    trouble_set(&daemon->troubles, TROUBLE_RESCAN_FAILED, r,
                "the counters were not adapted to a change in the online CPUs: %s; perfcountd will retry",
                error.message);
    return r;
}

static void follow_cpus(struct daemon *daemon)
{
    const struct machine *before = daemon->session.machine;
    int r = rescan(daemon);
    const struct machine *machine = daemon->session.machine;

    if (machine != before) /* rescan() has replaced the machine, perhaps even on -ENOMEM, and freed `before` */
        sampler_cpus_changed(daemon->sampler, machine, &daemon->unhandled_cpus);
    if (r < 0) {
        schedule_retry(daemon);
        return;
    }
    _cleanup_(freep) char *online = cpuset_format(&machine->online);
    const struct log_field field = {"cpus", online ? online : ""};
    cpuset_done(&daemon->unhandled_cpus);
    log_event(LOG_KIND_CPUS_CHANGED, &field, 1, "CPUs online: %s", field.value);
    follow_collectors(daemon);
}

/*
 * Returns whether the set of online CPUs differs from that in session->machine. Logs once if the online CPUs cannot be
 * read.
 */
static bool cpus_differ(struct daemon *daemon)
{
    int r = machine_is_outdated(&daemon->session.sys, daemon->session.machine);

    trouble_set(&daemon->troubles, TROUBLE_CPUS_UNREAD, r,
                "changes of the online CPUs cannot be noticed: cannot read /sys/devices/system/cpu/online: %s; the "
                "next reading will retry",
                strerror(-r));
    return r > 0;
}

/* `went_offline` is empty if CPUs only came online, and after hotplug_request_check(). */
static void on_cpus_changed(void *userdata, const struct cpuset *went_offline)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;

    daemon->cpus_checked_ns = sys_now(&session->sys, CLOCK_MONOTONIC);
    CPUSET_FOREACH (cpu, went_offline)
        cpuset_add(&daemon->unhandled_cpus, (unsigned)cpu);
    if (daemon->troubles.now[TROUBLE_RESCAN_FAILED] || cpuset_count(went_offline) > 0 ||
        registry_is_stale(session->registry) || cpus_differ(daemon))
        follow_cpus(daemon);
}

static void on_retry(void *userdata)
{
    struct daemon *daemon = userdata;
    struct error error;

    if (daemon->troubles.now[TROUBLE_RESCAN_FAILED]) {
        follow_cpus(daemon);
        return;
    }
    memory_limit_apply(&daemon->session.memory);
    int r = registry_retry(daemon->session.registry, &error);
    trouble_set(&daemon->troubles, TROUBLE_RETRY_FAILED, r, "events that could not be opened cannot be retried: %s",
                error.message);
    watch_collectors(daemon);
    on_collector_changed(daemon, 0);
}

/* --- pause --- */

/*
 * Disables or enables all counter groups and sample rings. Continues after a failure, and returns -errno of the first
 * group or ring that failed.
 */
static int set_paused(struct daemon *daemon, bool paused)
{
    int r = registry_pause(daemon->session.registry, paused);
    int sampled = sampler_pause(daemon->sampler, paused);

    r = r < 0 ? r : sampled;
    if (r < 0)
        log_warning("not every group could be %s: %s", paused ? "disabled" : "enabled again", strerror(-r));
    report_state(daemon, notify_status);
    return r;
}

static int on_pause_end(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    log_event(LOG_KIND_RESUMED, NULL, 0, "counting resumes: the pause is over");
    set_paused(userdata, false);
    return 0;
}

int daemon_pause(struct daemon *daemon, unsigned seconds, struct error *error)
{
    if (seconds == 0) {
        bool was_paused = registry_is_paused(daemon->session.registry);
        timer_disarm(daemon->pause);
        if (was_paused)
            log_event(LOG_KIND_RESUMED, NULL, 0, "counting resumes on request");
        return was_paused && set_paused(daemon, false) < 0
                   ? error_set(error, -EIO, "not every group could be enabled again")
                   : 0;
    }
    int r = timer_arm_in(daemon->pause, seconds * USEC_PER_SEC);
    if (r < 0)
        return error_set(error, r, "cannot set the timer that ends the pause: %s", strerror(-r));
    log_event(LOG_KIND_PAUSED, NULL, 0, "counting is paused for %u %s", seconds, seconds == 1 ? "second" : "seconds");
    return set_paused(daemon, true) < 0 ? error_set(error, -EIO, "not every group could be disabled") : 0;
}

/* --- configuration --- */

struct log_field daemon_config_field(const struct daemon *daemon)
{
    const struct config *config = daemon->session.config;
    const char *file = config && config->file ? config->file : daemon->options->config_file;

    return (struct log_field){"config_file", file ? file : ""};
}

static void warn_of_deprecated(const struct daemon *daemon)
{
    const struct log_field field = daemon_config_field(daemon);
    const struct config *config = daemon->session.config;
    char sentence[sizeof(((struct error *)NULL)->message) + 256];
    struct error warning;

    if (config_has_deprecated_key(config, &warning))
        log_event(LOG_KIND_CONFIG_DEPRECATED, &field, 1, "%s",
                  config_format_error(config->file, &warning, sentence, sizeof(sentence)));
}

/*
 * Passes the configuration to the sampler and warns about deprecated keys. Must be called after loading the
 * configuration.
 */
static void apply_config(struct daemon *daemon)
{
    const struct config *config = daemon->session.config;

    sampler_configure(daemon->sampler, daemon->session.machine, &config->sampler, config_trust_to_sample(config));
    if (sampler_no_hindsight(daemon->sampler))
        log_warning("sampler.hindsight: %s", sampler_no_hindsight(daemon->sampler));
    sampler_cpus_changed(daemon->sampler, daemon->session.machine, NULL);
    warn_of_deprecated(daemon);
}

int daemon_reload(struct daemon *daemon, struct error *error)
{
    if (daemon->state == DAEMON_ENDING)
        return error_set(error, -ESHUTDOWN, "perfcountd is shutting down");
    notify_reloading();
    daemon->session.reload.successful = false;
    const struct config *before = daemon->session.config;
    int r = privsep_check(daemon->privsep, error);
    if (r == 0)
        r = session_reload(&daemon->session, daemon->options, configure_server, daemon, error);
    const struct log_field field = daemon_config_field(daemon);
    if (daemon->session.config != before)
        apply_config(daemon);
    if (r < 0) {
        snprintf(daemon->reload_error, sizeof(daemon->reload_error), "%s", error->message);
        log_event(LOG_KIND_RELOAD_FAILED, &field, 1, "%s; %s", error->message,
                  daemon->session.config == before
                      ? CONFIG_KEPT
                      : "the new configuration is in effect, and the parts that failed will be retried");
    } else {
        daemon->reload_error[0] = '\0';
        log_event(LOG_KIND_RELOADED, &field, 1, "configuration reloaded");
        record(daemon);
        log_counting(daemon);
    }
    follow_collectors(daemon);
    return r;
}

/* --- lifetime --- */

#define ACCURACY_USEC 10000

/* How often findings are computed while the history is recorded. */
#define FINDINGS_INTERVAL_NS (60 * NSEC_PER_SEC)

static const struct snapshot *read_all(void *userdata)
{
    struct daemon *daemon = userdata;

    (void)daemon_findings(daemon, FINDINGS_INTERVAL_NS);
    return daemon->service.read(daemon, UINT32_MAX, true);
}

/* --- findings --- */

/* Lists what does not work, in at most two sentences, and returns their number. */
static size_t list_troubles(const struct daemon *daemon, const char **sentences)
{
    size_t n = 0;

    if (privsep_is_lost(daemon->privsep))
        sentences[n++] = REASON_OPENER_GONE ": nothing new can be opened; " REASON_OPENER_GONE_REMEDY;
    if (daemon->troubles.now[TROUBLE_NOT_RECORDED])
        sentences[n++] = "no history is recorded: out of memory";
    return n;
}

const struct findings *daemon_findings(struct daemon *daemon, uint64_t max_age_ns)
{
    struct session *session = &daemon->session;
    uint64_t now_ns = registry_snapshot(session->registry)->monotonic_ns;
    const char *troubles[2];

    if (daemon->state == DAEMON_STARTING)
        return &daemon->findings;
    if (daemon->found_ns && now_ns - daemon->found_ns < max_age_ns)
        return &daemon->findings;
    const struct findings_sources sources = {
        .histories = recorder_histories(daemon->recorder),
        .snapshot = registry_snapshot(session->registry),
        .failures = registry_failures(session->registry),
        .troubles = troubles,
        .n_troubles = list_troubles(daemon, troubles),
    };
    findings_done(&daemon->findings);
    daemon->found_ns = 0;
    memset(session->n_findings, 0, sizeof(session->n_findings));
    if (findings_make(&sources, &daemon->findings) < 0)
        return NULL;
    for (size_t i = 0; i < daemon->findings.n; i++)
        session->n_findings[daemon->findings.items[i].rule]++;
    daemon->found_ns = now_ns;
    return &daemon->findings;
}

/* A cgroup_namer. */
static int name_cgroup(void *userdata, const char *path, struct names *names)
{
    const struct daemon *daemon = userdata;

    return cgroup_find_names(registry_state(daemon->session.registry, &collector_cgroup), path, names);
}

int daemon_watch(struct daemon *daemon)
{
    daemon->cpus_checked_ns = sys_now(&daemon->session.sys, CLOCK_MONOTONIC);
    int r = sd_event_new(&daemon->event);
    sd_event *event = daemon->event;
    if (r >= 0)
        r = hotplug_new(event, on_cpus_changed, daemon, &daemon->hotplug);
    if (r >= 0)
        r = watches_new(event, on_collector_changed, daemon, &daemon->watches);
    if (r >= 0)
        r = privsep_watch(daemon->privsep, event, on_opener_changed, daemon);
    if (r >= 0)
        r = retry_new(event, on_retry, daemon, &daemon->retry);
    if (r >= 0) /* CLOCK_BOOTTIME: the pause ends on time even if the machine is suspended */
        r = timer_init(event, CLOCK_BOOTTIME, ACCURACY_USEC, on_pause_end, daemon, &daemon->pause);
    if (r >= 0)
        r = sampler_new(&daemon->session.sys, event, &daemon->symboliser, &daemon->session.bpf, &daemon->sampler);
    if (r >= 0)
        sampler_set_namer(daemon->sampler, name_cgroup, daemon);
    if (r >= 0)
        r = recorder_new(event, read_all, daemon, &daemon->recorder);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, on_drain, daemon, &daemon->drain);
    if (r >= 0)
        apply_config(daemon);
    return r;
}

void daemon_done(struct daemon *daemon)
{
    daemon->server = server_free(daemon->server);
    daemon->drain = sd_event_source_disable_unref(daemon->drain);
    daemon->sampler = sampler_free(daemon->sampler);
    daemon->recorder = recorder_free(daemon->recorder);
    findings_done(&daemon->findings);
    daemon->hotplug = hotplug_free(daemon->hotplug);
    daemon->watches = watches_free(daemon->watches);
    daemon->pause = sd_event_source_disable_unref(daemon->pause);
    daemon->retry = retry_free(daemon->retry);
    cpuset_done(&daemon->unhandled_cpus);
    /* Must precede session_done(), because the state file reader exits only once the opener has closed its socket. */
    daemon->privsep = privsep_free(daemon->privsep);
    session_done(&daemon->session);
    failure_log_done(&daemon->failure_log);
    sd_event_unref(daemon->event);
}
