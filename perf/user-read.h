/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a hardware event of the calling thread, and reads it without a system call if the CPU and the kernel allow
 * that; otherwise by read(2).
 *
 * A thread counter is the sum of one perf event for each kind of core, so it counts on whichever CPU the thread runs.
 * The events are neither grouped with others nor pinned, so they take only counters that others leave.
 *
 * Reads in user space use the first page of the event's mapping, by the protocol that <linux/perf_event.h> documents
 * beside struct perf_event_mmap_page.
 */
#ifndef PERF_USER_READ_H
#define PERF_USER_READ_H

#include <linux/perf_event.h>

#include "base/util.h"
#include "perf/machine.h"

/*
 * The instructions that read a CPU's counters in user space. A test embeds this struct as the first member of its
 * simulated CPU.
 */
struct userpage_reader {
    /*
     * Called before the first call of `counter`. Installs a signal handler, so that the process survives if the CPU
     * refuses to read a counter.
     */
    int (*prepare)(const struct userpage_reader *reader);
    /* Reads a counter. Returns -EACCES if the CPU refused. NULL if no instruction for this is known. */
    int (*counter)(const struct userpage_reader *reader, unsigned number, uint64_t *ret);
    /* Reads the CPU's clock, in the clock's own unit. The page's times are extrapolated with it. */
    uint64_t (*clock)(const struct userpage_reader *reader);
    /*
     * For CPUs where an event must ask for reads in user space when it is opened: the file that is "1" if asking is
     * allowed, and the bits of config1 that ask. Both members are zero if there is nothing to ask for.
     */
    const char *allowed_path;
    uint64_t ask;
};

/*
 * The reader for the CPU architecture for which perfcountd is built. The member `counter` is NULL on CPUs other than
 * x86-64 and arm64.
 */
extern const struct userpage_reader userpage_reader;

struct userpage_reading {
    bool active;               /* the event is on a counter now; otherwise `enabled` is from when it left the counter */
    uint64_t enabled, running; /* nanoseconds */
    uint64_t value;
};

/*
 * Returns -EOPNOTSUPP if the page or the CPU does not offer both counter and clock, since a count without its time
 * cannot be scaled; -EACCES if the CPU refused although the page offers it; -EAGAIN if the page changed during each of
 * 64 tries.
 */
int userpage_read(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                  struct userpage_reading *ret);

enum thread_counter_event { THREAD_COUNTER_CYCLES, THREAD_COUNTER_INSTRUCTIONS };
#define N_THREAD_COUNTER_EVENTS 2

/* Returns "cycles" or "instructions". */
const char *thread_counter_event_name(enum thread_counter_event event);

struct thread_counter;

struct thread_counter_reading {
    uint64_t enabled, running; /* times in nanoseconds, for scale_add() */
    uint64_t value;
    bool user; /* read without a system call */
};

/*
 * Opens the event and enables it. The event counts the kernel's work as well, if that is permitted. On failure nothing
 * is open, and *ret_refused is the PMU that refused, or unchanged if none did. Returns errors of perf_event_open(2);
 * -ENOENT if a kind of core does not have the event, since the sum would miss the work on those cores; -ENOMEM.
 */
int thread_counter_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                        enum thread_counter_event event, struct thread_counter **ret, const struct pmu **ret_refused);
struct thread_counter *thread_counter_free(struct thread_counter *counter);

/* Maximum number of descriptors that a thread counter takes on this machine. */
size_t thread_counter_needs(const struct machine *machine);

/* Must be called in the thread that opened the counter. Returns errors of group_read(). */
int thread_counter_read(struct thread_counter *counter, struct thread_counter_reading *ret);

/* Disables the counter, or enables it again. Returns errors of ioctl(2). */
int thread_counter_pause(struct thread_counter *counter, bool paused);

/* Whether the counter includes the kernel's work for this thread. */
bool thread_counter_has_kernel(const struct thread_counter *counter);

#endif
