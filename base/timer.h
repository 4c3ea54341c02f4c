/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of an event loop that are made once, switched off, and armed whenever they are needed. */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <systemd/sd-event.h>
#include <time.h>

#include "base/util.h"

/*
 * Makes a timer of this clock that is off. It may fire later than armed by `accuracy_usec` (0: a quarter of a second),
 * so that the process wakes once for several timers. The caller ends it with sd_event_source_disable_unref(3). -errno
 * of sd_event_add_time(3).
 */
int timer_init(sd_event *event, clockid_t clock, uint64_t accuracy_usec, sd_event_time_handler_t handler,
               void *userdata, sd_event_source **ret);
/* Fires once, at `usec` of its clock, also where it was armed for another time. -errno of sd_event_source_set_time(3).
 */
int timer_arm(sd_event_source *timer, uint64_t usec);
/* Fires once, `usec` from now. */
int timer_arm_in(sd_event_source *timer, uint64_t usec);
void timer_disarm(sd_event_source *timer);

#endif
