/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that runs while something is counted. It is forked before anything is opened, so that it inherits only what
 * the caller has, and waits; it is executed once all counters are open.
 *
 * From workload_start() to workload_done(), SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked in this process and meant
 * for the command: workload_run() forwards those that only this process received.
 */
#ifndef CMD_WORKLOAD_H
#define CMD_WORKLOAD_H

#include <signal.h>
#include <sys/resource.h>

#include "base/error.h"

struct workload {
    char *const *arguments; /* arguments of the command, borrowed; NULL: there is no command */
    pid_t pid;              /* 0 after it has ended */
    int fd;                 /* the socket on which the child waits until it is to start */
    sigset_t signals;       /* mask of the command, and of this process after workload_done() */
    int status;             /* exit status, or 128 + signal that killed it; 126 or 127: it could not be executed */
    struct rusage usage;
};

/* Must be called before anything is opened. Returns -errno with a sentence. */
int workload_start(char *const *arguments, struct workload *ret, struct error *error);
/*
 * Executes the command, which then runs. If it cannot be executed, waits for its end, sets `status`, and returns -errno
 * with a sentence.
 */
int workload_begin(struct workload *workload, struct error *error);
/* Reaps the command if it has ended, and sets `status` and `usage`. To be called after each SIGCHLD. */
bool workload_has_ended(struct workload *workload);
/* Passes on a signal that this process received, with its si_code, unless the terminal sent it to the command, too. */
void workload_forward(const struct workload *workload, int signal, int code);
/* Calls workload_begin(), and waits for the end of the command. Sets `status`. */
int workload_run(struct workload *workload, struct error *error);
/* A command that was never started exits without being executed. */
void workload_done(struct workload *workload);

#endif
