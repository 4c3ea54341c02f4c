/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf group: opened, split where it does not fit the PMU, shared, read by one read(2).
 *
 * Subsets of a configured group's events: bit i of a mask is the group's i-th event.
 *
 * A group of events that the kernel schedules together (perf_event_open(2)): one leader, its siblings, one read(2) for
 * all.
 *
 * Opened disabled; group_enable() starts all members at once.
 *
 * How the events of a configured group fit a PMU: in one perf group, in several, or without some of the events.
 *
 * A weak group leaves out events that the PMU does not have, and opens those that do not fit beside the others in a
 * further perf group. A strict group opens whole or not at all.
 */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "perf/attr.h"

static inline uint64_t event_bit(size_t event)
{
    return UINT64_C(1) << event;
}

static inline size_t event_count(uint64_t mask)
{
    return (size_t)__builtin_popcountll(mask);
}

#define EVENTS_FOREACH(event, mask)                                                                                    \
    for (uint64_t event##_rest = (mask), event; event##_rest && (event = (uint64_t)__builtin_ctzll(event##_rest), 1);  \
         event##_rest &= event##_rest - 1)

#define GROUP_MEMBERS_MAX 64

/* Where a group counts: the arguments of perf_event_open(2). */
struct group_target {
    pid_t pid; /* -1, or a cgroup's directory descriptor with PERF_FLAG_PID_CGROUP */
    int cpu;
    unsigned long flags; /* PERF_FLAG_FD_CLOEXEC is added */
    bool paused;         /* the group stays disabled until somebody enables it */
};

/* The result of one read. Times in nanoseconds; values in the order in which the members were opened. */
struct group_reading {
    uint64_t enabled, running;
    size_t n;
    uint64_t values[GROUP_MEMBERS_MAX];
};

struct group;

/* A group of its leader alone. Errors of perf_event_open(2). */
int group_open(struct sys *sys, const struct attr *leader, const struct group_target *target, struct group **ret);
/*
 * A group of those `attrs` that open; the first of them leads. ret_errors[i]: 0, or -errno. With `whole` all of them
 * open or none, and nothing is tried after the first that fails: those behind it have -ECANCELED.
 * -ENOMEM, -E2BIG above GROUP_MEMBERS_MAX, else 0; *ret is NULL where nothing opened.
 */
int group_open_many(struct sys *sys, const struct attr *attrs, size_t n, bool whole, const struct group_target *target,
                    int *ret_errors, struct group **ret);
/* Removes an owner; the last one closes all descriptors. */
struct group *group_free(struct group *group);

/* A member of a part that is no member of the group: a clock, which counts what is the group's running time. */
#define GROUP_CLOCK (-1)

/*
 * A part of a group: these of its members, in this order, at most GROUP_MEMBERS_MAX. It shares the descriptors and
 * keeps them open; enabling, disabling and reading it is the same as of the whole. NULL when out of memory.
 */
struct group *group_part(struct group *whole, const int *members, size_t n);

/* Enables or disables all members. Errors of ioctl(2). */
int group_enable(struct group *group);
int group_disable(struct group *group);

/*
 * Reads all members by one read(2). -ENODATA: the kernel returned nothing, as for a pinned group in the error state.
 * -EBADMSG: the reading is short, or has other members than were opened (their CPU went away). Errors of read(2).
 */
int group_read(const struct group *group, struct group_reading *ret);

/* The number of members, the leader among them. */
size_t group_size(const struct group *group);
/* How many descriptors it opened: a part none. */
size_t group_descriptors(const struct group *group);
/* The descriptor of the n-th member, for mmap(2); the group owns it. -1 for a clock of a part. */
int group_fd(const struct group *group, size_t n);
/* The kernel's number of the n-th member, which is never used twice; 0 for a clock of a part. */
uint64_t group_id(const struct group *group, size_t n);
/* Whether it runs all the time that it is enabled, since its members need no counters of a PMU: so do those of the
 * whole. */
bool group_always_runs(const struct group *group);

/*
 * How many events `pmu` counts at once if cycles are one of them. No file says this, so a group is opened on its first
 * CPU, member by member, and closed: the kernel refuses the first member with which the group could never run. Counters
 * that others hold (the NMI watchdog, another profiler) are included. -ENODATA where the PMU has no event to try this
 * with; errors of perf_event_open(2).
 */
int group_probe_capacity(struct sys *sys, const struct pmu *pmu, unsigned *ret_counters);

struct partition_group {
    struct group *group; /* enabled, unless the target is paused */
    uint64_t events;     /* its members, in this order */
};

struct partition {
    struct partition_group *groups;
    size_t n_groups;
    int errors[GROUP_MEMBERS_MAX]; /* by event: 0, or why it is not counted (-errno) */
    size_t culprit;                /* where a strict group did not open: the event that failed */
    size_t fits;                   /* and where that event opens by itself: how many events the PMU takes at once */
};

/*
 * Opens `events` on the target and enables them; `attrs` are by event. An event that does not open is no failure: its
 * reason is in ret->errors. -ENOMEM; -EINVAL for no events.
 */
int partition_open(struct sys *sys, const struct attr *attrs, uint64_t events, bool strict,
                   const struct group_target *target, struct partition *ret);
void partition_done(struct partition *partition);

#endif
