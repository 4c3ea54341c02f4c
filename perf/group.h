/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf group: events that the kernel schedules together, with one leader, its siblings, and one read(2) for all of
 * them (perf_event_open(2)).
 *
 * A group is opened disabled; group_enable() starts all members at once. Groups are reference-counted: a part of a
 * group shares the descriptors of the whole.
 *
 * A partition describes how the events of a configured group fit on a PMU: in one perf group, in several, or with some
 * events left out. A weak group leaves out events that the PMU does not have, and opens those that do not fit with the
 * others in another perf group. A strict group opens as a whole or not at all.
 *
 * Subsets of a configured group's events are masks: bit i is the group's i-th event.
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

/* The target of a group: the arguments of perf_event_open(2). */
struct group_target {
    pid_t pid; /* -1 for a whole CPU, 0 for the calling thread, or a cgroup's directory with PERF_FLAG_PID_CGROUP */
    int cpu;
    unsigned long flags; /* PERF_FLAG_FD_CLOEXEC is added */
    bool paused;         /* the group stays disabled until it is enabled */
    /*
     * The group also counts the processes and threads that `pid` starts from now on. Counting begins when `pid`
     * executes a program (enable_on_exec), so the caller opens the group paused. Only the leader's times are read.
     */
    bool inherit;
};

/* The result of one read: times in nanoseconds, values in the order in which the members were opened. */
struct group_reading {
    uint64_t enabled, running;
    size_t n;
    uint64_t values[GROUP_MEMBERS_MAX];
};

struct group;

/* Opens a group with a single event. Returns errors of perf_event_open(2), or -ENOMEM. */
int group_open(struct sys *sys, const struct attr *leader, const struct group_target *target, struct group **ret);
/*
 * Opens a group of those `attrs` that the kernel accepts; the first that opens is the leader. ret_errors[i] is 0 or
 * -errno. With `whole`, either all events open or none: the events after the first one that fails are not tried and get
 * -ECANCELED. Returns 0, -ENOMEM, or -E2BIG for more than GROUP_MEMBERS_MAX; *ret is NULL if nothing opened.
 */
int group_open_many(struct sys *sys, const struct attr *attrs, size_t n, bool whole, const struct group_target *target,
                    int *ret_errors, struct group **ret);
/* Drops a reference; dropping the last one closes all descriptors. */
struct group *group_free(struct group *group);

/*
 * A part of a group may have this member, which is not an event but a clock: its value is the running time of the
 * group, in nanoseconds.
 */
#define GROUP_CLOCK (-1)

/*
 * Makes a part of a group. `members` has the `n` members of the part, in order: indexes of members of `whole`, or
 * GROUP_CLOCK; at most GROUP_MEMBERS_MAX. The part shares the descriptors and keeps them open; enabling, disabling and
 * reading it acts on the whole group. Returns NULL when out of memory.
 */
struct group *group_subgroup(struct group *whole, const int *members, size_t n);

/* Enables or disables all members. Returns errors of ioctl(2). */
int group_enable(struct group *group);
int group_disable(struct group *group);

/*
 * Reads all members, with one read(2) unless they are inherited. Returns -ENODATA if the kernel returned nothing, as
 * for a pinned group in the error state; -EBADMSG if the reading is truncated or does not have the members that were
 * opened, for example after their CPU went offline; errors of read(2).
 */
int group_read(const struct group *group, struct group_reading *ret);

/* The number of members, including the leader. */
size_t group_size(const struct group *group);
/* The number of descriptors that the group opened itself, or 0 for a part. */
size_t group_descriptors(const struct group *group);
/* The descriptor of the n-th member, for mmap(2); the group owns it. -1 for the clock of a part. */
int group_fd(const struct group *group, size_t n);
/* The kernel's id of the n-th member, which is never reused, or 0 for the clock of a part. */
uint64_t group_id(const struct group *group, size_t n);
/*
 * Whether the group runs whenever it is enabled, because no member needs a PMU counter. For a part, the result is that
 * of the whole group.
 */
bool group_always_runs(const struct group *group);

/*
 * Number of events, including cycles, that `pmu` counts at once. No file gives this number, so a group is opened on the
 * PMU's first CPU, member by member, and closed again: the kernel refuses the first member that the PMU could not count
 * together with the others. The result includes counters that others hold (the NMI watchdog, another profiler). Returns
 * -ENODATA if the PMU has no event for this test; errors of perf_event_open(2).
 */
int group_probe_capacity(struct sys *sys, const struct pmu *pmu, unsigned *ret_counters);

struct partition_group {
    struct group *group; /* enabled unless the target is paused */
    uint64_t events;     /* mask of its events, which the perf group has in ascending order */
};

struct partition {
    struct partition_group *groups;
    size_t n_groups;
    int errors[GROUP_MEMBERS_MAX]; /* indexed by event: 0, or why the event is not counted (-errno) */
    size_t culprit;                /* the event that failed, if a strict group did not open */
    size_t fits;                   /* how many events the PMU counts at once, if the culprit opens alone */
};

/*
 * Opens `events` on the target and enables them unless it is paused; `attrs` is indexed by event. An event that does
 * not open is not a failure: ret->errors has the reason. Returns -ENOMEM, or -EINVAL if `events` is empty.
 */
int partition_open(struct sys *sys, const struct attr *attrs, uint64_t events, bool strict,
                   const struct group_target *target, struct partition *ret);
void partition_done(struct partition *partition);

#endif
