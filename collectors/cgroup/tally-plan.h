/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a configured group that a tally counts, before any cgroup has them: which there are, and which of them
 * each perf group fills. A perf group stays in its row, as long as the group is configured.
 */
#ifndef COLLECTORS_CGROUP_TALLY_PLAN_H
#define COLLECTORS_CGROUP_TALLY_PLAN_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/group-rows.h"

#define TALLY_ROW_NONE UINT32_MAX

/* A perf group, and its row; TALLY_ROW_NONE where the machine does not know the events any more. */
struct placed_part {
    struct row_part part;
    uint32_t row;
};

/* All zero: of none. */
struct tally_plan {
    const char *signature, *name; /* the snapshot has the texts */
    struct group_rows rows;       /* without their `row` */
    struct row_draft *drafts;     /* by row */
    struct placed_part *placed;   /* by opened group */
    size_t n_drafts, n_placed;
};

/* Without rows. -ENOMEM; tally_plan_done() in any case. */
int tally_plan_init(struct tally_plan *plan, const struct collector_context *context, const struct config_group *group,
                    bool summed);
void tally_plan_done(struct tally_plan *plan);
/* Finds the row of each opened group; those that were there before have theirs. -ENOMEM. */
int tally_plan_place(struct tally_plan *plan, const struct collector_context *context, const struct tally_span *span,
                     const struct group_counts_view *view);
/* Whether a row has a counter of the event, on its PMU and CPU. */
bool tally_plan_has(const struct tally_plan *plan, const struct unavailable_event *event);

#endif
