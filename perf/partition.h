/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a configured group fits a PMU: whole, in parts, or without some of its members.
 *
 * A weak group leaves out what the PMU does not have, and what does not fit beside the others goes into a further part.
 * A strict group opens whole or not at all.
 */
#ifndef PERF_PARTITION_H
#define PERF_PARTITION_H

#include "perf/group.h"

struct partition_group {
    struct group *group; /* enabled */
    size_t n;
    size_t members[GROUP_MEMBERS_MAX]; /* indices of the attrs, in the group's order */
};

struct partition {
    struct partition_group *groups;
    size_t n_groups;
    int errors[GROUP_MEMBERS_MAX]; /* per attr: 0, or why it is not counted (-errno) */
    size_t culprit;                /* strict, and nothing opened: the attr that failed */
};

/*
 * Opens `attrs` (at most GROUP_MEMBERS_MAX) on the target and enables them. What could not be opened is in ret->errors,
 * and is no failure of this function: that is only -ENOMEM.
 */
int partition_open(struct sys *sys, const struct attr *attrs, size_t n, bool strict, const struct group_target *target,
                   struct partition *ret);
void partition_done(struct partition *partition);

#endif
