/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Honest totals of a group that the kernel multiplexes. Pure arithmetic on readings.
 *
 * Between two readings, total += dvalue * denabled / drunning, exactly (64 bits before the point and 64 behind it). So
 * a total never falls, whatever the ratio does, and a slow counter loses nothing.
 */
#ifndef PERF_SCALE_H
#define PERF_SCALE_H

#include "base/muldiv.h"
#include "base/util.h"

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

#endif
