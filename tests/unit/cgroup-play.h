/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups "/c0001" that come and go, in directories that tests make, on a machine that they play. */
#ifndef TESTS_UNIT_CGROUP_PLAY_H
#define TESTS_UNIT_CGROUP_PLAY_H

#include "collectors/cgroup/set.h"
#include "tests/unit/rig.h"

/* A rig and the cgroups of its machine. */
struct cgroup_play {
    struct rig rig;
    struct cgroup_set set;
};

/* `settings` are further keys of collectors.cgroup, with `include` or without; two events are counted. */
void cgroup_play_init_on(struct cgroup_play *play, struct fake_sys *fake, const char *settings);
void cgroup_play_init(struct cgroup_play *play, const char *settings);
void cgroup_play_done(struct cgroup_play *play);
void cgroup_play_dispatch(struct cgroup_play *play);

const char *cgroup_play_path(const struct cgroup_play *play, unsigned i, char path[128]);
/* Makes or removes the directory, and dispatches. */
void cgroup_play_make(struct cgroup_play *play, unsigned i);
void cgroup_play_drop(struct cgroup_play *play, unsigned i);
/* 'w' for one that is watched, 'l' for one that lingers, '-' for none. */
char cgroup_play_state(const struct cgroup_play *play, unsigned i);

#endif
