/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot's counts are those of the cgroup that has the slot, and of all cgroups above it that are watched. So a cgroup
 * has what is inside of it, also once that is gone.
 */
#ifndef COLLECTORS_CGROUP_CREDITING_H
#define COLLECTORS_CGROUP_CREDITING_H

#include "collectors/cgroup/bpf-slots.h"
#include "collectors/cgroup/counts.h"

struct tallied_counts;

/* The time of CPUs, in nanoseconds, that no cgroup had, since CLOCK_REALTIME was `created_ns`. */
struct unknown_time {
    uint64_t ns, created_ns;
};

/* All zero at first. */
struct crediting {
    struct slots slots;
    struct tallied_counts **chain; /* those that are credited together */
    size_t chain_room;
    uint32_t events, groups; /* of the words, as in struct tally_shape */
    struct unknown_time unknown;
};

void crediting_done(struct crediting *crediting);
/* Before the cgroup of this path has a slot: it may be deeper than all others. -ENOMEM. */
int crediting_make_room(struct crediting *crediting, const char *path);
/* A tally_credit: `userdata` is the crediting. */
void crediting_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta);

/* The nearest cgroup above that has a slot; NULL. */
struct cgroup_counts *crediting_find_above(const struct cgroup_counts *counts);

#endif
