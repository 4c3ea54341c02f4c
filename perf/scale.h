/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Honest totals of a group that the kernel multiplexes. Pure arithmetic on readings.
 *
 * Between two readings, total += dvalue * denabled / drunning, exactly (64 bits before the point and 64 behind), so
 * that a total never falls, whatever the ratio does, and a slow counter loses nothing.
 */
#ifndef PERF_SCALE_H
#define PERF_SCALE_H

#include "base/muldiv.h"
#include "base/util.h"

enum scale_state {
    SCALE_COUNTING,    /* ran all the time it was enabled; also before the first reading, and while nothing happens */
    SCALE_MULTIPLEXED, /* ran a part of it: the totals are estimates */
    SCALE_STARVED,     /* enabled, but did not run since the baseline: nothing is known of that time */
};

struct scale_counter {
    uint64_t baseline; /* as the kernel gave it */
    uint64_t raw;      /* sum of what the kernel counted */
    struct fixed total;
};

/* Nanoseconds. */
struct scale_times {
    uint64_t enabled, running;
};

struct scale {
    enum scale_state state;
    bool ran; /* it ran at least once: totals mean something */
    uint8_t n;
    struct scale_times baseline; /* the reading that the next delta starts from; stays while starved */
    struct scale_times last;     /* the last reading */
    struct scale_times before;   /* sum of earlier openings */
    struct scale_counter counters[];
};

/* Of at most 255 counters, all zero: what a group is when it is opened. NULL when out of memory; freed by free(). */
struct scale *scale_new(size_t n);

/*
 * Takes the next reading. -ESTALE, and nothing changes, where time or a counter went backwards: the group is not the
 * one that was read before. A counter that passes 2^64 goes on.
 */
int scale_add(struct scale *scale, uint64_t enabled, uint64_t running, const uint64_t *values);

/* The group was opened anew and starts at zero again: the totals go on. */
void scale_reopen(struct scale *scale);

/* Totals over all openings; running is never above enabled. */
struct scale_times scale_times(const struct scale *scale);

#endif
