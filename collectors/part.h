/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf group that a configured group became on a target: its descriptors, its totals, and the row that it fills.
 *
 * A part outlives its descriptors: while its CPU is away it is parked, and when it is opened anew its totals go on.
 */
#ifndef COLLECTORS_PART_H
#define COLLECTORS_PART_H

#include "collectors/snapshot.h"
#include "perf/group.h"
#include "perf/scale.h"

struct part {
    struct group *group; /* NULL while it is parked */
    struct scale *scale;
    struct row *row;
    uint8_t *members;              /* which events of the configured group, in the order of the perf group */
    int error;                     /* of the last read */
    uint64_t retry_ns, backoff_ns; /* when a group in the error state is enabled again, and how long to wait then */
};

void part_done(struct part *part, struct snapshot *snapshot);

/* Reads by one read(2) and updates the row. Errors of group_read() and scale_add(). */
int part_collect(struct part *part, struct sys *sys);

/* Whether the last read showed that what is open is not what was opened: its CPU went away, maybe in a suspend. */
bool part_is_stale(const struct part *part);

/* Closes the descriptors; the row is served nowhere, the totals are kept. */
void part_park(struct part *part);
/* Opens a parked part anew, whole: `attrs` are its members in order. On failure it stays parked. */
int part_reopen(struct part *part, struct sys *sys, const struct attr *attrs, const struct group_target *target);

#endif
