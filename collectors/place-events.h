/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a configured group that a place counts, each with the PMU that counts it there.
 *
 * Subsets of a configured group's events are masks everywhere: bit i is the group's i-th event.
 */
#ifndef COLLECTORS_PLACE_EVENTS_H
#define COLLECTORS_PLACE_EVENTS_H

#include "collectors/unavailable.h"

struct place_events {
    const struct config_group *group;
    uint64_t mask;
    uint64_t refused;                     /* events that the place should count and cannot */
    struct attr attrs[GROUP_MEMBERS_MAX]; /* by event; those in the mask are set */
};

/*
 * Finds the events of events->group that `place` counts; lists in `unavailable` those that it should count and cannot.
 * `events` is that of another place, whose attrs are taken where the PMU is the same, or all zero but for the group.
 * -ENOMEM.
 */
int place_events_find(struct place_events *events, const struct collector_context *context, const struct place *place,
                      struct unavailable_events *unavailable);

/* The attrs of the events in `mask`, in order; returns how many there are. */
size_t place_events_attrs(const struct place_events *events, uint64_t mask, struct attr *attrs);

#endif
