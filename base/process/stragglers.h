/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that look at files of other users. Such a file may be on a file system that does not answer (FUSE, NFS), and
 * then the kernel holds whoever opens, reads, stats or closes it, beyond SIGKILL. So no process with other work does
 * any of that: it forks a child for each file, and waits for it for a moment. A child that takes longer becomes a
 * straggler: it is killed at its deadline, and reaped when it ends, which may be never.
 *
 * While a user has a straggler, no child is started for another file of that user; while there are STRAGGLERS_MAX of
 * them, for none of any user but root. How long all children of a user together may be waited for is limited as well,
 * so that a file system that answers late holds nobody up either.
 */
#ifndef BASE_PROCESS_STRAGGLERS_H
#define BASE_PROCESS_STRAGGLERS_H

#include <sys/types.h>

#include "base/util.h"

#define STRAGGLERS_MAX 4
/* From its start on, a child that has not ended by then is killed. */
#define STRAGGLER_DEADLINE_NS (2 * NSEC_PER_SEC)

struct straggler {
    pid_t pid;
    int pidfd; /* -1 where it cannot be had */
    uint32_t user;
    bool killed;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    uint64_t ticket;      /* the caller's */
};

struct waiting_time {
    uint32_t user;
    uint64_t used_ns, at_ns; /* how much was used at that time */
};

/* Zeroed, there are none. */
struct stragglers {
    size_t n;
    struct straggler items[STRAGGLERS_MAX + 1]; /* one may be root's */
    struct waiting_time times[16];              /* of the users that came last */
    uint64_t waited_max_ns;                     /* of a user at once; 0: a quarter of a second */
};

/* For how long a child may be waited for that looks at a file of this user. 0: none may be started now. */
uint64_t stragglers_patience(struct stragglers *stragglers, uint32_t user, uint64_t now);
/* A child of that user's was waited for, for so long. */
void stragglers_count_wait(struct stragglers *stragglers, uint32_t user, uint64_t now, uint64_t waited_ns);

/* A pidfd of the child; -1. */
int straggler_open(pid_t pid);
/* Reaps the child if it has ended, without waiting; whether it has. *ret_status is that of wait4(2). */
bool straggler_reap(pid_t pid, int *ret_status);
/* The child has not ended. Its pidfd is taken over. There is room where stragglers_patience() was not 0. */
void stragglers_add(struct stragglers *stragglers, const struct straggler *straggler);
/*
 * Waits for the child for `patience`, and counts that. Its exit status is -errno, which is returned, or 0;
 * -EINPROGRESS where it has not ended, and is a straggler now; -EIO where a signal has ended it.
 */
int straggler_await(struct straggler *child, struct stragglers *stragglers, uint64_t patience);
/*
 * Kills those whose deadline has come, and reaps those that have ended; never waits. `over`, which may be NULL, is
 * called once for each: with the status of wait4(2), or with -1 where it is killed and may never end.
 */
void stragglers_tend(struct stragglers *stragglers, uint64_t now,
                     void (*over)(void *userdata, const struct straggler *straggler, int status), void *userdata);
/* When the next is to be killed; UINT64_MAX: none. */
uint64_t stragglers_due(const struct stragglers *stragglers);

/* The clock of all this. */
uint64_t stragglers_now(void);
/*
 * Waits for the child or until `until_ns`; `fd` (-1: none) is another descriptor that ends the wait once it is
 * readable. It may return early.
 */
void straggler_wait(int pidfd, int fd, uint64_t until_ns);

#endif
