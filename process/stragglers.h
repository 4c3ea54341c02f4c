/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that handle files of other users. Such a file may be on a file system that never answers (FUSE, NFS). The
 * kernel then blocks every process that opens, reads, stats or closes it, and SIGKILL does not end the process. So a
 * process that has other work does none of that itself: it forks a child for each file and waits briefly for it. A
 * child that takes longer becomes a straggler: it is killed at its deadline and reaped when it ends, which may be
 * never.
 *
 * While a user has a straggler, no child is started for that user's files. While there are STRAGGLERS_MAX stragglers,
 * children are started for root's files only. The total time that a user's children are waited for is limited too, so
 * that a slow file system does not delay other users.
 */
#ifndef PROCESS_STRAGGLERS_H
#define PROCESS_STRAGGLERS_H

#include <sys/types.h>

#include "base/util.h"

#define STRAGGLERS_MAX 4
/* A child that has not ended this long after its start is killed. */
#define STRAGGLER_DEADLINE_NS (2 * NSEC_PER_SEC)

struct straggler {
    pid_t pid;
    int pidfd; /* -1: pidfd_open(2) failed */
    uint32_t user;
    bool killed;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    uint64_t ticket;      /* set by the caller, for its callback in stragglers_tend() */
};

struct waiting_time {
    uint32_t user;
    uint64_t used_ns, at_ns; /* how much had been used at the time at_ns */
};

/* When it is zeroed, there are no stragglers. */
struct stragglers {
    size_t n;
    struct straggler items[STRAGGLERS_MAX + 1]; /* at most one is root's */
    struct waiting_time times[16];              /* of the most recent users */
    uint64_t waited_max_ns;                     /* for a user without a pause; 0: a quarter of a second */
};

/* How long the caller may wait for a child that handles a file of this user; 0: it must not start one now. */
uint64_t stragglers_patience(struct stragglers *stragglers, uint32_t user, uint64_t now);
/* Records how long the caller has waited for a child of this user. */
void stragglers_count_wait(struct stragglers *stragglers, uint32_t user, uint64_t now, uint64_t waited_ns);

/* Returns a pidfd of the child, or -1. */
int straggler_open(pid_t pid);
/* Reaps the child if it has ended, and returns whether it has; never waits. *ret_status is that of wait4(2). */
bool straggler_reap(pid_t pid, int *ret_status);
/* Adds a child that has not ended, and takes over its pidfd. There is room if stragglers_patience() was not 0. */
void stragglers_add(struct stragglers *stragglers, const struct straggler *straggler);
/*
 * Forks a child for a file of child->user, and tends the stragglers first. Returns 0 in the child, and more in the
 * parent, where child->pid and child->pidfd are set and *ret_patience is how long straggler_await() may wait. Returns
 * -EHOSTDOWN if no child may be started for this user now, or -errno of fork(2).
 */
int straggler_fork(struct straggler *child, struct stragglers *stragglers, uint64_t *ret_patience);
/*
 * Waits for the child for at most `patience`, and records how long it waited. The child exits with 0 or an errno:
 * returns 0 or that errno, negative. Returns -EIO if a signal ended the child, and -EINPROGRESS if the child has not
 * ended and is a straggler from now on.
 */
int straggler_await(struct straggler *child, struct stragglers *stragglers, uint64_t patience);
/*
 * Kills the stragglers that have reached their deadline, and reaps those that have ended; never waits. `over`, unless
 * it is NULL, is called once for each: with the status of wait4(2), or with -1 if it was killed and may never end.
 */
void stragglers_tend(struct stragglers *stragglers, uint64_t now,
                     void (*over)(void *userdata, const struct straggler *straggler, int status), void *userdata);
/* When the next straggler is to be killed; UINT64_MAX: there is none. */
uint64_t stragglers_due(const struct stragglers *stragglers);

/* CLOCK_MONOTONIC, as all functions here use it. */
uint64_t stragglers_now(void);
/*
 * Waits until the child has ended, `fd` (-1: none) is readable, or the time is `until_ns`. It may return earlier, so
 * callers check again.
 */
void straggler_wait(int pidfd, int fd, uint64_t until_ns);

#endif
