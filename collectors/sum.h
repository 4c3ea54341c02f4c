/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the snapshot and the parts that are added up in it: one part where the row is of a CPU, one or more for each
 * CPU where it is of a cgroup.
 *
 * Each part is scaled by its own ratio before it is added, with what is behind the point, so that a sum never falls:
 * not when a CPU leaves (its part stays in the sum), and not while some parts are starved.
 */
#ifndef COLLECTORS_SUM_H
#define COLLECTORS_SUM_H

#include "collectors/binding.h"
#include "collectors/opened-group.h"

/* No part: the end of a list of parts. */
#define SUM_END UINT32_MAX

struct sum {
    struct row *row;
    uint64_t members;    /* which events of the configured group have a counter in the row */
    uint32_t first;      /* of its parts; each has the next */
    unsigned ordinal;    /* 1 for the group itself, 2 for "cache-2", ... */
    uint64_t created_ns; /* see struct row_target */
};

/* What tells a row from the others of a configured group. */
struct sum_key {
    unsigned ordinal;
    int cpu; /* -1: of all CPUs */
    const char *group, *pmu, *cgroup;
    bool own_pmu; /* counters say their own PMU, "software" in a mixed group; else all say the row's */
};

/* Makes the row, without parts. `members` are among what is bound. -ENOMEM. */
int sum_init(struct sum *sum, const struct collector_context *context, const struct binding *binding,
             const struct sum_key *key, uint64_t members);
/* Puts a row in its place that has more counters. -ENOMEM. */
int sum_widen(struct sum *sum, const struct collector_context *context, const struct binding *binding,
              const struct sum_key *key, uint64_t members);
void sum_done(struct sum *sum, struct snapshot *snapshot);

void sum_add_part(struct sum *sum, struct part *parts, uint32_t part);

/* Puts what was read last into the row. */
void sum_update(struct sum *sum, const struct part *parts);
/* Parts were closed or opened: a row of a CPU that is away is served nowhere. */
void sum_check(struct sum *sum, const struct part *parts);

#endif
