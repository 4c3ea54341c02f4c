/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd run`: a session served over HTTP from one event loop, until SIGTERM or SIGINT. */
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "daemon/command.h"
#include "daemon/daemon.h"
#include "daemon/serving.h"
#include "daemon/settings.h"
#include "process/process-stat.h"
#include "systemd/service-manager.h"

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

/* `systemctl status` has the sentence, too: the journal knows no unit of a process that ends before it has looked. */
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

/* First of all: the opener is a copy of this process, and has every descriptor that is open by then. */
static int split_off(struct daemon *daemon)
{
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error = {0};

    if (session_begin(&daemon->session, daemon->options, true, &error) < 0)
        return fail_start(error.message);
    if (settings_read(daemon->options, &daemon->session.sys, &config, &error) < 0)
        return fail_config(daemon, error.message);
    int r = split_new(daemon->options, config, &daemon->session.sys,
                      daemon->session.has_reader ? &daemon->session.reader : NULL, &daemon->split, &error);
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

/* The kernel refuses memory, open files or instances of inotify(7) here. */
static int fail_loop(const char *what, int error)
{
    char sentence[256];

    snprintf(sentence, sizeof(sentence),
             "%s: %s; look at the limits of memory, of open files (LimitNOFILE=, fs.file-max) and of "
             "fs.inotify.max_user_instances, and start perfcountd again",
             what, strerror(-error));
    return fail_start(sentence);
}

static int make_event_loop(struct daemon *daemon)
{
    daemon->cpus_checked_ns = daemon->session.sys.now(&daemon->session.sys, CLOCK_MONOTONIC);
    int r = sd_event_new(&daemon->event);
    if (r >= 0)
        r = watch_signals(daemon);
    if (r >= 0)
        r = daemon_watch(daemon);
    if (r >= 0)
        r = sd_event_set_watchdog(daemon->event, true);
    if (r < 0)
        return fail_loop("the event loop cannot start", r);
    daemon_apply_config(daemon);
    return EXIT_SUCCESS;
}

static int start_listening(struct daemon *daemon)
{
    const struct config *config = daemon->session.config;
    struct error error = {0};
    int r = server_new(daemon->event, &daemon->service, config->web.telemetry_path, NULL, &daemon->server, &error);

    if (r == 0)
        r = listening_adopt(&daemon->listening, daemon->server, &error);
    if (r == 0)
        r = daemon_configure_server(daemon, config, &error);
    if (r == 0)
        return EXIT_SUCCESS;
    return fail(LOG_KIND_LISTEN_FAILED, NULL, error.message, EXIT_BAD_USAGE);
}

/* Privileges end here, before a client is heard. */
static int drop_and_open(struct daemon *daemon)
{
    struct error error = {0};

    daemon->session.children =
        (struct children){.opener = split_opener(daemon->split),
                          .symboliser = &daemon->symboliser,
                          .reader = daemon->session.has_reader ? &daemon->session.reader.child : NULL};
    if (split_drop(daemon->split, &error) < 0 || session_open(&daemon->session, &error) < 0)
        return fail_start(error.message);
    return EXIT_SUCCESS;
}

static int serve(struct daemon *daemon)
{
    char address[512];

    daemon->ready = true;
    daemon_follow_collectors(daemon);
    daemon_log_counting(daemon);
    if (hotplug_listen_error(daemon->hotplug) < 0)
        log_event(LOG_KIND_CHANGES_UNHEARD, NULL, 0,
                  "CPUs that come and go are noticed late, because the kernel's messages cannot be received: %s",
                  strerror(-hotplug_listen_error(daemon->hotplug)));
    for (size_t i = 0; server_describe(daemon->server, i, address, sizeof(address)); i++)
        log_info("listening on %s", address);
    int status = sd_event_loop(daemon->event); /* that of shutdown_begin() */
    return status < 0 ? fail_loop("the event loop cannot go on", status) : status;
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
    daemon.started_realtime_ns = daemon.session.sys.now(&daemon.session.sys, CLOCK_REALTIME);
    for (size_t i = 0; i < ARRAY_SIZE(stages) && status == EXIT_SUCCESS; i++)
        status = stages[i](&daemon);
    daemon_done(&daemon);
    return status;
}
