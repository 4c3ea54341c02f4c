/* SPDX-License-Identifier: Apache-2.0 */
/* Counting that is paused for a time, so that others can use the PMUs: it goes on by itself. */
#ifndef DAEMON_PAUSE_H
#define DAEMON_PAUSE_H

#include <systemd/sd-event.h>

#include "base/util.h"

struct pause;

/* `on_end` is called from the event loop when the time is over; by then it is paused no more. */
int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret);
struct pause *pause_free(struct pause *pause);

/* From now on, for so many seconds, whatever was asked before. -errno of sd_event_source_set_time(3). */
int pause_start(struct pause *pause, unsigned seconds);
void pause_stop(struct pause *pause);

/* How long it still lasts, in microseconds; 0 where nothing is paused. */
uint64_t pause_remaining(const struct pause *pause);

#endif
