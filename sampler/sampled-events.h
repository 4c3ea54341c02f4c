/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a capture has open, with their attrs and ids, as writers need them. Shared by references: a stream
 * reads them until its end, when the capture may have others, or be gone.
 */
#ifndef SAMPLER_SAMPLED_EVENTS_H
#define SAMPLER_SAMPLED_EVENTS_H

#include "sampler/lane.h"
#include "sampler/writer.h"

struct sampled_events;

/*
 * Those of `events` that are open in the lanes, and, without ids, those that were open before (`before` may be NULL):
 * their samples were given to clients already, and a profile is of the first event. NULL when out of memory.
 */
struct sampled_events *sampled_events_new(const struct event_list *events, struct lane *const *lanes, size_t n_lanes,
                                          const struct sampled_events *before);
struct sampled_events *sampled_events_ref(struct sampled_events *sampled);
struct sampled_events *sampled_events_unref(struct sampled_events *sampled);

/* Fills in events, ids and the number of CPUs; the first two point into `sampled`. */
void sampled_events_describe(const struct sampled_events *sampled, struct writer_source *source);

#endif
