/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that are made once and armed when needed: see timer.h. */
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

static int timer_enable(sd_event_source *timer, int r)
{
    return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

int timer_arm(sd_event_source *timer, uint64_t usec)
{
    return timer_enable(timer, sd_event_source_set_time(timer, usec));
}

int timer_arm_in(sd_event_source *timer, uint64_t usec)
{
    return timer_enable(timer, sd_event_source_set_time_relative(timer, usec));
}

void timer_disarm(sd_event_source *timer)
{
    sd_event_source_set_enabled(timer, SD_EVENT_OFF);
}
