/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event this machine offers: generic ones that its PMUs take (each is tried), those that sysfs names, those that
 * libpfm4 names, tracepoints.
 *
 * What needs the kernel is gathered in the event loop; the rest, which is most of it, can be done in another thread.
 */
#ifndef DAEMON_CATALOGUE_H
#define DAEMON_CATALOGUE_H

#include "base/buffer.h"
#include "perf/attr.h"

struct catalogue;

struct catalogue_event {
    const char *name, *pmu, *cpus, *kind, *description;
};

/* Asks the kernel what it takes, and keeps a reference to the machine. -ENOMEM. */
int catalogue_new(struct sys *sys, struct machine *machine, struct catalogue **ret);
/* In the thread of the event loop. */
struct catalogue *catalogue_free(struct catalogue *catalogue);

/* Calls `visit` for each event, in any thread; what it is given lasts as long as the call. */
typedef void (*catalogue_visit)(void *userdata, const struct catalogue_event *event);
void catalogue_each(const struct catalogue *catalogue, catalogue_visit visit, void *userdata);

/* [{"name": "cycles", "pmu": "cpu", "cpus": "0-3", "kind": "hardware", "description": "..."}], in any thread. */
void catalogue_write(const struct catalogue *catalogue, struct buffer *content);

#endif
