/* SPDX-License-Identifier: Apache-2.0 */
/* The naming half of the event parser. */
#ifndef PERF_EVENT_NAME_H
#define PERF_EVENT_NAME_H

#include "perf/event/event.h"

/* Gives the event its metric name, without the words of its modifiers. 0 or -ENOMEM. */
int event_name_base(struct event *event);
/* Appends them: "_user_kernel". 0 or -ENOMEM. */
int event_name_modifiers(struct event *event);

#endif
