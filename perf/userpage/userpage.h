/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter of the own task, read without a system call: the first page of a perf event's mapping, by the protocol that
 * <linux/perf_event.h> documents beside struct perf_event_mmap_page.
 */
#ifndef PERF_USERPAGE_USERPAGE_H
#define PERF_USERPAGE_USERPAGE_H

#include <linux/perf_event.h>

#include "base/util.h"

/*
 * The instructions of a CPU that reads its counters in user space. Embedded first in a larger struct by who plays one.
 */
struct userpage_reader {
    /* Called before the first `counter`. Installs a signal handler, so that the CPU's refusal is not the end. */
    int (*prepare)(const struct userpage_reader *reader);
    /* NULL: this CPU has no such instruction, or it is not known here. -EACCES where it was refused. */
    int (*counter)(const struct userpage_reader *reader, unsigned number, uint64_t *ret);
    uint64_t (*clock)(const struct userpage_reader *reader);
    /*
     * Where an event must ask for it when it is opened: the file that is "1" where asking is allowed, and the config1
     * to ask with. NULL: nothing to ask.
     */
    const char *allowed_path;
    uint64_t ask;
};

/* Of the CPU this is built for: x86.c, arm64.c or fallback.c. */
extern const struct userpage_reader userpage_reader;

struct userpage_reading {
    bool active;               /* it is on a counter now; else `enabled` is as of when it left it, the rest as it is */
    uint64_t enabled, running; /* nanoseconds */
    uint64_t value;
};

/* Whether the event of this page was opened so that it can be read so. */
bool userpage_offers(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader);

/*
 * -EOPNOTSUPP: the page, or the CPU, does not offer it (counter and clock both, since a count without its time cannot
 * be scaled). -EACCES: the CPU refused, though the page offers it. -EAGAIN: the page changed at each of many tries.
 */
int userpage_read(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                  struct userpage_reading *ret);

#endif
