/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes that handle files of other users and may hang.
 *
 * Such a file may be on a file system that never answers (FUSE, NFS). The kernel then blocks every process that opens,
 * reads, stats or closes it, and SIGKILL does not end the process. So a process that has other work forks a child for
 * each file and waits briefly for it. A child that takes longer becomes a straggler: it is killed at its deadline and
 * reaped when it ends, which may be never.
 *
 * While a user has a straggler, no child is started for that user's files. While there are STRAGGLERS_MAX stragglers,
 * children are started for root's files only. The total waiting time for a user's children is also limited, so that a
 * slow file system does not delay other users.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Nothing is allocated.
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
    int pidfd;     /* -1: pidfd_open(2) failed */
    uint32_t user; /* owner of the file */
    bool killed;
    uint64_t deadline_ns;
    uint64_t ticket; /* the caller's, for its callback in stragglers_tend() */
};

/* The time spent waiting for one user's children. It decreases as time passes. */
struct waiting_time {
    uint32_t user;
    uint64_t used_ns, at_ns; /* used_ns as of time at_ns */
};

/* A zeroed struct has no stragglers. */
struct stragglers {
    size_t n;
    struct straggler items[STRAGGLERS_MAX + 1]; /* one more than the maximum, for root's */
    struct waiting_time times[16];              /* of the users with the most waiting time */
    uint64_t waited_max_ns;                     /* limit of a user's waiting time; 0: 250 ms */
};

/* How long the caller may wait for a child that handles a file of this user. 0: it must not start one now. */
uint64_t stragglers_patience(struct stragglers *stragglers, uint32_t user, uint64_t now);
/* Adds to the user's waiting time. The waiting time for root is not limited. */
void stragglers_count_wait(struct stragglers *stragglers, uint32_t user, uint64_t now, uint64_t waited_ns);

/* Returns a pidfd of the child, or -1 on failure. */
int straggler_open(pid_t pid);
/* Reaps the child if it has ended, and returns whether it has. Never waits. *ret_status is as of wait4(2). */
bool straggler_reap(pid_t pid, int *ret_status);
/* Adds a child that has not ended, and takes over its pidfd. There is room if stragglers_patience() was not 0. */
void stragglers_add(struct stragglers *stragglers, const struct straggler *straggler);
/*
 * Tends the stragglers, then forks a child for a file of child->user. Returns 0 in the child. In the parent, returns
 * the PID, and sets child->pid, child->pidfd and *ret_patience, the limit for straggler_await(). Returns -EHOSTDOWN if
 * no child may be started for this user now, or an error of fork(2).
 */
int straggler_fork(struct straggler *child, struct stragglers *stragglers, uint64_t *ret_patience);
/*
 * Waits for the child for at most `patience` nanoseconds and adds the time to its user. The child exits with 0 or an
 * errno, which is returned negated. Returns -EIO if a signal ended the child, and -EINPROGRESS if the child has not
 * ended and is now a straggler.
 */
int straggler_await(struct straggler *child, struct stragglers *stragglers, uint64_t patience);
/*
 * Kills the stragglers that have reached their deadline, and reaps those that have ended. Never waits. Calls `over`,
 * unless it is NULL, once for each straggler: with the status of wait4(2) if it ended in time, or with -1 when it is
 * killed, since it may never end.
 */
void stragglers_tend(struct stragglers *stragglers, uint64_t now,
                     void (*over)(void *userdata, const struct straggler *straggler, int status), void *userdata);
/* The next deadline, or UINT64_MAX if there is none. */
uint64_t stragglers_due(const struct stragglers *stragglers);

/* The current time. */
uint64_t stragglers_now(void);
/*
 * Waits until the child has ended, `fd` (-1: none) is readable, or the time is `until_ns`. May return early, so callers
 * check again.
 */
void straggler_wait(int pidfd, int fd, uint64_t until_ns);

#endif
