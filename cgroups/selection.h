/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of the cgroups that are watched: they match an include pattern and no exclude pattern. Shallow cgroups
 * come first, then it goes by name, up to the configured maximum and to the number for which there are descriptors and
 * memory. Pure.
 */
#ifndef CGROUPS_SELECTION_H
#define CGROUPS_SELECTION_H

#include "cgroups/names.h"

/*
 * Borrows the patterns: of paths (base/glob.h), or of names (cgroups/names.h). Names may become known at any time,
 * so that a pattern of names in `include` leads everywhere but below what `exclude` has by path.
 */
struct cgroup_rules {
    char *const *include, *const *exclude;
    size_t n_include, n_exclude;
    uint64_t max_cgroups;
    uint64_t descriptor_budget;      /* for all cgroups; UINT64_MAX where it does not matter */
    uint64_t descriptors_per_cgroup; /* 0: they cost none */
    uint64_t memory_budget;          /* bytes, for all cgroups; UINT64_MAX where it is not limited */
    uint64_t memory_per_cgroup;      /* 0: it does not matter */
};

enum cgroup_choice { CGROUP_UNWANTED, CGROUP_WATCHED, CGROUP_DROPPED };

struct cgroup_candidate {
    const char *path;
    unsigned depth;
    bool wanted;    /* by the patterns */
    void *userdata; /* the caller's, since the order changes */
    enum cgroup_choice choice;
};

struct cgroup_selection {
    size_t watched, dropped; /* the numbers of each; watched + dropped match the patterns */
};

/*
 * Whether the patterns want it, however many fit. `names` is NULL where none is known: then only paths can match. A
 * name includes the cgroup of the unit or the container that has it, and not those inside of that one; it excludes all.
 */
bool cgroup_rules_want(const struct cgroup_rules *rules, const char *path, const struct names *names);
/* Whether they want it by its path, or might by some name. */
bool cgroup_rules_may_want(const struct cgroup_rules *rules, const char *path);
/*
 * Whether the patterns may want a path below this one: an include pattern may match there, and no exclude pattern
 * matches everything there.
 */
bool cgroup_rules_want_below(const struct cgroup_rules *rules, const char *path);
/* Whether any pattern is one of names. */
bool cgroup_rules_use_names(const struct cgroup_rules *rules);
/* How many cgroups fit. */
uint64_t cgroup_rules_room(const struct cgroup_rules *rules);
/* Whether it is for want of memory that no more of them do. */
bool cgroup_rules_want_memory(const struct cgroup_rules *rules);
/* Sets the choices of the candidates, and sorts them: they are watched in this order. */
struct cgroup_selection cgroup_select(const struct cgroup_rules *rules, struct cgroup_candidate *candidates, size_t n);

#endif
