/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a capture has open, with their attrs and ids, as its writers want them. Shared: a stream that writes
 * its end reads it still when the capture has another one, or is gone.
 */
#ifndef SAMPLER_ROSTER_H
#define SAMPLER_ROSTER_H

#include "sampler/lane.h"
#include "sampler/writer.h"

struct roster;

/*
 * What is open in the lanes, of these events, and without ids what was before (may be NULL): samples of it were told,
 * and a profile is of the first. NULL when out of memory.
 */
struct roster *roster_new(const struct event_list *events, struct lane *const *lanes, size_t n_lanes,
                          const struct roster *before);
struct roster *roster_ref(struct roster *roster);
struct roster *roster_unref(struct roster *roster);

/* Fills in events, ids and how many CPUs there are; the first two point into it. */
void roster_describe(const struct roster *roster, struct writer_source *source);

#endif
