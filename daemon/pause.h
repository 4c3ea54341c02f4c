/* SPDX-License-Identifier: Apache-2.0 */
/* The timer of a pause: counting stops for some seconds, so that others can use the PMUs, and resumes by itself. */
#ifndef DAEMON_PAUSE_H
#define DAEMON_PAUSE_H

#include <systemd/sd-event.h>

#include "base/util.h"

struct pause;

/* `on_end` is called from the event loop when the time is over; pause_remaining() is 0 by then. -errno. */
int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret);
struct pause *pause_free(struct pause *pause);

/* From now, for that many seconds; replaces an earlier pause. -errno of sd_event_source_set_time(3). */
int pause_start(struct pause *pause, unsigned seconds);
void pause_stop(struct pause *pause);

/* Microseconds until it ends; 0 where nothing is paused. */
uint64_t pause_remaining(const struct pause *pause);

#endif
