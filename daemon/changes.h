/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes that the daemon handles in its event loop: CPUs that go online and offline, descriptors of collectors that
 * become readable, failures that a retry may fix, and failures to log. A trouble is a problem, maybe temporary, in
 * handling changes or in recording the history.
 *
 * The first retry follows after 1 s, later ones after 2 s, 4 s and so on, up to 60 s.
 *
 * Each failure of a collector is logged once, not at every scrape or reload, and again if it comes back after it was
 * fixed.
 */
#ifndef DAEMON_CHANGES_H
#define DAEMON_CHANGES_H

#include <systemd/sd-event.h>

#include "collectors/registry.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

/* Problems that exist now and may be temporary. */
enum trouble {
    TROUBLE_CPUS_UNREAD,       /* the list of online CPUs cannot be read; the next reading of counters retries */
    TROUBLE_RESCAN_FAILED,     /* CPU groups could not be reopened after the last hotplug */
    TROUBLE_CGROUPS_UNHEARD,   /* some descriptors of collectors are not watched */
    TROUBLE_CHANGES_MISSED,    /* some of the last cgroup changes could not be followed */
    TROUBLE_RETRY_FAILED,      /* the last retry ran out of memory */
    TROUBLE_NOT_RECORDED,      /* memory ran out while recording the history */
    TROUBLE_FAILURES_UNLISTED, /* the last update of a failure_log ran out of memory */
    N_TROUBLES
};

/* The current troubles; no troubles if zeroed. */
struct troubles {
    bool now[N_TROUBLES];
};

/* Sets the trouble if `error` is negative, and otherwise clears it. Logs the sentence when the trouble begins. */
void trouble_set(struct troubles *troubles, enum trouble trouble, int error, const char *format, ...) PRINTF_LIKE(4, 5);
/* Returns whether a retry may fix any of the troubles. */
bool troubles_need_retry(const struct troubles *troubles);

struct hotplug;

/*
 * Calls `on_change` from the event loop with the set of CPUs that went offline since the last call, even if they are
 * back online; the set is empty if CPUs only came online. A single call reports all kernel messages that are waiting in
 * the socket. If messages were lost, the set contains all CPUs. If the kernel's messages cannot be received
 * (hotplug_listen_error()), `on_change` is only called after hotplug_request_check(). Returns -ENOMEM or an error from
 * sd-event.
 */
int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *went_offline), void *userdata,
                struct hotplug **ret);
/*
 * Requests a check of the online CPUs, for a caller that suspects a change that the kernel did not report. The event
 * loop then calls `on_change` with an empty set, at most once a second.
 */
void hotplug_request_check(struct hotplug *hotplug);
/* Returns 0, or the error from uevent_open() if the kernel's messages cannot be received. */
int hotplug_listen_error(const struct hotplug *hotplug);
struct hotplug *hotplug_free(struct hotplug *hotplug);

struct watches;

/*
 * `on_change` is called whenever a collector has handled its descriptor; `error` is the result of registry_dispatch().
 * Returns -ENOMEM.
 */
int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret);
struct watches *watches_free(struct watches *watches);

/*
 * Must be called after each registry_configure(), which may change the collectors' descriptors. Returns the errors from
 * sd_event_add_io(3).
 */
int watches_update(struct watches *watches, struct registry *registry);

struct retry;

/*
 * `on_due` is called from the event loop when a retry is due, and must call retry_want() at its end. The timer is off
 * when no retry is scheduled. Returns -ENOMEM or an error from sd_event_add_time(3).
 */
int retry_new(sd_event *event, void (*on_due)(void *userdata), void *userdata, struct retry **ret);
struct retry *retry_free(struct retry *retry);

/*
 * Schedules the next retry, unless one is already scheduled. `span` says how long the cause of the failure may last.
 * For REASON_BRIEF, retries end after the longest wait. REASON_LASTS cancels the scheduled retry. Returns the errors
 * from sd_event_source_set_time(3).
 */
int retry_want(struct retry *retry, enum reason_span span);
/*
 * Must be called when the machine or the configuration has changed. Cancels the scheduled retry; the next retry_want()
 * will wait only one second.
 */
void retry_restart(struct retry *retry);

/*
 * Returns how many seconds the next retry waits if the last one waited `wait_s` seconds (0 before the first), or 0 if
 * there are no more retries. Pure.
 */
unsigned retry_next(unsigned wait_s, enum reason_span span);

struct failure_log {
    char **sentences; /* the sentences for the failures at the last successful update */
    size_t n;
};

void failure_log_done(struct failure_log *failure_log);
/* Logs failures that are new since the last update. Sets or clears TROUBLE_FAILURES_UNLISTED. */
void failure_log_update(struct failure_log *failure_log, const struct registry *registry, struct troubles *troubles);

#endif
