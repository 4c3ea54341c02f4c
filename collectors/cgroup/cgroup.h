/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that the collector `cgroup` knows, for /api/v1/cgroups and `plan`. */
#ifndef COLLECTORS_CGROUP_CGROUP_H
#define COLLECTORS_CGROUP_CGROUP_H

#include "cgroups/names.h"
#include "collectors/collector.h"

enum cgroup_state { CGROUP_STATE_WATCHED, CGROUP_STATE_DROPPED, CGROUP_STATE_LINGERING };
#define N_CGROUP_STATES 3

/* "watched", "dropped", "lingering" */
const char *cgroup_state_name(enum cgroup_state state);

struct cgroup_view {
    const char *label;
    enum cgroup_state state;
    uint64_t inode;
    const struct names *names; /* of a cgroup that is dropped, those of the path */
    size_t descriptors;
};

struct cgroup_summary {
    enum config_engine engine; /* that counts */
    const char *engine_reason; /* NULL, or why `auto` did not take bpf: a sentence without its full stop */
    uint64_t max_cgroups;      /* as configured, or as the engine has it */
    const char *hierarchy;     /* its directory */
    bool v1;
    size_t n_wanted;           /* cgroups that the patterns want */
    uint64_t descriptors_each; /* that a cgroup needs here at most */
    uint64_t limit;            /* how many can be watched, by max_cgroups and by descriptors */
    const char *limitation;    /* NULL, or why changes are noticed late */
    size_t descriptors_shared; /* that the engine has open for all cgroups together */
    uint64_t unknown_ns;       /* time of CPUs that belongs to no known cgroup */
};

/* `state` is of the collector `cgroup`. Calls `visit` for each cgroup. */
void cgroup_visit(const void *state, void (*visit)(void *userdata, const struct cgroup_view *view), void *userdata);
void cgroup_summarize(const void *state, struct cgroup_summary *ret);

#endif
