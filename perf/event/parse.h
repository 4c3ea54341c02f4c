/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of events as `perf` writes them (perf-list(1)): pure syntax, without any machine.
 *
 *     cycles   L1-dcache-load-misses   r11   cpu/event=0x3c,umask=0x0/   armv8_cortex_a76/l2d_cache_refill/
 *     sched:sched_switch   mem:0x1000/8:w   uprobe/path=/bin/bash,offset=0x1234/   name-known-to-sysfs   {a,b}:k
 */
#ifndef PERF_EVENT_PARSE_H
#define PERF_EVENT_PARSE_H

#include "perf/event/event.h"

/*
 * Parses one group: "{a,b}:k", or "a,b" or "a", which mean the same: events that are written together are counted
 * together. A second group in braces is an error. -EINVAL with the error at the offending character (error->offset).
 * Bare words are not looked up: attr_build(), which has a machine, finds out whether an EVENT_NAME exists.
 */
int event_list_parse(const char *text, struct event_list *ret, struct error *error);
/*
 * The same for a group whose first event is sampled: a clock then takes the modifiers u and k, which the kernel heeds
 * when it samples (kernel/events/core.c, perf_swevent_hrtimer()) and ignores when it counts.
 */
int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error);
/* Parses one event, without braces and commas outside slashes. Errors as event_list_parse(). */
int event_parse(const char *text, struct event *ret, struct error *error);

#endif
