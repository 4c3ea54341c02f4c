/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of a configured group on one target. A target is a CPU, a PMU on a CPU, or a cgroup on all CPUs. The
 * counts are the perf groups that the configured group became at each place of the target (opened-group.h), the rows
 * that these fill (group-rows.h), and the events that are unavailable (unavailable.h).
 *
 * The counts of configured groups on targets, which all collectors of groups share. The collectors `cpu` and `pmu` are
 * one group collector each; the collector `cgroup` has one for each cgroup.
 */
#ifndef COLLECTORS_GROUP_COUNTS_H
#define COLLECTORS_GROUP_COUNTS_H

#include "collectors/targets.h"
#include "perf/open-group.h"

struct group_counts;
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

/* All zero at first. */
struct group_collector {
    struct group_counts **items; /* by target, then in the order of the configuration; groups that are not of a target
                                    are left out */
    uint32_t n, next;            /* `next` is behind the counts that were kept last */
};

/*
 * Opens each group on each target; counts that were there and match go on. -ENOMEM, and then as much as possible is
 * kept.
 */
int group_collector_configure(struct group_collector *collector, const struct collector_context *context,
                              const struct config_groups *groups, const struct places *places);
/* Closes the descriptors and removes the rows. */
void group_collector_done(struct group_collector *collector, struct snapshot *snapshot);

/* As those of group_counts, for all of them. */
size_t group_collector_read(struct group_collector *collector, struct sys *sys);
bool group_collector_is_stale(const struct group_collector *collector);
void group_collector_add_states(const struct group_collector *collector, size_t states[N_ROW_STATES]);
void group_collector_leave(struct group_collector *collector, const struct collector_context *context);
size_t group_collector_descriptors(const struct group_collector *collector);

/*
 * A struct collector whose state is a group collector on the heap. group_collector_open() consumes `previous`, which
 * may be NULL; the functions behind it are those of struct collector.
 */
int group_collector_open(const struct collector_context *context, const struct config_groups *groups,
                         const struct places *places, void *previous, void **ret, struct error *error);
int group_collector_collect(const struct collector_context *context, void *state, struct error *error);
int group_collector_pause(const struct collector_context *context, void *state);
int group_collector_report(const struct collector_context *context, const void *state, struct failures *failures);
void group_collector_close(const struct collector_context *context, void *state);

#endif
