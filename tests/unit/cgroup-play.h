/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates a machine on which cgroups named "/c0001", "/c0002", ... are created and removed. */
#ifndef TESTS_UNIT_CGROUP_PLAY_H
#define TESTS_UNIT_CGROUP_PLAY_H

#include "collectors/cgroup/watched.h"
#include "tests/unit/rig.h"

/* The rig and the cgroups of the current test. */
struct cgroup_play {
    struct rig rig;
    struct cgroup_set set;
};
extern struct cgroup_play play;

/*
 * Starts the collector cgroup with two events. `settings` are additional keys of collectors.cgroup, which may contain
 * `include`.
 */
void play_init_on(struct fake_sys *fake, const char *settings);
void play_init(const char *settings);
void play_done(void);
void play_dispatch(void);

const char *play_path(unsigned i);
/* Create or remove the directory of cgroup `i`, and dispatch the events. */
void play_make(unsigned i);
void play_drop(unsigned i);
/* Returns 'w' for a watched cgroup, 'l' for a lingering one, '-' for an unknown one. */
char play_state(unsigned i);

#endif
