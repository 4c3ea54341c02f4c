/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long each CPU was busy: neither idle, nor waiting for I/O, nor taken by the hypervisor.
 *
 * Busy time is the elapsed time minus the idle and stolen time in /proc/stat. The sum of the other columns would be
 * less exact, since many kernels charge a whole tick to whatever runs at the tick, and measure only idle time. Idle
 * time has the resolution of proc(5), 1/100 s.
 */
#ifndef PERF_BUSY_H
#define PERF_BUSY_H

#include "base/buffer.h"
#include "perf/machine.h"

struct busy_time {
    unsigned cpu;
    bool known;        /* the last reading contained the CPU */
    uint64_t total_ns; /* busy time while online, from the first reading that contained the CPU; never decreases */
    /* Values of the last successful reading, the baseline of the next one. */
    bool compared;
    uint64_t monotonic_ns;
    double rest;  /* idle and stolen time in seconds */
    double exact; /* the total in seconds, which rounding may decrease */
};

/* All zero before the first reading. */
struct busy_times {
    struct busy_time *items; /* busy times of the CPUs, in no particular order */
    size_t n;
    struct kept_file stat; /* /proc/stat */
    struct buffer text;    /* the last text read; kept so that its memory is reused */
};

/*
 * Reads /proc/stat. After a failure no CPU is known until a reading succeeds again; that reading also covers the time
 * since the last successful one. Returns errors of idle_times_load(), or -ENOMEM.
 */
int busy_times_load(struct busy_times *times, struct sys *sys);
/* Adds the busy time up to a reading taken at `monotonic_ns`. Pure. Returns -ENOMEM on failure. */
int busy_times_add(struct busy_times *times, const struct idle_times *idle, uint64_t monotonic_ns);
/* Returns NULL if the last reading did not contain the CPU. */
const struct busy_time *busy_times_find(const struct busy_times *times, unsigned cpu);
/* Closes the file. The totals are kept, and a later reading continues them; until then no CPU is known. */
void busy_times_suspend(struct busy_times *times, struct sys *sys);
void busy_times_done(struct busy_times *times, struct sys *sys);

#endif
