/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a hierarchy, and which of them are counted, as they come and go.
 *
 * The tree tells of directories, the selection says which of them there is room for, and an entry is one that is
 * counted, or was and lingers.
 */
#ifndef COLLECTORS_CGROUP_SET_H
#define COLLECTORS_CGROUP_SET_H

#include "collectors/cgroup/entry.h"
#include "perf/hierarchy.h"

struct cgroup_set {
    struct sys *sys;
    struct hierarchy hierarchy;
    struct cgroup_tree *tree;
    struct cgroup_entry **entries; /* counted and lingering */
    size_t n;
    struct cgroup_node **dropped; /* borrowed from the tree; valid until it changes */
    size_t n_dropped, n_wanted;
    uint64_t limit, descriptors_each; /* how many there is room for, and what each costs here at most */
    bool changed;                     /* the tree did, since the last selection */
    enum reason_span span;            /* of what kept cgroups from being opened or from going on */
};

/* `set` is zeroed, and stays where it is. Errors of hierarchy_find() and cgroup_tree_new(); cgroup_set_done() in any
 * case. */
int cgroup_set_open(struct cgroup_set *set, const struct collector_context *context, struct error *error);
void cgroup_set_done(struct cgroup_set *set, const struct collector_context *context);

/* After a new configuration, or when CPUs came or went: what is counted goes on with it, then selects. -ENOMEM. */
int cgroup_set_configure(struct cgroup_set *set, const struct collector_context *context);
/* Opens and ends what the tree and the room now ask for. -ENOMEM. */
int cgroup_set_select(struct cgroup_set *set, const struct collector_context *context);
/* Lets go of those whose time to linger is over, and of the oldest beyond max_cgroups, which may linger beside those
 * that are counted. */
void cgroup_set_forget(struct cgroup_set *set, const struct collector_context *context);

#endif
