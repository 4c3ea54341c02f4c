/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes that the daemon follows from its event loop: CPUs that go online and offline, descriptors of collectors that
 * become readable, failures that a retry may fix, failures to log, and troubles: which of these currently do not work.
 *
 * The first retry comes after 1 s, the next ones after 2 s, 4 s and so on, at most 60 s.
 *
 * Each failure of a collector is logged once, not at every scrape or reload. It is logged again if it returns after it
 * was fixed.
 */
#ifndef DAEMON_CHANGES_H
#define DAEMON_CHANGES_H

#include <systemd/sd-event.h>

#include "collectors/registry.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

/* Problems that exist now and may pass. */
enum trouble {
    TROUBLE_CPUS_UNREAD,       /* the online CPUs cannot be read; the next reading of counters retries it */
    TROUBLE_RESCAN_FAILED,     /* CPU groups could not be reopened after the last hotplug */
    TROUBLE_CGROUPS_UNHEARD,   /* some descriptors of collectors are not watched */
    TROUBLE_CHANGES_MISSED,    /* the last changes of cgroups could not be followed completely */
    TROUBLE_RETRY_FAILED,      /* the last retry ran out of memory */
    TROUBLE_NOT_RECORDED,      /* memory ran out for the history */
    TROUBLE_FAILURES_UNLISTED, /* the last update of a failure_log ran out of memory */
    N_TROUBLES
};

/* Zero-initialised, it has no trouble. */
struct troubles {
    bool now[N_TROUBLES];
};

/* Sets the trouble if `error` is negative, and clears it otherwise. Logs the sentence when a trouble begins. */
void trouble_set(struct troubles *troubles, enum trouble trouble, int error, const char *format, ...) PRINTF_LIKE(4, 5);
/* Whether a retry may end any of the troubles. */
bool troubles_need_retry(const struct troubles *troubles);

struct hotplug;

/*
 * Calls `on_change` from the event loop with the CPUs that went offline since the last call, even if they are online
 * again; the set is empty if CPUs only came online. All kernel messages that wait in the socket are handled by one
 * call. If messages were lost, the set has all possible CPUs. If the kernel's messages cannot be received
 * (hotplug_listen_error()), only hotplug_request_check() leads to a call. Returns -ENOMEM or an error of sd-event.
 */
int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *went_offline), void *userdata,
                struct hotplug **ret);
/*
 * For a caller that suspects a change of which the kernel sent no message. The event loop calls `on_change` with an
 * empty set, at most once a second.
 */
void hotplug_request_check(struct hotplug *hotplug);
/* Returns 0, or the error of uevent_open() if the kernel's messages cannot be received. */
int hotplug_listen_error(const struct hotplug *hotplug);
struct hotplug *hotplug_free(struct hotplug *hotplug);

struct watches;

/*
 * `on_change` is called each time after a collector has handled its descriptor; `error` is the result of
 * registry_dispatch(). Returns -ENOMEM.
 */
int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret);
struct watches *watches_free(struct watches *watches);

/*
 * Must be called after each registry_configure(), which may change the descriptors. Returns the errors of
 * sd_event_add_io(3).
 */
int watches_update(struct watches *watches, struct registry *registry);

struct retry;

/*
 * `on_due` is called from the event loop when a retry is due, and must end with retry_want(). The timer is off while no
 * retry is wanted. Returns -ENOMEM or an error of sd_event_add_time(3).
 */
int retry_new(sd_event *event, void (*on_due)(void *userdata), void *userdata, struct retry **ret);
struct retry *retry_free(struct retry *retry);

/*
 * Schedules the next retry unless one is scheduled. `span` says how long the cause of the failure may last: for
 * REASON_BRIEF, retries end after the longest wait; REASON_LASTS cancels the scheduled one. Returns the errors of
 * sd_event_source_set_time(3).
 */
int retry_want(struct retry *retry, enum reason_span span);
/*
 * Must be called when the machine or the configuration has changed: cancels the scheduled retry, and the next
 * retry_want() waits one second.
 */
void retry_restart(struct retry *retry);

/* Seconds to wait after a retry that waited `wait_s` seconds (0: the first retry); 0: no more retries. Pure. */
unsigned retry_next(unsigned wait_s, enum reason_span span);

struct failure_log {
    char **sentences; /* the sentences of the failures at the last update that did not run out of memory */
    size_t n;
};

void failure_log_done(struct failure_log *failure_log);
/* Logs the failures that are new since the last update; sets TROUBLE_FAILURES_UNLISTED. */
void failure_log_update(struct failure_log *failure_log, const struct registry *registry, struct troubles *troubles);

#endif
