/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event this machine offers: generic ones that its PMUs take (each is tried), those that sysfs names, those that
 * libpfm4 names, tracepoints.
 *
 * What needs the kernel is gathered in the event loop; the rest, which is most of it, can be done in another thread.
 */
#ifndef DAEMON_EVENT_LIST_H
#define DAEMON_EVENT_LIST_H

#include "base/buffer.h"
#include "perf/attr.h"

struct event_list;

struct event_list_item {
    const char *name, *pmu, *cpus, *kind, *description;
};

/* Asks the kernel what it takes, and keeps a reference to the machine. -ENOMEM. */
int event_list_new(struct sys *sys, struct machine *machine, struct event_list **ret);
/* In the thread of the event loop. */
struct event_list *event_list_free(struct event_list *list);

/* Calls `visit` for each event, in any thread; what it is given lasts as long as the call. */
typedef void (*event_list_visit)(void *userdata, const struct event_list_item *event);
void event_list_each(const struct event_list *list, event_list_visit visit, void *userdata);

/* [{"name": "cycles", "pmu": "cpu", "cpus": "0-3", "kind": "hardware", "description": "..."}], in any thread. */
void event_list_write(const struct event_list *list, struct buffer *content);

#endif
