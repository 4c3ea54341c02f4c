/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf group that was opened on a CPU for events of a configured group: its descriptors and its totals.
 *
 * The totals outlive the descriptors. While its CPU or its cgroup is away the group is closed; its totals go on when it
 * is opened again.
 */
#ifndef PERF_OPEN_GROUP_H
#define PERF_OPEN_GROUP_H

#include "perf/group.h"
#include "perf/scale.h"

/* The time between the last two readings. */
enum group_activity {
    GROUP_IDLE, /* it was not enabled: no task of the cgroup was on the CPU */
    GROUP_COUNTED,
    GROUP_MULTIPLEXED,
    GROUP_STARVED, /* it was enabled and did not run, or it cannot be read or opened: nothing is known */
    GROUP_STALE,   /* it is no longer the group that was opened: its CPU went away, maybe in a suspend */
    GROUP_AWAY,    /* its CPU is away: nothing can happen there */
};
#define N_GROUP_ACTIVITIES 6

struct opened_group {
    struct group *group; /* NULL while it is closed */
    struct scale *scale;
    uint64_t events; /* its members, as a mask of the configured group's events; in this order in the perf group */
    int cpu;
    int error; /* of the last reading, or of opening it again */
    enum group_activity activity;
    uint32_t next_in_row; /* for group-rows.c */
    bool paused;          /* disabled on purpose */
    uint8_t backoff_s;    /* how long a group in the error state is left alone once it was enabled again */
    uint64_t retry_ns;    /* when it is enabled again */
};

void opened_group_done(struct opened_group *opened);

/*
 * By one read(2); *ret has what was read. Errors of group_read() and scale_add(); the error of opening it where it is
 * closed.
 */
int opened_group_read(struct opened_group *opened, struct sys *sys, struct group_reading *ret);
/*
 * Disables the group if it is open, or enables it again. Errors of ioctl(2); a group that cannot be enabled is closed,
 * and stale.
 */
int opened_group_pause(struct opened_group *opened, bool paused);

/* Closes the descriptors; the totals are kept. */
void opened_group_close(struct opened_group *opened);
/*
 * Its CPU left, and is away still or not: closes. A group on a CPU that left is dead, or may be. A CPU that is there
 * may never have left, as after messages were lost; then the group has counted up to now.
 */
void opened_group_leave(struct opened_group *opened, struct sys *sys, bool away);
/* Opens a closed group again, whole: `attrs` are its members in order. On failure it stays closed. */
int opened_group_reopen(struct opened_group *opened, struct sys *sys, const struct attr *attrs,
                        const struct group_target *target);

/* The descriptors are those of `group` from now on, which it owns; what these had counted before says nothing. */
void opened_group_replace(struct opened_group *opened, struct group *group);

/* Why a group is starved, by the error of its last reading (0: none); static text. */
const char *opened_group_explain(int error);

#endif
