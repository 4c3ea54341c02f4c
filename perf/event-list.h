/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists every event that this machine offers: generic events that its PMUs accept (each is tried), events that sysfs
 * and libpfm4 name, and tracepoints.
 *
 * The list is created and freed in the event loop's thread, because both need struct sys and the machine's reference
 * count. Visiting and writing the list, which is most of the work, may happen in another thread.
 */
#ifndef PERF_EVENT_LIST_H
#define PERF_EVENT_LIST_H

#include "base/buffer.h"
#include "perf/attr.h"

struct offered_events;

struct offered_event {
    const char *name, *pmu, *cpus, *kind, *description;
};

/*
 * Creates the list by asking the kernel which events it accepts. The list holds a reference to the machine. Returns
 * -ENOMEM, or a temporary error of reading the tracepoints (see reason_span()).
 */
int offered_events_new(struct sys *sys, struct machine *machine, struct offered_events **ret);
/* May be called only in the event loop's thread. `offered` may be NULL. */
struct offered_events *offered_events_free(struct offered_events *offered);

/* Calls `visit` for each event in the list. May run in any thread. The event is valid only during the call. */
typedef void (*offered_events_visit)(void *userdata, const struct offered_event *event);
void offered_events_each(const struct offered_events *offered, offered_events_visit visit, void *userdata);

/* Says why tracepoints could not be listed; "" if the list is complete. */
const char *offered_events_note(const struct offered_events *offered);

/*
 * Appends the list as JSON: [{"name": "cycles", "pmu": "cpu", "cpus": "0-3", "kind": "hardware", "description":
 * "..."}]. May run in any thread. The note, if any, is the last entry, with the kind "note" and an empty name.
 */
void offered_events_write(const struct offered_events *offered, struct buffer *content);

#endif
