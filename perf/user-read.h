/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a counter of the own task without a system call, from the first page of its event's mapping, by the protocol
 * that <linux/perf_event.h> documents beside struct perf_event_mmap_page.
 *
 * A hardware event of the calling thread alone, on whichever CPU it runs: the sum of one perf event for each kind of
 * core. Read in user space where the CPU and the kernel allow it, else by read(2).
 *
 * Its events are in no group with others and not pinned, so they take only counters that others leave.
 */
#ifndef PERF_USER_READ_H
#define PERF_USER_READ_H

#include <linux/perf_event.h>

#include "base/util.h"
#include "perf/machine.h"

/*
 * The instructions by which a CPU reads its counters in user space. A test embeds it first in the struct of the CPU
 * that it plays.
 */
struct userpage_reader {
    /* Called before the first `counter`. Installs a signal handler, so that a CPU that refuses does not end the
     * process. */
    int (*prepare)(const struct userpage_reader *reader);
    /* Reads a counter. -EACCES where the CPU refused. NULL where no instruction for this is known. */
    int (*counter)(const struct userpage_reader *reader, unsigned number, uint64_t *ret);
    /* The CPU's clock, by which the page's times are extrapolated; in its own unit. */
    uint64_t (*clock)(const struct userpage_reader *reader);
    /*
     * For CPUs where an event must ask for reads in user space when it is opened: the file that is "1" where asking is
     * allowed, and the bits of config1 to ask with. NULL: nothing to ask for.
     */
    const char *allowed_path;
    uint64_t ask;
};

/* The reader of the CPU that perfcountd is built for: x86.c, arm64.c or fallback.c. */
extern const struct userpage_reader userpage_reader;

struct userpage_reading {
    bool active;               /* the event is on a counter now; else `enabled` is from when it left the counter */
    uint64_t enabled, running; /* nanoseconds */
    uint64_t value;
};

/*
 * -EOPNOTSUPP: the page or the CPU does not offer both counter and clock (a count without its time cannot be scaled).
 * -EACCES: the CPU refused, though the page offers it. -EAGAIN: the page changed during each of many tries.
 */
int userpage_read(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                  struct userpage_reading *ret);

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
