/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs that come and go, in the event loop: messages of the kernel that wait are reported together.
 *
 * The collectors' descriptors in the event loop.
 *
 * When to open again what could not be opened for a reason that may pass: after 1 s, then 2 s, up to 60 s.
 *
 * Logs each failure of the collectors once, not at every scrape or reload, and again if it returns after it was
 * fixed.
 */
#ifndef DAEMON_CHANGES_H
#define DAEMON_CHANGES_H

#include <systemd/sd-event.h>

#include "collectors/registry.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

struct hotplug;

/*
 * `on_change` is given the CPUs that went offline since the last call, whether or not they are back; none where CPUs
 * only came. Where messages were lost, it is given all possible CPUs. Where the kernel's messages cannot be received
 * (hotplug_listen_error()), only hotplug_request_check() leads to a call. -errno.
 */
int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *left), void *userdata,
                struct hotplug **ret);
/*
 * Has the event loop call on_change without any CPU: for callers that suspect a change and have received no message. At
 * most one such call a second.
 */
void hotplug_request_check(struct hotplug *hotplug);
/* 0, or why the kernel's messages cannot be received: errors of uevent_open(). */
int hotplug_listen_error(const struct hotplug *hotplug);
struct hotplug *hotplug_free(struct hotplug *hotplug);

struct watches;

/* `on_change` is called after a collector has handled its descriptor; `error` as of registry_dispatch(). -ENOMEM. */
int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret);
struct watches *watches_free(struct watches *watches);

/* Watches the descriptors that the collectors have now: after each registry_configure(). -errno of sd_event_add_io(3).
 */
int watches_update(struct watches *watches, struct registry *registry);

struct retry;

/*
 * `on_due` is called from the event loop when the next try is due; it ends with retry_want(). The event loop is not
 * woken while nothing is wanted.
 */
int retry_new(sd_event *event, void (*on_due)(void *userdata), void *userdata, struct retry **ret);
struct retry *retry_free(struct retry *retry);

/*
 * Schedules the next try, where none is scheduled. `span` says how long the reason may last: for REASON_BRIEF it gives
 * up after the longest wait. -errno of sd_event_source_set_time(3).
 */
int retry_want(struct retry *retry, enum reason_span span);
/* The machine or the configuration changed: the next try is a second after the next retry_want(). */
void retry_restart(struct retry *retry);

/* Seconds to wait after a try that itself waited for `wait_s` (0: the first); 0: no more tries. Pure. */
unsigned retry_next(unsigned wait_s, enum reason_span span);

/* Seconds that the scheduled try waits, from the start of the wait; 0 where none is scheduled. */
unsigned retry_wait(const struct retry *retry);

struct failure_log {
    char **sentences; /* that failed at the last update */
    size_t n;
    bool incomplete; /* there was no memory for all of them */
};

void failure_log_done(struct failure_log *failure_log);
/* Logs the failures that are new. */
void failure_log_update(struct failure_log *failure_log, const struct registry *registry);

#endif
