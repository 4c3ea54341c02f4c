/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that this one starts, perhaps again and again: how to read what it takes, and what all of them took that
 * have ended.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <sys/types.h>

#include "process/process-stat.h"

struct child {
    pid_t pid;             /* 0: none runs */
    int stat_fd;           /* of its /proc/PID/stat; -1: none */
    uint64_t ended_cpu_ns; /* of all that have ended */
};
#define CHILD_NONE ((struct child){.stat_fd = -1})

/* Reaps it if it has ended, without waiting; whether nothing is left to reap. *ret_status is that of wait4(2). */
bool child_reap(struct child *child, int *ret_status);
/* How a process ended, of the status of wait4(2): "process 123 was ended by signal 9 (Killed)". */
void child_describe_end(pid_t pid, int status, char *text, size_t size);
/* Forgets it without reaping; its parent is then whoever inherits it. */
void child_forget(struct child *child);
/*
 * Of the one that runs, with the time of its own children that have ended, and of those that have ended before it.
 * -ESRCH where none runs; errors of process_stat_read().
 */
int child_read(const struct child *child, struct process_stat *ret);

#endif
