/* SPDX-License-Identifier: Apache-2.0 */
/* "mem:ADDRESS[/LENGTH][:ACCESS]", an access to memory as perf-record(1) writes it: a part of the event syntax. */
#ifndef PERF_EVENT_BREAKPOINT_H
#define PERF_EVENT_BREAKPOINT_H

#include "perf/event/cursor.h"
#include "perf/event/event.h"

/* Whether one begins here. */
bool breakpoint_starts_here(const struct event_cursor *cursor);
/*
 * Parses up to the modifiers, if there are any: "mem:0x1000/8:w:u". Without an access it is "rw", without a length 4
 * bytes, or those of a pointer where instructions are executed. -EINVAL at the offending character.
 */
int breakpoint_parse(struct event_cursor *cursor, struct event *event, struct error *error);

struct perf_event_attr;

/*
 * Whether a breakpoint is of a program's memory, never of the kernel's: the upper half of 64 bits is the kernel's on
 * every machine. Where addresses have 32 the border depends on the kernel, which refuses its own half with
 * exclude_kernel (kernel/events/hw_breakpoint.c, hw_breakpoint_parse()), so that is wanted there. Pure.
 */
bool breakpoint_in_user_memory(const struct perf_event_attr *attr);

#endif
