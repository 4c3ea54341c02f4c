/* SPDX-License-Identifier: Apache-2.0 */
/* How long each CPU has had nothing to run, as /proc/stat says. */
#ifndef PERF_IDLE_TIMES_H
#define PERF_IDLE_TIMES_H

#include "perf/sys.h"

struct idle_time {
    unsigned cpu;
    double seconds; /* since the system started, waiting for I/O included (proc(5)): now and then it falls a little */
};

/* Of the CPUs that are online, in their order. */
struct idle_times {
    struct idle_time *items;
    size_t n;
};

/* -errno where /proc/stat cannot be read; -EBADMSG where it has no CPU. Needs no privilege. */
int idle_times_load(struct sys *sys, struct idle_times *ret);
/* The same of a text, in which a second has `ticks`. */
int idle_times_parse(const char *text, long ticks, struct idle_times *ret);
void idle_times_done(struct idle_times *times);

#endif
