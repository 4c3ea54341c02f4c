/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timer of a pause: counting stops for some seconds, so that others can use the PMUs, and resumes by itself.
 *
 * An orderly end: streams end, their clients and those that are being answered have a second to read the rest, and then
 * the event loop ends.
 *
 * Where the server listens: on the sockets that the service manager handed over, if there are any, else where flags and
 * configuration say.
 *
 * The daemon while it runs: everything it holds, and how it follows what changes: CPUs, cgroups, the opener, the
 * configuration, a pause. daemon/run.c starts it and ends it.
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

/* `on_end` is called from the event loop when the time is over; pause_remaining() is 0 by then. -errno. */
int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret);
struct pause *pause_free(struct pause *pause);

/* From now, for that many seconds; replaces an earlier pause. -errno of sd_event_source_set_time(3). */
int pause_start(struct pause *pause, unsigned seconds);
void pause_stop(struct pause *pause);

/* Microseconds until it ends; 0 where nothing is paused. */
uint64_t pause_remaining(const struct pause *pause);

struct shutdown;

/*
 * The event loop ends with `status` at once where nobody waits for the rest of anything, and at the second call. -errno
 * of sd_event_exit(3).
 */
int shutdown_begin(struct shutdown *shutdown, int status);

struct listening {
    bool handed_over; /* by the service manager */
    bool warned;      /* that the configuration's addresses are ignored */
};

/* Has the server listen on what was handed over, if anything was. Errors of sockets_take() and server_adopt(). */
int listening_adopt(struct listening *listening, struct server *server, struct error *error);

struct daemon {
    const struct options *options;
    struct session session;
    struct split *split;
    struct service service; /* see serving.h */
    struct server *server;
    sd_event *event;
    struct hotplug *hotplug;
    uint64_t cpus_checked_ns;     /* CLOCK_MONOTONIC */
    struct cpuset unhandled_cpus; /* CPUs that went offline, whose groups are not opened again yet */
    bool cpus_unseen;             /* which CPUs are online could not be read */
    bool rescan_failed;           /* CPU groups could not be opened again after the last hotplug */
    struct retry *retry;
    bool retry_failed; /* the last time; it is logged once */
    struct watches *watches;
    bool is_deaf;        /* not all of them are watched */
    bool is_behind;      /* not all that they noticed could be followed */
    bool is_limited;     /* in its memory, when that was last looked at: */
    size_t limited_size; /* of the rows then */
    struct failure_log failure_log;
    struct pause *pause;
    struct sampler *sampler;
    struct child symboliser;
    struct shutdown *shutdown;
    struct listening listening;
    size_t n_reported_failures; /* in the status that the service manager has */
    char reload_error[512];     /* "" where the last reload succeeded */
    bool ready;
    uint64_t started_realtime_ns;
    uint64_t boot_ns; /* of the machine, since the epoch; 0: not known */
};

/* Makes what the event loop calls: timers, descriptors, the sampler. -errno; daemon_done() in either case. */
int daemon_watch(struct daemon *daemon);
void daemon_done(struct daemon *daemon);

/* After each opening of what the configuration wants: watches what was opened, reports what is unavailable. */
void daemon_follow_collectors(struct daemon *daemon);
/* After what may have failed, or works again: logs and reports what is new. */
void daemon_follow_failures(struct daemon *daemon);
/* Logs what is counted now. */
void daemon_log_counting(const struct daemon *daemon);
/* After each reading of the configuration: gives it to the sampler, warns of deprecated keys. */
void daemon_apply_config(struct daemon *daemon);
/* Has the server listen as the configuration says. Errors of server_configure(). */
int daemon_configure_server(void *daemon, const struct config *config, struct error *error);
/* The file of the configuration, for log_event(). */
struct log_field daemon_config_field(const struct daemon *daemon);

/* Reads the configuration again. -errno with a sentence, and the old one stays. -ESHUTDOWN while the daemon ends. */
int daemon_reload(struct daemon *daemon, struct error *error);
/* Answers the clients that wait, and ends the event loop with `status`. */
int daemon_end(struct daemon *daemon, int status);
/* Disables or enables all groups and rings. -errno of the first that failed; the others are tried. */
int daemon_set_paused(struct daemon *daemon, bool paused);
/* Until counting resumes, in whole seconds, rounded up. */
unsigned daemon_paused_seconds(const struct daemon *daemon);

#endif
