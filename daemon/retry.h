/* SPDX-License-Identifier: Apache-2.0 */
/* When to open again what could not be opened for a reason that may pass: after 1 s, then 2 s, up to 60 s. */
#ifndef DAEMON_RETRY_H
#define DAEMON_RETRY_H

#include <systemd/sd-event.h>

#include "perf/reason.h"

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

#endif
