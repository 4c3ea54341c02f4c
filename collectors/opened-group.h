/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf group that a configured group became on a CPU: its descriptors and its totals. Rows are made of parts
 * (sum.h).
 *
 * A part outlives its descriptors: while its CPU is away, or its cgroup, it is closed; opened anew, its totals go on.
 */
#ifndef COLLECTORS_OPENED_GROUP_H
#define COLLECTORS_OPENED_GROUP_H

#include "perf/group.h"
#include "perf/scale.h"

/* What the last reading said of the time since the one before. */
enum part_news {
    PART_IDLE, /* it was not enabled: a cgroup's task was not on the CPU */
    PART_COUNTED,
    PART_MULTIPLEXED,
    PART_STARVED, /* it was enabled and did not run, or it cannot be read or opened: nothing is known */
    PART_STALE,   /* what is open is not what was opened: its CPU went away, maybe in a suspend */
    PART_AWAY,    /* its CPU is away: nothing can happen there */
};
#define N_PART_NEWS 6

struct part {
    struct group *group; /* NULL while it is closed */
    struct scale *scale;
    uint64_t members; /* which events of the configured group: a bit each, in the order of the perf group */
    int cpu;
    int error; /* of the last reading, or of opening it anew */
    enum part_news news;
    uint32_t next;     /* the next part of the same row, for sum.c */
    bool paused;       /* disabled on purpose */
    uint8_t backoff_s; /* how long a group in the error state is left alone once it was enabled again */
    uint64_t retry_ns; /* when it is enabled again */
};

void part_done(struct part *part);

/* Reads by one read(2). Errors of group_read() and scale_add(); that of opening it, where it is closed. */
int part_read(struct part *part, struct sys *sys);

/* Disables what is open, or enables it again. Errors of ioctl(2). */
int part_pause(struct part *part, bool paused);

/* Closes the descriptors; the totals are kept. */
void part_close(struct part *part);
/* Its CPU is away: closes. */
void part_park(struct part *part);
/* Opens a closed part anew, whole: `attrs` are its members in order. On failure it stays closed. */
int part_reopen(struct part *part, struct sys *sys, const struct attr *attrs, const struct group_target *target);

#endif
