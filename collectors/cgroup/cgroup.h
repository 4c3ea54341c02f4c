/* SPDX-License-Identifier: Apache-2.0 */
/* The `cgroup` collector's state, for /api/v1/cgroups and `perfcountd plan`. */
#ifndef COLLECTORS_CGROUP_CGROUP_H
#define COLLECTORS_CGROUP_CGROUP_H

#include "cgroups/names.h"
#include "collectors/collector.h"

enum cgroup_state { CGROUP_STATE_WATCHED, CGROUP_STATE_DROPPED, CGROUP_STATE_LINGERING };
#define N_CGROUP_STATES 3

/* Returns "watched", "dropped" or "lingering". */
const char *cgroup_state_name(enum cgroup_state state);

struct cgroup_view {
    const char *label;
    enum cgroup_state state;
    uint64_t inode;
    const struct names *names; /* names of what runs in the cgroup; for a dropped cgroup only the names in its path */
    size_t descriptors;
};

struct cgroup_summary {
    enum config_engine engine; /* the engine in use */
    const char *engine_reason; /* why `auto` did not choose bpf, as a sentence without a full stop; or NULL */
    uint64_t max_cgroups;      /* limit of watched cgroups; for `auto`, the limit that the engine picked */
    const char *hierarchy;     /* root directory of the cgroup hierarchy */
    bool v1;
    size_t n_wanted;           /* number of cgroups that match the patterns */
    uint64_t descriptors_each; /* maximum number of descriptors per cgroup */
    uint64_t limit;            /* number of cgroups that can be watched, given max_cgroups, descriptors and memory */
    const char *limitation;    /* why changes in the hierarchy may be noticed late, or NULL */
    size_t descriptors_shared; /* number of descriptors that all cgroups share */
    uint64_t unknown_ns;       /* CPU time that was charged to no known cgroup */
};

/*
 * All functions below take the state of the `cgroup` collector (registry_state()). cgroup_visit() calls `visit` for
 * each cgroup; the view is only valid during that call.
 */
void cgroup_visit(const void *state, void (*visit)(void *userdata, const struct cgroup_view *view), void *userdata);
/*
 * Finds the names of any cgroup: the names in its path and, for a cgroup in a counted container, the known names of
 * that container. `names` must be empty. `state` is NULL if the collector is not open. Returns -ENOMEM.
 */
int cgroup_find_names(const void *state, const char *path, struct names *names);
void cgroup_summarize(const void *state, struct cgroup_summary *ret);

#endif
