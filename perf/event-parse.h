/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to events: groups, raw events, TYPE:CONFIG, breakpoints.
 *
 * "mem:ADDRESS[/LENGTH][:ACCESS]", an access to memory as perf-record(1) writes it. Serves parse.h.
 *
 * "TYPE:CONFIG", an event by the kernel's numbers as perf-record(1) writes it. Serves parse.h.
 *
 * The parser of events as `perf` writes them (perf-list(1)): pure syntax, without any machine.
 *
 *     cycles   L1-dcache-load-misses   r11   cpu/event=0x3c,umask=0x0/   armv8_cortex_a76/l2d_cache_refill/
 *     sched:sched_switch   mem:0x1000/8:w   uprobe/path=/bin/bash,offset=0x1234/   name-known-to-sysfs
 *     {a,b}:k   name{a,b},{c,d}
 */
#ifndef PERF_EVENT_PARSE_H
#define PERF_EVENT_PARSE_H

#include "perf/event-term.h"
#include "perf/event.h"

struct perf_event_attr;

/*
 * Whether a breakpoint watches a program's memory, never the kernel's. The upper half of 64 bits is the kernel's on
 * every machine. Where addresses have 32 bits, the border depends on the kernel, which refuses its own part with
 * exclude_kernel (kernel/events/hw_breakpoint.c, hw_breakpoint_parse()): there the attr must have exclude_kernel. Pure.
 */
bool breakpoint_is_in_user_memory(const struct perf_event_attr *attr);

/*
 * Parses groups: "{a,b}:k", "name{a,b}" or "name:{a,b}", several with commas between them. Events outside of braces
 * that stand next to one another are a group as well: "a,b" means "{a,b}", and "{a,b},c,d" means "{a,b},{c,d}". Gives
 * at least one group. -EINVAL with the error at the offending character (error->offset). Bare words are not looked up:
 * attr_build(), which has a machine, finds out whether an EVENT_NAME exists.
 */
int event_groups_parse(const char *text, struct event_groups *ret, struct error *error);
/* Parses a text that is one group without a name. Errors as event_groups_parse(). */
int event_list_parse(const char *text, struct event_list *ret, struct error *error);
/*
 * The same for a group whose first event is sampled: it takes the terms `period` and `freq`, and a clock takes the
 * modifiers u and k, which the kernel heeds when it samples (kernel/events/core.c, perf_swevent_hrtimer()) and ignores
 * when it counts.
 */
int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error);
/* Parses one event, without braces and commas outside slashes. Errors as event_groups_parse(). */
int event_parse(const char *text, struct event *ret, struct error *error);

#endif
