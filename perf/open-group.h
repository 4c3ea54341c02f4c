/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf group that can be closed and opened again while its totals are kept.
 *
 * An open_group belongs to one CPU. While that CPU is offline, or the cgroup cannot be counted, the group is closed;
 * its totals continue when it is opened again.
 *
 * A struct scale computes the totals from the readings; it makes no system calls. The kernel may multiplex a group, so
 * the count between two readings is extrapolated: total += dvalue * denabled / drunning, in 64.64 fixed point. Thus a
 * total never decreases, however the ratio changes, and the fractions of a slow counter add up.
 */
#ifndef PERF_OPEN_GROUP_H
#define PERF_OPEN_GROUP_H

#include "base/number.h"
#include "base/util.h"
#include "perf/group.h"

enum scale_state {
    SCALE_COUNTING,    /* ran whenever it was enabled; also before the first reading */
    SCALE_MULTIPLEXED, /* ran during a part of that time: the totals are estimates */
    SCALE_STARVED,     /* enabled, but has not run since the baseline: the counts of that time are unknown */
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
    bool ran; /* the group ran at least once, so the totals are meaningful */
    uint8_t n;
    struct scale_times baseline; /* the reading from which the next delta is taken; unchanged while starved */
    struct scale_times last;     /* times of the last reading */
    struct scale_times before;   /* times of all earlier openings */
    struct scale_counter counters[];
};

/*
 * Returns a scale for `n` counters, at most 255, which are all zero as in a group that was just opened. The caller
 * frees it with free(). Returns NULL when out of memory.
 */
struct scale *scale_new(size_t n);

/*
 * Adds the next reading, with times in nanoseconds. Returns -ESTALE and changes nothing if a time or a counter went
 * backwards: the group is not the one that was read before. Counters may wrap at 2^64.
 */
int scale_add(struct scale *scale, uint64_t enabled, uint64_t running, const uint64_t *values);

/* Must be called when the group was reopened and its counters start at zero. The totals continue. */
void scale_reopen(struct scale *scale);

/* Times over all openings; `running` is never above `enabled`. */
struct scale_times scale_times(const struct scale *scale);

/* What the group did between the last two readings. */
enum group_activity {
    GROUP_IDLE, /* not enabled: no task of the cgroup was on the CPU */
    GROUP_COUNTED,
    GROUP_MULTIPLEXED,
    GROUP_STARVED, /* enabled but did not run, or cannot be read or opened: nothing is known */
    GROUP_STALE,   /* no longer the group that was opened: its CPU went offline, maybe during a suspend */
    GROUP_OFFLINE, /* the group's CPU is offline, so no event can occur there */
};

struct open_group {
    struct group *group; /* NULL while the open_group is closed */
    struct scale *scale;
    uint64_t events; /* mask of the configured group's events that are members, in ascending order */
    int cpu;
    int error; /* error of the last reading or reopening: 0 or -errno */
    enum group_activity activity;
    uint32_t next_in_row; /* for collectors/group-rows.c */
    bool paused;          /* the group is disabled on purpose */
    uint8_t backoff_s;    /* seconds for which a group in the error state is left alone; 0 in other states */
    uint64_t retry_ns;    /* CLOCK_MONOTONIC time at which the group is enabled again */
};

void open_group_done(struct open_group *open_group);

/*
 * Reads the group with one read(2) and adds the reading to its totals; *ret is what was read. Returns errors of
 * group_read() and scale_add(); if the group is closed, the error that keeps it closed. A pinned group in the error
 * state (-ENODATA) is enabled again from time to time.
 */
int open_group_read(struct open_group *open_group, struct sys *sys, struct group_reading *ret);
/*
 * Disables the group if it is open, or enables it again. Returns errors of ioctl(2); a group that cannot be enabled is
 * closed, and its activity is GROUP_STALE.
 */
int open_group_pause(struct open_group *open_group, bool paused);

/* Closes the descriptors; the totals are kept. */
void open_group_close(struct open_group *open_group);
/*
 * Closes the group because its CPU went offline; `offline` says whether the CPU is still offline. If it is online
 * again, it may never have been offline, since messages may have been lost. In that case the group has counted until
 * now, and is read one last time. Afterwards the activity is GROUP_OFFLINE.
 */
void open_group_leave(struct open_group *open_group, struct sys *sys, bool offline);
/*
 * Opens a closed group again, with all its members; `attrs` are those of its members, in order. Returns the error if it
 * does not open; the group then stays closed.
 */
int open_group_reopen(struct open_group *open_group, struct sys *sys, const struct attr *attrs,
                      const struct group_target *target);

/*
 * Closes the descriptors, if any, and takes ownership of `group` in their place. If `group` has counted before, the
 * totals are meaningless from then on.
 */
void open_group_replace(struct open_group *open_group, struct group *group);

/* Why a group is starved, depending on the error of its last reading (0 if it was read). Static text. */
const char *open_group_explain(int error);

#endif
