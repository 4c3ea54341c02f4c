/* SPDX-License-Identifier: Apache-2.0 */
/* "mem:ADDRESS[/LENGTH][:ACCESS]", an access to memory as perf-record(1) writes it: a part of the event syntax. */
#ifndef PERF_EVENT_BREAKPOINT_H
#define PERF_EVENT_BREAKPOINT_H

#include "perf/event-cursor.h"
#include "perf/event.h"

/* Whether one begins here. */
bool breakpoint_starts(const struct cursor *cursor);
/*
 * Parses up to the modifiers, if there are any: "mem:0x1000/8:w:u". Without an access it is "rw", without a length 4
 * bytes, or those of a pointer where instructions are executed. -EINVAL at the offending character.
 */
int breakpoint_parse(struct cursor *cursor, struct event *event, struct error *error);

#endif
