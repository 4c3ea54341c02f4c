/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many descriptors counting and sampling may hold of those that the process may open: the rest is for its clients
 * and for itself.
 *
 * It stands in the seam, before whatever opens groups there, so that nothing that counts or samples can forget it: a
 * collector, a retry, a cgroup that came later, a reload, a CPU that is back, a capture. An event that finds no room
 * fails with -EMFILE, as it does where the kernel refuses it. What is closed by the seam is given back. Single events
 * (perf_event_open() of the seam) are tried and closed at once, and are not counted.
 *
 * For one thread, as all of the seam.
 */
#ifndef PERF_DESCRIPTORS_H
#define PERF_DESCRIPTORS_H

#include "base/util.h"
#include "perf/sys.h"

/* Numbers of descriptors. */
struct descriptor_limits {
    uint64_t counting; /* that count, at most */
    uint64_t sampling; /* that sample, at least, and as many more as counting leaves; 0: none samples */
    uint64_t files;    /* of programs, that may wait at the same time to be read for their symbols */
};

struct descriptors {
    struct descriptor_limits limits;
    uint64_t n_counting, n_sampling; /* that are open */
    unsigned char *uses;             /* by descriptor */
    size_t n_uses;
    /* What was in the seam before. */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    int (*close)(struct sys *sys, int fd);
};

/* Puts it into the seam, after all else that replaces open_group() there. `descriptors` must outlive what is open. */
void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits);
/* Takes it out again. NULL and one that was never attached are fine. */
void descriptors_done(struct descriptors *descriptors, struct sys *sys);

/* How many of those that count may be held by somebody who holds `own` now; UINT64_MAX where there is no limit. */
uint64_t descriptors_room(const struct sys *sys, uint64_t own);
/* How many files may wait to be read at the same time; UINT64_MAX where there is no limit. */
uint64_t descriptors_files(const struct sys *sys);

#endif
