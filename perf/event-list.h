/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event this machine offers: generic events that its PMUs accept (each is tried), events named by sysfs and by
 * libpfm4, and tracepoints.
 *
 * The event loop's thread asks the kernel; the rest of the work, which is most of it, can be done in another thread.
 */
#ifndef PERF_EVENT_LIST_H
#define PERF_EVENT_LIST_H

#include "base/buffer.h"
#include "perf/attr.h"

struct offered_events;

struct offered_event {
    const char *name, *pmu, *cpus, *kind, *description;
};

/* Asks the kernel which events it accepts, and keeps a reference to the machine. -ENOMEM. */
int offered_events_new(struct sys *sys, struct machine *machine, struct offered_events **ret);
/* In the event loop's thread. */
struct offered_events *offered_events_free(struct offered_events *offered);

/* Calls `visit` for each event, in any thread; the event it is given is valid during the call. */
typedef void (*offered_events_visit)(void *userdata, const struct offered_event *event);
void offered_events_each(const struct offered_events *offered, offered_events_visit visit, void *userdata);

/* A sentence on events that may be there and are not listed: tracepoints that cannot be read. "" where there is none.
 */
const char *offered_events_note(const struct offered_events *offered);

/*
 * [{"name": "cycles", "pmu": "cpu", "cpus": "0-3", "kind": "hardware", "description": "..."}], in any thread. The note
 * is the last entry, of kind "note" and without a name.
 */
void offered_events_write(const struct offered_events *offered, struct buffer *content);

#endif
