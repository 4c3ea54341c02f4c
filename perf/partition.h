/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the events of a configured group fit a PMU: in one perf group, in several, or without some of the events.
 *
 * A weak group leaves out events that the PMU does not have, and opens those that do not fit beside the others in a
 * further perf group. A strict group opens whole or not at all.
 */
#ifndef PERF_PARTITION_H
#define PERF_PARTITION_H

#include "perf/event-mask.h"
#include "perf/group.h"

struct partition_group {
    struct group *group; /* enabled, unless the target is paused */
    uint64_t events;     /* its members, in this order */
};

struct partition {
    struct partition_group *groups;
    size_t n_groups;
    int errors[GROUP_MEMBERS_MAX]; /* by event: 0, or why it is not counted (-errno) */
    size_t culprit;                /* where a strict group did not open: the event that failed */
    size_t fits;                   /* and where that event opens by itself: how many events the PMU takes at once */
};

/*
 * Opens `events` on the target and enables them; `attrs` are by event. An event that does not open is no failure: its
 * reason is in ret->errors. -ENOMEM; -EINVAL for no events.
 */
int partition_open(struct sys *sys, const struct attr *attrs, uint64_t events, bool strict,
                   const struct group_target *target, struct partition *ret);
void partition_done(struct partition *partition);

#endif
