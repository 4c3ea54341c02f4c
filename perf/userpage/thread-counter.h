/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hardware event counted on the calling thread alone, wherever it runs: one perf event on each kind of core, added
 * up. Read in user space where the CPU and the kernel allow it, else by read(2).
 *
 * It is no part of any other group and not pinned, so that it takes only counters that are left over.
 */
#ifndef PERF_USERPAGE_THREAD_COUNTER_H
#define PERF_USERPAGE_THREAD_COUNTER_H

#include "perf/machine.h"
#include "perf/userpage/userpage.h"

/* What can be counted. */
enum thread_counter_event { THREAD_COUNTER_CYCLES, THREAD_COUNTER_INSTRUCTIONS };
#define N_THREAD_COUNTER_EVENTS 2

/* "cycles", "instructions" */
const char *thread_counter_event_name(enum thread_counter_event event);

struct thread_counter;

struct thread_counter_reading {
    uint64_t enabled, running; /* nanoseconds; for scale_add() */
    uint64_t value;
    bool user; /* without a system call */
};

/*
 * Opens and starts it. Counts the kernel's part as well, where that is permitted. On failure (errors of
 * perf_event_open(2), or -ENOENT where a kind of core does not know the event: then a total would miss what ran there)
 * nothing is open, and `ret_refused` is the PMU that refused.
 */
int thread_counter_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                        enum thread_counter_event event, struct thread_counter **ret, const struct pmu **ret_refused);
struct thread_counter *thread_counter_free(struct thread_counter *selfcount);

/* How many descriptors one of them takes here at most. */
size_t thread_counter_needs(const struct machine *machine);

/* On the thread that opened it. Errors of group_read(). */
int thread_counter_read(struct thread_counter *selfcount, struct thread_counter_reading *ret);

/* Disables it, or enables it again. Errors of ioctl(2). */
int thread_counter_pause(struct thread_counter *selfcount, bool paused);

/* Whether what runs in the kernel for this thread is counted too. */
bool thread_counter_has_kernel(const struct thread_counter *selfcount);

#endif
