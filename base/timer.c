/* SPDX-License-Identifier: Apache-2.0 */
#define TIMER_MAY_USE_POINTS_IN_TIME
#include "base/timer.h"

int timer_init(sd_event *event, clockid_t clock, uint64_t accuracy_usec, sd_event_time_handler_t handler,
               void *userdata, sd_event_source **ret)
{
    sd_event_source *timer = NULL;
    int r = sd_event_add_time(event, &timer, clock, 0, accuracy_usec, handler, userdata);

    if (r >= 0)
        r = sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    if (r < 0) {
        sd_event_source_unref(timer);
        return r;
    }
    *ret = timer;
    return 0;
}

int timer_start(sd_event *event, uint64_t usec, uint64_t accuracy_usec, sd_event_time_handler_t handler, void *userdata,
                sd_event_source **ret)
{
    sd_event_source *timer = NULL;
    int r = timer_init(event, CLOCK_MONOTONIC, accuracy_usec, handler, userdata, &timer);

    if (r >= 0)
        r = timer_arm_in(timer, usec);
    if (r < 0) {
        sd_event_source_unref(timer);
        return r;
    }
    *ret = timer;
    return 0;
}

/*
 * sd_event_now(3) returns the time at which the loop woke up; timers set relative to it would fire early after a long
 * handler.
 */
static uint64_t timer_now(sd_event_source *timer)
{
    clockid_t clock = CLOCK_MONOTONIC;
    struct timespec now;

    sd_event_source_get_time_clock(timer, &clock);
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * USEC_PER_SEC + ((uint64_t)now.tv_nsec + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
}

int timer_arm_in(sd_event_source *timer, uint64_t usec)
{
    int r = sd_event_source_set_time(timer, timer_now(timer) + usec);

    return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

void timer_disarm(sd_event_source *timer)
{
    sd_event_source_set_enabled(timer, SD_EVENT_OFF);
}

uint64_t timer_remaining(sd_event_source *timer)
{
    uint64_t due = 0, now = timer_now(timer);
    int enabled = SD_EVENT_OFF;

    sd_event_source_get_enabled(timer, &enabled);
    sd_event_source_get_time(timer, &due);
    return enabled != SD_EVENT_OFF && due > now ? due - now : 0;
}

/* --- token buckets --- */

static uint64_t token_bucket_capacity(const struct token_bucket *bucket)
{
    uint64_t product;

    return __builtin_mul_overflow(bucket->interval_ns, bucket->burst, &product) ? UINT64_MAX : product;
}

void token_bucket_configure(struct token_bucket *bucket, uint64_t interval_ns, uint64_t burst, uint64_t now_ns)
{
    if (bucket->interval_ns == interval_ns && bucket->burst == burst)
        return;
    *bucket = (struct token_bucket){.interval_ns = interval_ns, .burst = burst, .last_ns = now_ns};
    bucket->credit_ns = token_bucket_capacity(bucket);
}

static void token_bucket_gain(struct token_bucket *bucket, uint64_t now_ns)
{
    uint64_t full = token_bucket_capacity(bucket), passed = now_ns > bucket->last_ns ? now_ns - bucket->last_ns : 0;

    bucket->credit_ns = passed >= full - bucket->credit_ns ? full : bucket->credit_ns + passed;
    bucket->last_ns = MAX(bucket->last_ns, now_ns);
}

bool token_bucket_take(struct token_bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_ns)
{
    if (bucket->interval_ns == 0)
        return true;
    token_bucket_gain(bucket, now_ns);
    if (bucket->burst == 0) {
        *ret_wait_ns = UINT64_MAX;
        return false;
    }
    if (bucket->credit_ns < bucket->interval_ns) {
        *ret_wait_ns = bucket->interval_ns - bucket->credit_ns;
        return false;
    }
    bucket->credit_ns -= bucket->interval_ns;
    return true;
}
