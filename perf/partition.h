/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the events of a configured group fit a PMU: in one perf group, in several, or without some of the events.
 *
 * A weak group leaves out events that the PMU does not have, and opens those that do not fit beside the others in a
 * further perf group. A strict group opens whole or not at all.
 */
#ifndef PERF_PARTITION_H
#define PERF_PARTITION_H

#include "perf/group.h"

struct partition_group {
    struct group *group; /* enabled, unless the target is paused */
    size_t n;
    size_t members[GROUP_MEMBERS_MAX]; /* indices of the attrs, in the group's order */
};

struct partition {
    struct partition_group *groups;
    size_t n_groups;
    int errors[GROUP_MEMBERS_MAX]; /* by attr: 0, or why it is not counted (-errno) */
    size_t culprit;                /* where a strict group did not open: the attr that failed */
};

/*
 * Opens the `n` attrs on the target and enables them. An event that does not open is no failure: its reason is in
 * ret->errors. -ENOMEM; -E2BIG for no attrs, or more than GROUP_MEMBERS_MAX.
 */
int partition_open(struct sys *sys, const struct attr *attrs, size_t n, bool strict, const struct group_target *target,
                   struct partition *ret);
void partition_done(struct partition *partition);

#endif
