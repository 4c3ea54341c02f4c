/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that runs while something is counted. Its process is forked before anything is opened, so it inherits only
 * the caller's descriptors. It then waits, and executes the command once all counters are open.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT are meant for the command, and are therefore blocked in this process from
 * workload_start() to workload_done(). workload_run() forwards signals that only this process has received.
 */
#ifndef CMD_WORKLOAD_H
#define CMD_WORKLOAD_H

#include <signal.h>
#include <sys/resource.h>

#include "base/error.h"

struct workload {
    char *const *arguments; /* arguments of the command, borrowed, or NULL without a command */
    pid_t pid;              /* process ID of the command; 0 after the command has exited */
    int fd;                 /* socket on which the child waits until it may execute the command */
    sigset_t signals;       /* signal mask of the command, and of this process after workload_done() */
    int status; /* exit status of the command, or 128 + the signal that killed it; 126 or 127 if execvp(3) failed */
    struct rusage usage;
};

/* Forks the process of the command. Must be called before any descriptors are opened. Returns -errno with a message. */
int workload_start(char *const *arguments, struct workload *ret, struct error *error);
/*
 * Lets the command's process execute the command. If the command cannot be executed, waits until its process exits,
 * sets `status`, and returns -errno with a message.
 */
int workload_begin(struct workload *workload, struct error *error);
/*
 * If the command has exited, reaps it and sets `status` and `usage`. Must be called after each SIGCHLD. Returns whether
 * the command has exited.
 */
bool workload_has_ended(struct workload *workload);
/* Forwards a signal to the command, unless its si_code shows that the terminal has sent it to the command as well. */
void workload_forward(const struct workload *workload, int signal, int code);
/* Calls workload_begin(), and waits until the command has exited. Sets `status`. */
int workload_run(struct workload *workload, struct error *error);
/*
 * Waits until the command's process has exited. Without workload_begin(), the process exits without executing the
 * command.
 */
void workload_done(struct workload *workload);

#endif
