/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hardware event counted on the calling thread alone, wherever it runs: one perf event on each kind of core, added
 * up. Read in user space where the CPU and the kernel allow it, else by read(2).
 *
 * It is no part of any other group and not pinned, so that it takes only counters that are left over.
 */
#ifndef PERF_USERPAGE_SELFCOUNT_H
#define PERF_USERPAGE_SELFCOUNT_H

#include "perf/machine.h"
#include "perf/userpage/userpage.h"

/* What can be counted. */
enum selfcount_event { SELFCOUNT_CYCLES, SELFCOUNT_INSTRUCTIONS };
#define N_SELFCOUNT_EVENTS 2

/* "cycles", "instructions" */
const char *selfcount_event_name(enum selfcount_event event);

struct selfcount;

struct selfcount_reading {
    uint64_t enabled, running; /* nanoseconds; for scale_add() */
    uint64_t value;
    bool user; /* without a system call */
};

/*
 * Opens and starts it. Counts the kernel's part as well, where that is permitted. On failure (errors of
 * perf_event_open(2), or -ENOENT where a kind of core does not know the event: then a total would miss what ran there)
 * nothing is open, and `ret_refused` is the PMU that refused.
 */
int selfcount_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                   enum selfcount_event event, struct selfcount **ret, const struct pmu **ret_refused);
struct selfcount *selfcount_free(struct selfcount *selfcount);

/* How many descriptors one of them takes here at most. */
size_t selfcount_needs(const struct machine *machine);

/* On the thread that opened it. Errors of group_read(). */
int selfcount_read(struct selfcount *selfcount, struct selfcount_reading *ret);

/* Disables it, or enables it again. Errors of ioctl(2). */
int selfcount_pause(struct selfcount *selfcount, bool paused);

/* Whether what runs in the kernel for this thread is counted too. */
bool selfcount_has_kernel(const struct selfcount *selfcount);

#endif
