/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the configured groups on a list of targets (`collectors/targets.h`). The `cpu` and `pmu` collectors have one
 * group set each; the `cgroup` collector has one for each cgroup (perf engine) or a single one for all cgroups (bpf
 * engine).
 *
 * A struct group_counts holds, for one configured group on one target, the perf groups opened on each CPU of the target
 * (`perf/open-group.h`), the rows that sum them (`collectors/group-rows.h`), and the events that could not be opened.
 * Totals survive a reload and CPU hotplug if the group's signature and target are unchanged.
 *
 * Events that no target counts are listed once for each group, after all targets; in the group set of a single cgroup,
 * they are listed with the cgroup.
 */
#ifndef COLLECTORS_GROUP_COUNTS_H
#define COLLECTORS_GROUP_COUNTS_H

#include "collectors/targets.h"
#include "perf/open-group.h"

/* An event that is not counted on some CPUs, and the reason. Strings are interned in the snapshot. */
struct unavailable_event {
    struct refusal refusal;
    const char *text, *metric;
    int cpu; /* CPU of the row; -1 for one row of all CPUs */
    struct cpuset cpus;
    bool on_no_cpu;  /* the event is unavailable on every CPU */
    struct row *row; /* row of the event, or NULL if a row with the same name counts it on other CPUs */
};

/*
 * Adds a row that shows an unavailable event. `where` has the group, the cgroup and its names. Returns NULL if memory
 * runs out.
 */
struct row *unavailable_event_add_row(const struct unavailable_event *event, const struct collector_env *env,
                                      const struct row_target *where);

struct group_counts;
/*
 * The open groups and the unavailable events, for callers that render counts without rows (`target.bare`). The view is
 * valid until the next group_set_configure().
 */
struct group_counts_view {
    struct open_group *groups;
    const struct unavailable_event *unavailable;
    size_t n_groups, n_unavailable;
};
struct group_counts_view group_counts_view(const struct group_counts *counts);
/* Finds the configured group with the signature of `counts`. Returns NULL if `groups` does not contain such a group. */
const struct config_group *group_counts_find_config(const struct group_counts *counts,
                                                    const struct config_groups *groups);

/* Closes the descriptors. Rows and totals are kept. */
void group_counts_close(struct group_counts *counts);

/* Must be zeroed before the first use. */
struct group_set {
    /*
     * The counts are ordered by target, then as in the configuration, followed by items for events that no target
     * counts. A group without events for a target has no item for that target.
     */
    struct group_counts **items;
    uint32_t n, next; /* number of items, and index after the last item that was kept */
};

/*
 * Opens each group on each target. Counts that already exist for the same group and target continue. On -ENOMEM the
 * groups that could be opened stay open.
 */
int group_set_configure(struct group_set *set, const struct collector_env *env, const struct config_groups *groups,
                        const struct targets *targets);
/* Closes the descriptors and removes the rows. */
void group_set_done(struct group_set *set, struct snapshot *snapshot);

/*
 * Reads all counts of the set and updates their rows. Adds the number of groups in each state to *ret, and sets
 * ret->stale if a group is stale because its CPU was offline. The next group_set_configure() reopens stale groups.
 * Returns how many perf groups could be read.
 */
size_t group_set_read(struct group_set *set, struct sys *sys, struct collected *ret);
/* Returns the number of open descriptors. */
size_t group_set_descriptors(const struct group_set *set);

/*
 * Functions for a struct collector whose state is a group set on the heap. group_set_open() consumes `previous`, which
 * may be NULL. The other functions implement the members of struct collector with the same names.
 */
int group_set_open(const struct collector_env *env, const struct config_groups *groups, const struct targets *targets,
                   void *previous, struct opened *ret, struct error *error);
int group_set_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error);
int group_set_pause(const struct collector_env *env, void *state);
int group_set_report(const struct collector_env *env, const void *state, struct failures *failures);
void group_set_close(const struct collector_env *env, void *state);

#endif
