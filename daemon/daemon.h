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
    DAEMON_COUNTING, /* a first reading was taken */
    DAEMON_ENDING,
};

struct daemon {
    const struct options *options;
    enum daemon_state state;
    struct troubles troubles;
    struct session session;
    struct privsep *privsep;
    struct service service; /* filled in by serving_init() */
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t cpus_checked_ns;     /* CLOCK_MONOTONIC */
    struct cpuset unhandled_cpus; /* CPUs that went offline, and whose groups have not been reopened yet */
    struct retry *retry;
    struct watches *watches;
    bool is_limited;     /* result of memory_limit_apply(): the cgroup of this process limits its memory */
    size_t limited_size; /* metrics.text_size of the snapshot when `is_limited` was set */
    struct failure_log failure_log;
    sd_event_source *pause; /* fires at the end of a pause */
    struct sampler *sampler;
    struct recorder *recorder;
    struct findings findings;
    uint64_t found_ns; /* CLOCK_MONOTONIC when `findings` were made; 0: never */
    struct child symboliser;
    sd_event_source *drain;     /* while DAEMON_ENDING: checks whether clients have read their responses */
    unsigned drain_steps;       /* number of checks left before the event loop ends anyway */
    bool streaming;             /* while DAEMON_ENDING: some streams of samples have not ended */
    int status;                 /* exit status */
    bool handed_over;           /* the sockets came from the service manager */
    bool addresses_ignored;     /* it was logged that the configured addresses are ignored */
    size_t n_reported_failures; /* number of failures that was last sent to the service manager */
    char reload_error[512];     /* "" if the last reload succeeded */
    uint64_t started_realtime_ns;
    uint64_t boot_ns; /* when the machine booted, since the epoch; 0: unknown */
};

/*
 * Creates the event loop and what it calls (timers, watches, the sampler), for the loaded configuration. Returns -errno
 * on failure; call daemon_done() in either case.
 */
int daemon_watch(struct daemon *daemon);
/* Creates the server and opens its sockets. Returns the errors of sockets_take() and of http/server.h. */
int daemon_listen(struct daemon *daemon, struct error *error);
/* Begins to follow what session_open() has opened, and tells the service manager and the log. */
void daemon_count(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/*
 * Must be called when the list of failures may have changed: logs the new ones and updates the status in the service
 * manager.
 */
void daemon_follow_failures(struct daemon *daemon);
/* Returns the path of the configuration file, as a field for log_event(). */
struct log_field daemon_config_field(const struct daemon *daemon);

/*
 * Loads the configuration again. Returns -errno with a sentence; the old configuration then stays in use, unless memory
 * ran out while groups were opened (session_reload()). -ESHUTDOWN after daemon_end().
 */
int daemon_reload(struct daemon *daemon, struct error *error);
/*
 * Ends the event loop with `status`: at once if no client waits for anything, and on a second call; otherwise after at
 * most one second. Returns the errors of sd_event_exit(3).
 */
int daemon_end(struct daemon *daemon, int status);
/*
 * Returns findings that are at most max_age_ns old. They are borrowed until the next call, and empty before the first
 * reading. Returns NULL if memory runs out. session.n_findings has the number of findings of each rule.
 */
const struct findings *daemon_findings(struct daemon *daemon, uint64_t max_age_ns);
/*
 * Implements `pause` of struct service: pauses for `seconds` from now, which replaces an earlier pause; 0 resumes
 * counting.
 */
int daemon_pause(struct daemon *daemon, unsigned seconds, struct error *error);
struct service_pause daemon_paused(struct daemon *daemon);

#endif
