/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs while something is counted. It is forked first, with what the caller has, and waits; it begins
 * when everything is open.
 *
 * While it is there, SIGINT, SIGTERM, SIGHUP and SIGQUIT are for the program: those that only this process got are sent
 * on to it.
 */
#ifndef CMD_WORKLOAD_H
#define CMD_WORKLOAD_H

#include <signal.h>
#include <sys/resource.h>

#include "base/error.h"

struct workload {
    char *const *arguments; /* borrowed; NULL: none is there */
    pid_t pid;              /* 0 once it has ended */
    int fd;                 /* the socket on which it waits */
    sigset_t signals;       /* the mask that it has, and this process before and after it */
    int status;             /* of its end: its exit status; 128 and the number of the signal that killed it; 126 or 127
                               where it could not be started */
    struct rusage usage;
};

/* Call it before anything is opened. -errno with a sentence. */
int workload_start(char *const *arguments, struct workload *ret, struct error *error);
/* Lets it begin, and waits for its end. -errno with a sentence where it could not be started; see `status`. */
int workload_run(struct workload *workload, struct error *error);
/* One that has not begun never begins. */
void workload_done(struct workload *workload);

#endif
