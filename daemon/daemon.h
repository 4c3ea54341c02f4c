/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the running daemon, and how it follows changes of CPUs, cgroups, the opener and the configuration.
 * daemon/run.c starts and stops the daemon. All functions in this file run in the event loop's thread.
 *
 * A pause disables all groups and rings for some seconds, so that other programs can use the PMUs; counting resumes by
 * itself.
 *
 * A shutdown ends the streams of samples, gives clients up to one second to read the rest of their responses, and then
 * ends the event loop.
 *
 * The server listens on the sockets that the service manager passed or, without such sockets, on the addresses from the
 * flags or the configuration.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <systemd/sd-event.h>

#include "base/util.h"
#include "collectors/findings.h"
#include "config/config.h"
#include "daemon/changes.h"
#include "daemon/fd-budget.h"
#include "daemon/privsep.h"
#include "daemon/recorder.h"
#include "daemon/session.h"
#include "http/server.h"
#include "sampler/sampler.h"

enum daemon_state {
    DAEMON_STARTING,
    DAEMON_COUNTING, /* counters have been read for the first time */
    DAEMON_ENDING,
};

struct daemon {
    const struct options *options;
    enum daemon_state state;
    struct troubles troubles;
    struct session session;
    struct privsep *privsep;
    struct service service; /* callbacks for the server, set by serving_init() */
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t cpus_checked_ns;     /* CLOCK_MONOTONIC */
    struct cpuset unhandled_cpus; /* CPUs that went offline, and whose groups have not been reopened yet */
    struct retry *retry;
    struct watches *watches;
    bool is_limited;     /* this process's cgroup limits its memory, according to memory_limit_apply() */
    size_t limited_size; /* value of snapshot.metrics.text_size when `is_limited` was set */
    struct failure_log failure_log;
    sd_event_source *pause; /* timer that fires at the end of a pause */
    struct sampler *sampler;
    struct recorder *recorder;
    struct findings findings;
    uint64_t found_ns; /* time (CLOCK_MONOTONIC) when `findings` were computed; 0 if never */
    struct child symboliser;
    sd_event_source *drain; /* timer that checks, in state DAEMON_ENDING, whether clients have read their responses */
    unsigned drain_steps;   /* number of such checks before the event loop ends in any case */
    bool streaming;         /* some streams of samples have not ended yet (only in state DAEMON_ENDING) */
    int status;             /* exit status */
    bool handed_over;       /* the listening sockets came from the service manager */
    bool addresses_ignored; /* the daemon has warned that the configured addresses are ignored */
    size_t n_reported_failures; /* number of failures last reported to the service manager */
    char reload_error[512];     /* error from the last reload, or "" if the last reload succeeded */
    uint64_t started_realtime_ns;
    uint64_t boot_ns; /* time when the machine booted, since the epoch; 0 if unknown */
};

/*
 * Creates the event loop and everything that runs in it (timers, watches, the sampler), for the loaded configuration.
 * Returns -errno on failure; call daemon_done() in either case.
 */
int daemon_watch(struct daemon *daemon);
/*
 * Creates the server and opens its sockets. Returns the errors from sockets_take() and from the functions in
 * http/server.h.
 */
int daemon_listen(struct daemon *daemon, struct error *error);
/* Starts following changes of what session_open() has opened, and reports to the service manager and the log. */
void daemon_count(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/*
 * Logs new failures and updates the status in the service manager. Must be called when the list of failures may have
 * changed.
 */
void daemon_follow_failures(struct daemon *daemon);
/* Returns the path of the configuration file, as a field for log_event(). */
struct log_field daemon_config_field(const struct daemon *daemon);

/*
 * Reloads the configuration. On failure, returns -errno with a message; the previous configuration stays in effect,
 * unless memory ran out while groups were opened (session_reload()). Returns -ESHUTDOWN after daemon_end().
 */
int daemon_reload(struct daemon *daemon, struct error *error);
/*
 * Ends the event loop with `status`: at once if no client is waiting for a response or if called again, otherwise
 * within one second. Returns the errors from sd_event_exit(3).
 */
int daemon_end(struct daemon *daemon, int status);
/*
 * Returns findings that are at most max_age_ns old, or NULL if memory runs out. The findings are borrowed until the
 * next call, and empty before the first reading. session.n_findings counts the findings by rule.
 */
const struct findings *daemon_findings(struct daemon *daemon, uint64_t max_age_ns);
/*
 * Implements `pause` of struct service. Pauses counting for `seconds` from now, even if a longer pause is in effect; 0
 * resumes counting.
 */
int daemon_pause(struct daemon *daemon, unsigned seconds, struct error *error);
struct service_pause daemon_paused(struct daemon *daemon);

#endif
