/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the cgroups to watch: those that match an include pattern and no exclude pattern. Cgroups are chosen in order
 * of depth, then of path, up to the configured maximum and to the number that the available descriptors and memory
 * allow. This module makes no system calls.
 */
#ifndef CGROUPS_SELECTION_H
#define CGROUPS_SELECTION_H

#include "cgroups/names.h"

/*
 * The patterns are borrowed. A pattern matches paths (base/glob.h) or names (cgroups/names.h). A name may become known
 * at any time, so a name pattern in `include` may match any cgroup, except below a path that an exclude pattern
 * matches.
 */
struct cgroup_rules {
    char *const *include, *const *exclude;
    size_t n_include, n_exclude;
    uint64_t max_cgroups;
    uint64_t descriptor_budget;      /* descriptors for all cgroups together; UINT64_MAX: unlimited */
    uint64_t descriptors_per_cgroup; /* 0: cgroups need no descriptors */
    uint64_t memory_budget;          /* bytes for all cgroups together; UINT64_MAX: unlimited */
    uint64_t memory_per_cgroup;      /* bytes; 0: memory does not limit the number */
};

enum cgroup_choice { CGROUP_UNWANTED, CGROUP_WATCHED, CGROUP_DROPPED };

struct cgroup_candidate {
    const char *path;
    unsigned depth;
    bool wanted;    /* the patterns select this cgroup */
    void *userdata; /* lets the caller find its object after cgroup_select() has sorted the candidates */
    enum cgroup_choice choice;
};

struct cgroup_selection {
    size_t watched, dropped; /* numbers of cgroups; their sum is the number that the patterns select */
};

/*
 * Whether the patterns select a cgroup, regardless of limits. If no names are known, `names` is NULL and only path
 * patterns can match. A name in an include pattern selects the cgroup of the unit or container with that name, but not
 * the cgroups inside it. A name in an exclude pattern excludes that cgroup and those inside it.
 */
bool cgroup_rules_want(const struct cgroup_rules *rules, const char *path, const struct names *names);
/* Whether the patterns select the cgroup by its path, or might select it by a name. */
bool cgroup_rules_may_want(const struct cgroup_rules *rules, const char *path);
/*
 * Whether the patterns may select a path below this one: an include pattern may match there, and no exclude pattern
 * covers everything there.
 */
bool cgroup_rules_want_below(const struct cgroup_rules *rules, const char *path);
/* Whether the rules contain a name pattern. */
bool cgroup_rules_use_names(const struct cgroup_rules *rules);
/* Number of cgroups that can be watched. */
uint64_t cgroup_rules_room(const struct cgroup_rules *rules);
/* Whether memory limits the number of cgroups that can be watched. */
bool cgroup_rules_want_memory(const struct cgroup_rules *rules);
/* Sets the choice of each candidate, and sorts the candidates in the order in which they are watched. */
struct cgroup_selection cgroup_select(const struct cgroup_rules *rules, struct cgroup_candidate *candidates, size_t n);

#endif
