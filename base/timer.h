/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of sd-event, and token buckets.
 *
 * Timers of an event loop, armed for a duration and never for a point in time. Deadlines are kept in the time of
 * struct sys or struct service, which tests play, while timers run by the kernel's clock: only a difference of two
 * readings of one clock may pass from one to the other. Hence the functions of sd-event that take a point in time do
 * not compile where this header is included.
 *
 * A token bucket, as the rate limit of the exporters' web configuration defines it (golang.org/x/time/rate): it begins
 * with `burst` tokens, gains one in each interval up to that number, and each limited action takes one. Pure: the
 * caller gives the time.
 */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <systemd/sd-event.h>
#include <time.h>

#include "base/util.h"

/*
 * Makes a timer of this clock that is off. It may fire up to `accuracy_usec` late (0: a quarter of a second), so that
 * the process wakes once for several timers. The caller frees it by sd_event_source_disable_unref(3). -errno of
 * sd_event_add_time(3).
 */
int timer_init(sd_event *event, clockid_t clock, uint64_t accuracy_usec, sd_event_time_handler_t handler,
               void *userdata, sd_event_source **ret);
/* The same of CLOCK_MONOTONIC, armed. */
int timer_start(sd_event *event, uint64_t usec, uint64_t accuracy_usec, sd_event_time_handler_t handler, void *userdata,
                sd_event_source **ret);
/* Fires once, `usec` from now and not earlier; replaces an earlier time. -errno of sd_event_source_set_time(3). */
int timer_arm_in(sd_event_source *timer, uint64_t usec);
void timer_disarm(sd_event_source *timer);
/* Microseconds until it fires; 0 if it is off. */
uint64_t timer_remaining(sd_event_source *timer);

/* Microseconds from `now_ns` to `due_ns`, two times of one clock, rounded up; 0 if it is past. */
static inline uint64_t usec_until(uint64_t due_ns, uint64_t now_ns)
{
    return due_ns > now_ns ? (due_ns - now_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC : 0;
}

#ifndef TIMER_MAY_USE_POINTS_IN_TIME
#pragma GCC poison sd_event_add_time sd_event_add_time_relative
#pragma GCC poison sd_event_source_set_time sd_event_source_set_time_relative
#endif

struct token_bucket {
    uint64_t interval_ns, burst;
    uint64_t credit_ns; /* a token is an interval's worth */
    uint64_t last_ns;
};

/* Fills the bucket again if the limits have changed; an interval of 0 is no limit. */
void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns);
/* Takes a token; false where there is none, with the time until the next token (UINT64_MAX: never). */
bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns);

#endif
