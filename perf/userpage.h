/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a counter of the own task without a system call, from the first page of its event's mapping, by the protocol
 * that <linux/perf_event.h> documents beside struct perf_event_mmap_page.
 */
#ifndef PERF_USERPAGE_H
#define PERF_USERPAGE_H

#include <linux/perf_event.h>

#include "base/util.h"

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

/* Whether the event of this page can be read in user space. */
bool userpage_offers(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader);

/*
 * -EOPNOTSUPP: the page or the CPU does not offer both counter and clock (a count without its time cannot be scaled).
 * -EACCES: the CPU refused, though the page offers it. -EAGAIN: the page changed during each of many tries.
 */
int userpage_read(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                  struct userpage_reading *ret);

#endif
