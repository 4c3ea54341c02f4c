/* SPDX-License-Identifier: Apache-2.0 */
/* "mem:ADDRESS[/LENGTH][:ACCESS]", an access to memory as perf-record(1) writes it. Serves parse.h. */
#ifndef PERF_BREAKPOINT_H
#define PERF_BREAKPOINT_H

#include "perf/cursor.h"
#include "perf/event.h"

/* Whether a breakpoint begins at the cursor. */
bool breakpoint_starts_here(const struct event_cursor *cursor);
/*
 * Parses "mem:0x1000/8:w" up to the modifiers or the end. The access is "rw" where it is left out. So is the length 4
 * bytes, or the size of a pointer where the access is an execution. -EINVAL at the offending character; -ENOMEM.
 */
int breakpoint_parse(struct event_cursor *cursor, struct event *event, struct error *error);

struct perf_event_attr;

/*
 * Whether a breakpoint watches a program's memory, never the kernel's. The upper half of 64 bits is the kernel's on
 * every machine. Where addresses have 32 bits, the border depends on the kernel, which refuses its own part with
 * exclude_kernel (kernel/events/hw_breakpoint.c, hw_breakpoint_parse()): there the attr must have exclude_kernel. Pure.
 */
bool breakpoint_is_in_user_memory(const struct perf_event_attr *attr);

#endif
