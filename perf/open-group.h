/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf group over time: exact scaled totals, closed and opened again.
 *
 * Honest totals of a group that the kernel multiplexes. Pure arithmetic on readings.
 *
 * Between two readings, total += dvalue * denabled / drunning, exactly (64 bits before the point and 64 behind it). So
 * a total never falls, whatever the ratio does, and a slow counter loses nothing.
 *
 * A perf group that was opened on a CPU for events of a configured group: its descriptors and its totals.
 *
 * The totals outlive the descriptors. While its CPU or its cgroup is away the group is closed; its totals go on when it
 * is opened again.
 */
#ifndef PERF_OPEN_GROUP_H
#define PERF_OPEN_GROUP_H

#include "base/number.h"
#include "base/util.h"
#include "perf/group.h"

enum scale_state {
    SCALE_COUNTING,    /* ran all the time it was enabled; also before the first reading, and while nothing happens */
    SCALE_MULTIPLEXED, /* ran during a part of that time: the totals are estimates */
    SCALE_STARVED,     /* enabled, but did not run since the baseline: nothing is known of that time */
};

struct scale_counter {
    uint64_t baseline; /* the kernel's value at the last reading that was added */
    uint64_t raw;      /* sum of the kernel's counts, unscaled */
    struct fixed total;
};

/* Nanoseconds. */
struct scale_times {
    uint64_t enabled, running;
};

struct scale {
    enum scale_state state;
    bool ran; /* it ran at least once, so the totals mean something */
    uint8_t n;
    struct scale_times baseline; /* the reading where the next delta starts; stays while starved */
    struct scale_times last;     /* the last reading */
    struct scale_times before;   /* sum of earlier openings */
    struct scale_counter counters[];
};

/* For `n` counters, at most 255, all zero as in a group that was just opened. NULL when out of memory; free() frees it.
 */
struct scale *scale_new(size_t n);

/*
 * Adds the next reading, with times in nanoseconds. -ESTALE, and nothing changes, where time or a counter went
 * backwards: the group is not the one that was read before. A counter that passes 2^64 continues.
 */
int scale_add(struct scale *scale, uint64_t enabled, uint64_t running, const uint64_t *values);

/* The group was opened again and starts at zero: the totals continue. */
void scale_reopen(struct scale *scale);

/* Totals over all openings; running is never above enabled. */
struct scale_times scale_times(const struct scale *scale);

/* The time between the last two readings. */
enum group_activity {
    GROUP_IDLE, /* it was not enabled: no task of the cgroup was on the CPU */
    GROUP_COUNTED,
    GROUP_MULTIPLEXED,
    GROUP_STARVED, /* it was enabled and did not run, or it cannot be read or opened: nothing is known */
    GROUP_STALE,   /* it is no longer the group that was opened: its CPU went away, maybe in a suspend */
    GROUP_AWAY,    /* its CPU is away: nothing can happen there */
};

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
