/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sd-event timers that are armed for a duration, and token buckets.
 *
 * Modules keep deadlines in the clock of struct sys (perf/sys.h) or struct service (http/service.h), which tests
 * simulate, while sd-event timers use the kernel's clock. A point in time on one clock means nothing on the other, so
 * timers are always armed for a duration. The sd-event functions that take a point in time are poisoned in every file
 * that includes this header.
 */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <systemd/sd-event.h>
#include <time.h>

#include "base/util.h"

/*
 * Creates a disabled timer of `clock`. The timer may fire up to `accuracy_usec` late (0: 250 ms), so that the process
 * wakes once for several timers. The caller frees it with sd_event_source_disable_unref(3). Returns an error of
 * sd_event_add_time(3).
 */
int timer_init(sd_event *event, clockid_t clock, uint64_t accuracy_usec, sd_event_time_handler_t handler,
               void *userdata, sd_event_source **ret);
/* Creates a CLOCK_MONOTONIC timer that fires once, in `usec` microseconds. Apart from that, it is like timer_init(). */
int timer_start(sd_event *event, uint64_t usec, uint64_t accuracy_usec, sd_event_time_handler_t handler, void *userdata,
                sd_event_source **ret);
/* Arms the timer to fire once, no earlier than `usec` from now. Returns an error of sd_event_source_set_time(3). */
int timer_arm_in(sd_event_source *timer, uint64_t usec);
void timer_disarm(sd_event_source *timer);
/* Microseconds until the timer fires, or 0 if it is disabled or due. */
uint64_t timer_remaining(sd_event_source *timer);

/* Microseconds from `now_ns` to `due_ns`, two readings of one clock, rounded up, or 0 if `due_ns` is past. */
static inline uint64_t usec_until(uint64_t due_ns, uint64_t now_ns)
{
    return due_ns > now_ns ? (due_ns - now_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC : 0;
}

#ifndef TIMER_MAY_USE_POINTS_IN_TIME
#pragma GCC poison sd_event_add_time sd_event_add_time_relative
#pragma GCC poison sd_event_source_set_time sd_event_source_set_time_relative
#endif

/*
 * A rate limit as in golang.org/x/time/rate, which the web configuration of Prometheus exporters uses: the bucket
 * starts with `burst` tokens, gains one per interval up to `burst`, and each action takes one. The functions read no
 * clock: the caller passes the time.
 */
struct token_bucket {
    uint64_t interval_ns, burst;
    uint64_t credit_ns; /* unused tokens, expressed as time: one token is worth one interval */
    uint64_t last_ns;
};

/* Sets the limits; refills the bucket if they differ from the current ones. An interval of 0 means no limit. */
void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns);
/* Takes a token. If none is left, returns false and the time until the next one (UINT64_MAX: never). */
bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns);

#endif
