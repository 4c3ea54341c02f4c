/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of an event loop: see timer.h. */
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

/* Not sd_event_now(3), which is when the event loop woke up: the timer would fire early after a long handler. */
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
