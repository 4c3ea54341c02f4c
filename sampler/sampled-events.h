/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a capture has open, with their attrs and ids, as its writers want them. Shared: a stream that writes
 * its end reads it still when the capture has another one, or is gone.
 */
#ifndef SAMPLER_SAMPLED_EVENTS_H
#define SAMPLER_SAMPLED_EVENTS_H

#include "sampler/lane.h"
#include "sampler/writer.h"

struct sampled_events;

/*
 * What is open in the lanes, of these events, and without ids what was before (may be NULL): samples of it were told,
 * and a profile is of the first. NULL when out of memory.
 */
struct sampled_events *sampled_events_new(const struct event_list *events, struct lane *const *lanes, size_t n_lanes,
                                          const struct sampled_events *before);
struct sampled_events *sampled_events_ref(struct sampled_events *roster);
struct sampled_events *sampled_events_unref(struct sampled_events *roster);

/* Fills in events, ids and how many CPUs there are; the first two point into it. */
void sampled_events_describe(const struct sampled_events *roster, struct writer_source *source);

#endif
