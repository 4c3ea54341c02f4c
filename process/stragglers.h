/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes that handle files of other users and may hang.
 *
 * A user's file may be on a file system that never answers (FUSE, NFS). The kernel blocks every process that opens,
 * reads, stats or closes such a file, and SIGKILL does not terminate the process. Therefore a process that has other
 * work forks a child for each file and waits briefly for the child. A child that takes longer becomes a straggler: it
 * is killed at its deadline, and reaped once it has exited, which may never happen.
 *
 * While a user has a straggler, no child is started for that user's files. While there are STRAGGLERS_MAX stragglers,
 * children are started only for root's files. The total time spent waiting for one user's children is also limited, so
 * that a slow file system does not delay other users.
 *
 * All times are in nanoseconds of CLOCK_MONOTONIC. This module allocates no memory.
 */
#ifndef PROCESS_STRAGGLERS_H
#define PROCESS_STRAGGLERS_H

#include <sys/types.h>

#include "base/util.h"

#define STRAGGLERS_MAX 4
/* A child that is still running this long after its start is killed. */
#define STRAGGLER_DEADLINE_NS (2 * NSEC_PER_SEC)

struct straggler {
    pid_t pid;
    int pidfd;     /* pidfd of the child; -1 if pidfd_open(2) failed */
    uint32_t user; /* owner of the file */
    bool killed;
    uint64_t deadline_ns;
    uint64_t ticket; /* chosen by the caller, and passed to the callback of stragglers_tend() */
};

/* The waiting time of one user: the time spent waiting for the user's children. It decreases as time passes. */
struct waiting_time {
    uint32_t user;
    uint64_t used_ns, at_ns; /* waiting time, as of the time at_ns */
};

/* A zeroed struct has no stragglers. */
struct stragglers {
    size_t n;
    struct straggler items[STRAGGLERS_MAX + 1]; /* the last one is reserved for root's files */
    struct waiting_time times[16];              /* the users with the most waiting time */
    uint64_t waited_max_ns;                     /* limit on a user's waiting time; 0 means 250 ms */
};

/*
 * Returns how long the caller may wait for a child that handles a file of this user, or 0 if no child may be started
 * now.
 */
uint64_t stragglers_patience(struct stragglers *stragglers, uint32_t user, uint64_t now);
/* Adds to the user's waiting time. The waiting time for root is not limited. */
void stragglers_count_wait(struct stragglers *stragglers, uint32_t user, uint64_t now, uint64_t waited_ns);

/* Returns a pidfd of the child, or -1 on failure. */
int straggler_open(pid_t pid);
/*
 * Reaps the child if it has exited, and returns whether it has. Never waits. Sets *ret_status to the wait status from
 * wait4(2).
 */
bool straggler_reap(pid_t pid, int *ret_status);
/*
 * Adds a child that has not exited, and takes ownership of its pidfd. There is room for the child if
 * stragglers_patience() did not return 0.
 */
void stragglers_add(struct stragglers *stragglers, const struct straggler *straggler);
/*
 * Calls stragglers_tend(), and then forks a child for a file of child->user. Returns 0 in the child. In the parent,
 * returns the PID, and sets child->pid, child->pidfd and *ret_patience, which limits the wait in straggler_await().
 * Returns -EHOSTDOWN if no child may currently be started for this user, or an error from fork(2).
 */
int straggler_fork(struct straggler *child, struct stragglers *stragglers, uint64_t *ret_patience);
/*
 * Waits at most `patience` nanoseconds for the child, and adds the time to the waiting time of child->user. The exit
 * status of the child must be 0 or an errno, and is returned negated. Returns -EIO if a signal killed the child, and
 * -EINPROGRESS if the child has not exited and is now a straggler.
 */
int straggler_await(struct straggler *child, struct stragglers *stragglers, uint64_t patience);
/*
 * Kills the stragglers that have reached their deadline, and reaps those that have exited. Never waits. Calls `over`,
 * unless it is NULL, once for each straggler: with the wait status if the straggler exited in time, or with -1 when the
 * straggler is killed, since it may never exit.
 */
void stragglers_tend(struct stragglers *stragglers, uint64_t now,
                     void (*over)(void *userdata, const struct straggler *straggler, int status), void *userdata);
/* Returns the next deadline of a straggler, or UINT64_MAX if there is none. */
uint64_t stragglers_due(const struct stragglers *stragglers);

/* Returns the current time of CLOCK_MONOTONIC. */
uint64_t stragglers_now(void);
/*
 * Waits until the child has exited, `fd` (-1 for none) is readable, or the time `until_ns` is reached. May return
 * early, so callers must check the condition again.
 */
void straggler_wait(int pidfd, int fd, uint64_t until_ns);

#endif
