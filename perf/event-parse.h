/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses events and groups as perf writes them (perf-list(1), perf-record(1)). Pure syntax: no machine is consulted,
 * and bare words are not looked up.
 *
 *     cycles   L1-dcache-load-misses   r11   cpu/event=0x3c,umask=0x0/   armv8_cortex_a76/l2d_cache_refill/
 *     sched:sched_switch   mem:0x1000/8:w   uprobe/path=/bin/bash,offset=0x1234/   name-known-to-sysfs
 *     {a,b}:k   name{a,b},{c,d}
 *
 * "TYPE:CONFIG", as in "4:0x11", gives an event by the kernel's numbers. "mem:ADDRESS[/LENGTH][:ACCESS]" is a memory
 * access.
 */
#ifndef PERF_EVENT_PARSE_H
#define PERF_EVENT_PARSE_H

#include "perf/event-term.h"
#include "perf/event.h"

struct perf_event_attr;

/*
 * Whether a breakpoint can only be in a program's memory, never in the kernel's. The upper half of 64-bit addresses
 * belongs to the kernel on every machine. For 32-bit addresses the border depends on the kernel, so the attr must have
 * exclude_kernel, which makes the kernel refuse its own addresses (kernel/events/hw_breakpoint.c,
 * hw_breakpoint_parse()). Pure.
 */
bool breakpoint_is_in_user_memory(const struct perf_event_attr *attr);

/*
 * Parses groups: "{a,b}:k", "name{a,b}" or "name:{a,b}", separated by commas. Consecutive events outside of braces form
 * a group as well: "a,b" means "{a,b}", and "{a,b},c,d" means "{a,b},{c,d}". The result has at least one group;
 * event_groups_done() frees it. Returns -EINVAL with the error at the offending character (error->offset), or -ENOMEM.
 * A bare word becomes an EVENT_NAME; only attr_check(), which has a machine, finds out whether it exists.
 */
int event_groups_parse(const char *text, struct event_groups *ret, struct error *error);
/* Parses text that is exactly one group, without a name. Returns the errors of event_groups_parse(). */
int event_list_parse(const char *text, struct event_list *ret, struct error *error);
/*
 * Like event_list_parse(), but for a group whose first event is sampled. The first event accepts the terms `period` and
 * `freq`, and a clock accepts the modifiers u, k and I: the kernel honours them on a clock that samples
 * (kernel/events/core.c, perf_swevent_hrtimer()) and ignores them on one that counts.
 */
int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error);
/* Parses one event: no braces, and commas only between slashes. Returns the errors of event_groups_parse(). */
int event_parse(const char *text, struct event *ret, struct error *error);

#endif
