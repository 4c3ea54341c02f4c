/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running daemon: everything it holds, and how it follows changes of CPUs, cgroups, the opener and the
 * configuration. daemon/run.c starts and ends it. Single-threaded: all functions run in the event loop's thread.
 *
 * A pause disables all groups and rings for some seconds, so that other programs can use the PMUs; counting resumes by
 * itself.
 *
 * A shutdown ends the streams of samples, gives clients up to one second to read the rest of their responses, and then
 * ends the event loop.
 *
 * The server listens on the sockets that the service manager handed over; if there are none, on the addresses of the
 * flags and the configuration.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <systemd/sd-event.h>

#include "base/util.h"
#include "config/config.h"
#include "daemon/changes.h"
#include "daemon/fd-budget.h"
#include "daemon/privsep.h"
#include "daemon/session.h"
#include "http/server.h"
#include "sampler/sampler.h"

struct pause;

/*
 * `on_end` is called from the event loop when the pause is over; pause_remaining() is 0 by then. Returns -ENOMEM or an
 * error of sd_event_add_time(3).
 */
int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret);
struct pause *pause_free(struct pause *pause);

/* Pauses for `seconds` from now, in place of an earlier pause. Errors of sd_event_source_set_time(3). */
int pause_start(struct pause *pause, unsigned seconds);
void pause_stop(struct pause *pause);

/* Microseconds until the pause ends; 0 if there is no pause. */
uint64_t pause_remaining(const struct pause *pause);

struct shutdown;

/*
 * Ends the event loop with `status`: at once if no client waits for anything, and on a second call; otherwise after at
 * most one second. Errors of sd_event_exit(3).
 */
int shutdown_begin(struct shutdown *shutdown, int status);

struct listening {
    bool handed_over; /* the sockets are from the service manager */
    bool warned;      /* logged that the configured addresses are ignored */
};

/* Passes the sockets of the service manager, if any, to the server. Errors of sockets_take() and server_adopt(). */
int listening_adopt(struct listening *listening, struct server *server, struct error *error);

struct daemon {
    const struct options *options;
    struct session session;
    struct privsep *privsep;
    struct service service; /* filled in by serving_init() */
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t cpus_checked_ns;     /* CLOCK_MONOTONIC */
    struct cpuset unhandled_cpus; /* went offline, and their groups have not been reopened yet */
    bool cpus_unseen;             /* the online CPUs could not be read; logged once */
    bool rescan_failed;           /* CPU groups could not be reopened after the last hotplug */
    struct retry *retry;
    bool retry_failed; /* the last retry failed; logged once */
    struct watches *watches;
    bool is_deaf;        /* some descriptors of collectors are not watched */
    bool is_behind;      /* the last changes of cgroups could not be followed completely */
    bool is_limited;     /* by memory_limit_apply(): the cgroup of this process limits its memory */
    size_t limited_size; /* snapshot->json_size when `is_limited` was set */
    struct failure_log failure_log;
    struct pause *pause;
    struct sampler *sampler;
    struct child symboliser;
    struct shutdown *shutdown;
    struct listening listening;
    size_t n_reported_failures; /* as last sent to the service manager */
    char reload_error[512];     /* "" if the last reload succeeded */
    bool ready;
    uint64_t started_realtime_ns;
    uint64_t boot_ns; /* when the machine booted, since the epoch; 0: unknown */
};

/* Creates what the event loop calls: timers, watches, the sampler. -errno; call daemon_done() in any case. */
int daemon_watch(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/*
 * Call it after each registry_configure(): watches the collectors' descriptors, logs and reports what is unavailable,
 * and restarts the schedule of retries.
 */
void daemon_follow_collectors(struct daemon *daemon);
/* Call it when failures may have come or gone: logs the new ones and updates the status in the service manager. */
void daemon_follow_failures(struct daemon *daemon);
/* Logs one line that describes what is counted: at start and after a reload. */
void daemon_log_counting(const struct daemon *daemon);
/* Call it after the configuration was loaded: passes it to the sampler and warns of deprecated keys. */
void daemon_apply_config(struct daemon *daemon);
/* Applies the configured addresses, limits and files to the server. Errors of server_configure(). */
int daemon_configure_server(void *daemon, const struct config *config, struct error *error);
/* The path of the configuration file, as a field for log_event(). */
struct log_field daemon_config_field(const struct daemon *daemon);

/*
 * Loads the configuration again. Returns -errno with a sentence; the old configuration then stays in use, unless memory
 * ran out while groups were opened (session_reload()). -ESHUTDOWN after daemon_end().
 */
int daemon_reload(struct daemon *daemon, struct error *error);
/* Begins the shutdown; the event loop ends with `status` once waiting clients are answered, or after one second. */
int daemon_end(struct daemon *daemon, int status);
/* Disables or enables all groups and rings. Tries all of them; returns the -errno of the first that failed. */
int daemon_set_paused(struct daemon *daemon, bool paused);
/* Seconds until counting resumes, rounded up; 0 if it is not paused. */
unsigned daemon_paused_seconds(const struct daemon *daemon);

#endif
