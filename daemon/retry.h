/* SPDX-License-Identifier: Apache-2.0 */
/* Tries again, later and later, what could not be opened for a reason that passes by itself. */
#ifndef DAEMON_RETRY_H
#define DAEMON_RETRY_H

#include <systemd/sd-event.h>

#include "perf/reason.h"

struct retry;

/*
 * `on_time` is called from the event loop when it is time for a try, after 1 s, then 2 s, up to 60 s; it ends with
 * retry_want(). Nothing wakes the loop while nothing is wanted.
 */
int retry_new(sd_event *event, void (*on_time)(void *userdata), void *userdata, struct retry **ret);
struct retry *retry_free(struct retry *retry);

/*
 * What is lacking now; a try that is due stays due. What should have been over soon is given up when the longest wait
 * did not help. -errno of sd_event_source_set_time(3).
 */
int retry_want(struct retry *retry, enum reason_span span);
/* Circumstances changed: the next try is a second after the next retry_want(). */
void retry_restart(struct retry *retry);

/* How many seconds to wait after a try that came after `wait_s` (0: before the first); 0 for no more. Pure. */
unsigned retry_next(unsigned wait_s, enum reason_span span);

/* Seconds from the last try, or what made it necessary, to the next; 0 where none is due. */
unsigned retry_wait(const struct retry *retry);

#endif
