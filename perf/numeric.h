/* SPDX-License-Identifier: Apache-2.0 */
/* "TYPE:CONFIG", an event by the kernel's numbers as perf-record(1) writes it. Serves parse.h. */
#ifndef PERF_NUMERIC_H
#define PERF_NUMERIC_H

#include "perf/cursor.h"
#include "perf/event.h"

/* Whether two numbers with a colon between them begin at the cursor. */
bool numeric_starts_here(const struct event_cursor *cursor);
/*
 * Parses them into the event that has a name: "1:1" is task-clock, "4:0x11" is r11. Types 0, 1, 3 and 4 mean the same
 * on every kernel (include/uapi/linux/perf_event.h); PMUs and tracepoints get other numbers at another boot, and a
 * breakpoint is more than two numbers. -EINVAL at the number that is refused; -ENOMEM.
 */
int numeric_parse(struct event_cursor *cursor, struct event *event, struct error *error);

#endif
