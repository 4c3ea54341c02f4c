/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of the process's descriptors that counting and sampling may hold; the rest is for clients and for the
 * process itself.
 *
 * It stands in the seam (sys.h) before the function that opens groups, so nothing that counts or samples can bypass it:
 * a collector, a retry, a cgroup that came later, a reload, a CPU that is back, a capture. An event without room fails
 * with -EMFILE, as where the kernel refuses it. A descriptor that the seam closes is free again. Single events
 * (perf_event_open() of the seam) are closed at once, and are not counted.
 *
 * For one thread, like all of the seam.
 */
#ifndef PERF_DESCRIPTORS_H
#define PERF_DESCRIPTORS_H

#include "base/util.h"
#include "perf/sys.h"

/* Numbers of descriptors. */
struct descriptor_limits {
    uint64_t counting; /* for counting, at most */
    uint64_t sampling; /* for sampling, at least, and those that counting leaves; 0: nothing samples */
};

struct descriptors {
    struct descriptor_limits limits;
    uint64_t n_counting, n_sampling; /* open now */
    unsigned char *uses;             /* by descriptor: which of the two it is open for */
    size_t n_uses;
    /* The functions of the seam that it replaced. */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    int (*close)(struct sys *sys, int fd);
};

/* Goes into the seam, after everything else that replaces open_group() there. `descriptors` must outlive all events. */
void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits);
/* Leaves the seam. NULL is allowed, and one that was never attached. */
void descriptors_done(struct descriptors *descriptors, struct sys *sys);

/*
 * Descriptors that counting has opened otherwise count as its own from now on; the seam closes them. -EMFILE where
 * there is no room for all of them, -ENOMEM; then they are not counted.
 */
int descriptors_keep(struct sys *sys, const int *fds, size_t n);
/* How many descriptors a user that now holds `own` may hold in all for counting; UINT64_MAX where there is no limit. */
uint64_t descriptors_room(const struct sys *sys, uint64_t own);

#endif
