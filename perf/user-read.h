/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hardware event of the calling thread alone, on whichever CPU it runs: the sum of one perf event for each kind of
 * core. Read in user space where the CPU and the kernel allow it, else by read(2).
 *
 * Its events are in no group with others and not pinned, so they take only counters that others leave.
 */
#ifndef PERF_USER_READ_H
#define PERF_USER_READ_H

#include "perf/machine.h"
#include "perf/userpage.h"

enum thread_counter_event { THREAD_COUNTER_CYCLES, THREAD_COUNTER_INSTRUCTIONS };
#define N_THREAD_COUNTER_EVENTS 2

/* "cycles", "instructions" */
const char *thread_counter_event_name(enum thread_counter_event event);

struct thread_counter;

struct thread_counter_reading {
    uint64_t enabled, running; /* nanoseconds; for scale_add() */
    uint64_t value;
    bool user; /* it was read without a system call */
};

/*
 * Opens and enables it. Counts the kernel's work as well, where that is permitted. On failure nothing is open, and
 * `ret_refused` is the PMU that refused: errors of perf_event_open(2), or -ENOENT where a kind of core does not have
 * the event, since the sum would miss the work there. -ENOMEM.
 */
int thread_counter_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                        enum thread_counter_event event, struct thread_counter **ret, const struct pmu **ret_refused);
struct thread_counter *thread_counter_free(struct thread_counter *counter);

/* How many descriptors one thread counter takes on this machine, at most. */
size_t thread_counter_needs(const struct machine *machine);

/* Only on the thread that opened it. Errors of group_read(). */
int thread_counter_read(struct thread_counter *counter, struct thread_counter_reading *ret);

/* Disables it, or enables it again. Errors of ioctl(2). */
int thread_counter_pause(struct thread_counter *counter, bool paused);

/* Whether it counts the kernel's work for this thread as well. */
bool thread_counter_has_kernel(const struct thread_counter *counter);

#endif
