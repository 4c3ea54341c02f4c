/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups "/c0001" that come and go, in directories that tests make, on a machine that they play. */
#ifndef TESTS_UNIT_CGROUP_PLAY_H
#define TESTS_UNIT_CGROUP_PLAY_H

#include "collectors/cgroup/watched.h"
#include "tests/unit/rig.h"

/* A rig and the cgroups of its machine: of the test that runs. */
struct cgroup_play {
    struct rig rig;
    struct cgroup_set set;
};
extern struct cgroup_play play;

/* `settings` are further keys of collectors.cgroup, with `include` or without; two events are counted. */
void play_init_on(struct fake_sys *fake, const char *settings);
void play_init(const char *settings);
void play_done(void);
void play_dispatch(void);

const char *play_path(unsigned i);
/* Makes or removes the directory, and dispatches. */
void play_make(unsigned i);
void play_drop(unsigned i);
/* 'w' for one that is watched, 'l' for one that lingers, '-' for none. */
char play_state(unsigned i);

#endif
