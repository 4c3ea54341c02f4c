/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates a machine on which cgroups named "/c0001", "/c0002", ... are created and removed. */
#ifndef TESTS_UNIT_CGROUP_SIM_H
#define TESTS_UNIT_CGROUP_SIM_H

#include "collectors/cgroup/watched.h"
#include "tests/unit/rig.h"

/* The rig and the cgroups of the current test. */
struct cgroup_sim {
    struct rig rig;
    struct cgroup_set set;
};
extern struct cgroup_sim sim;

/*
 * Starts the cgroup collector with two events. `settings` are additional keys of collectors.cgroup, which may contain
 * `include`.
 */
void sim_init_on(struct fake_sys *fake, const char *settings);
void sim_init(const char *settings);
void sim_done(void);
void sim_dispatch(void);

const char *sim_path(unsigned i);
/* Create or remove the directory of cgroup `i`, and dispatch the events. */
void sim_make(unsigned i);
void sim_drop(unsigned i);
/* Returns 'w' for a watched cgroup, 'l' for a lingering one, '-' for an unknown one. */
char sim_state(unsigned i);

#endif
