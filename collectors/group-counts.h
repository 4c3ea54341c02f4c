/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of a configured group on one target. A target is a CPU, a PMU on a CPU, or a cgroup on all CPUs. The
 * counts are the perf groups that the configured group became at each place of the target (opened-group.h), the rows
 * that these fill (group-rows.h), and the events that are unavailable (unavailable.h).
 */
#ifndef COLLECTORS_GROUP_COUNTS_H
#define COLLECTORS_GROUP_COUNTS_H

#include "collectors/targets.h"
#include "perf/open-group.h"

struct group_counts;

/*
 * Opens `group` at the places of a target. Events that cannot be opened are in the report. Fails only with -ENOMEM.
 * Gives NULL, which is no failure, where none of the events is of these places.
 */
int group_counts_open(const struct collector_context *context, const struct config_group *group,
                      const struct places *target, struct group_counts **ret);
/* Closes the descriptors and removes the rows. */
struct group_counts *group_counts_free(struct group_counts *counts, struct snapshot *snapshot);

/* Whether they count this group on this target, so that a reload keeps them. */
bool group_counts_match(const struct group_counts *counts, const struct config_group *group,
                        const struct places *target);
/*
 * Closes the groups at places that are away or were (context->left), and opens again those that are closed or stale at
 * the others; totals go on. Events that could not be opened are tried once more, as a further group. `group` is the one
 * that was opened, or its equal. -ENOMEM.
 */
int group_counts_resume(struct group_counts *counts, const struct collector_context *context,
                        const struct config_group *group, const struct places *target);
/* Closes the groups at places that are away or were, for a caller that cannot resume yet. */
void group_counts_leave(struct group_counts *counts, const struct collector_context *context);
/* Opened groups and unavailable events, for callers that show them themselves (places.bare). */
struct group_counts_view {
    struct opened_group *groups;
    size_t n_groups;
    const struct unavailable_events *unavailable;
};
struct group_counts_view group_counts_view(const struct group_counts *counts);
/* Their configured group among these; NULL where it is not there. */
const struct config_group *group_counts_find_config(const struct group_counts *counts,
                                                    const struct config_groups *groups);

/* Closes the descriptors; rows and totals stay as they are. */
void group_counts_close(struct group_counts *counts);

/* Reads each opened group by one read(2) and updates the rows. Returns how many groups could be read. */
size_t group_counts_read(struct group_counts *counts, struct sys *sys);
/* Whether the last reading showed a group that is no longer the one that was opened: resume it. */
bool group_counts_are_stale(const struct group_counts *counts);
/* Disables the open groups, or enables them again. The first error of ioctl(2); all groups are tried. */
int group_counts_pause(struct group_counts *counts, bool paused);

/* Adds the events that could not be opened, each with its CPUs. -ENOMEM. */
int group_counts_report(const struct group_counts *counts, const struct collector_context *context,
                        struct failures *failures);
/* Adds the rows to the number of groups in each state; counts without rows are one group that is unavailable. */
void group_counts_add_states(const struct group_counts *counts, size_t states[N_ROW_STATES]);
/* Open descriptors. */
size_t group_counts_descriptors(const struct group_counts *counts);

#endif
