/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector: one const table entry and its static functions. The registry runs, times and isolates it.
 */
#ifndef COLLECTORS_COLLECTOR_H
#define COLLECTORS_COLLECTOR_H

#include "collectors/failures.h"
#include "collectors/snapshot.h"
#include "config/config.h"
#include "process/child.h"

/* How the last attempt to load the configuration went; kept by the daemon. */
struct reload_outcome {
    bool successful;
    uint64_t success_realtime_ns; /* of the last attempt that was successful */
};

/* The daemon's other processes; NULL where there never is one. */
struct children {
    const struct child *opener, *symboliser, *reader;
};

struct group_collector;

/* The surroundings of a collector, all borrowed. They live until close; machine and config until the next open. */
struct collector_context {
    struct sys *sys;
    const struct machine *machine;
    const struct config *config;
    struct snapshot *snapshot;
    const struct reload_outcome *reload;
    const struct children *children;
    const struct group_collector *cpu; /* of the collector cpu, which lends its groups; NULL where it has none. For
                                          collectors behind it */
    const struct cpuset *left; /* CPUs that went offline since the last open, or may have, whether or not they are back:
                                  groups that were open there are dead */
    bool paused;               /* groups that are opened stay disabled */
    unsigned collector;        /* its bit number */

    /* For the results of a call. */
    bool *stale;    /* collect sets it where an open group is no longer the one that was opened: open again soon */
    size_t *groups; /* collect adds the groups in each state, N_ROW_STATES numbers */
    int *fd;        /* open sets it to a descriptor that is readable when dispatch has something to do */
};

struct collector {
    const char *name;
    size_t enabled;      /* the offset of its bool in struct config */
    uint64_t min_age_ns; /* it is read no more often, however fresh a reading is wanted */
    bool has_groups;     /* it has the series perfcountd_groups */
    /*
     * Opens what the configuration wants. `previous` is the state that an earlier open returned, or NULL: it is
     * consumed, and groups that did not change go on counting. Events that could not be opened are reported, and are no
     * failure. With -ENOMEM *ret may be a state, too, whose totals go on: the next open completes it.
     */
    int (*open)(const struct collector_context *context, void *previous, void **ret, struct error *error);
    /* Reads everything into the snapshot. An error is for the collector as a whole: nothing of it could be read. */
    int (*collect)(const struct collector_context *context, void *state, struct error *error);
    /*
     * Disables all groups, or enables them again, as context->paused says. Errors of ioctl(2), and then as many groups
     * as possible did.
     */
    int (*pause)(const struct collector_context *context, void *state);
    /* Adds the events that could not be opened. -ENOMEM. */
    int (*report)(const struct collector_context *context, const void *state, struct failures *failures);
    void (*close)(const struct collector_context *context, void *state);
    /*
     * Takes in what made the descriptor readable; NULL for a collector that has none. -ENOMEM where not all of it could
     * be: `open` makes up for it.
     */
    int (*dispatch)(const struct collector_context *context, void *state);
};

extern const struct collector collector_cgroup;
extern const struct collector collector_cpu;
extern const struct collector collector_pmu;
extern const struct collector collector_self;

#endif
