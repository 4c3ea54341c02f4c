/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for what would hold the event loop up, with a bounded queue. It has a lower priority, so that work for
 * some clients does not slow the answers to the others, starts with the first job, and ends when there was none for a
 * while. The program's only lock is in here.
 */
#ifndef HTTP_WORKER_H
#define HTTP_WORKER_H

#include <systemd/sd-event.h>

#include "base/util.h"

struct worker;

struct worker_limits {
    unsigned jobs; /* those that run or wait, until their done() */
    uint64_t idle_ns;
};

/* Embedded in what the work is about; the members below the line are the worker's. */
struct job {
    /* In the thread. May touch nothing but the job and what belongs to it, and allocates no memory. */
    void (*run)(struct job *job);
    /* In the event loop, once for each job that was taken, and may free it. Cancelled: it ran in part or not at all. */
    void (*done)(struct job *job, bool cancelled);
    /* --- */
    struct worker *worker;
    struct job *next;
    bool cancelled; /* the event loop's: the thread does not look at it */
};

int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret);
/*
 * Cancels all jobs. Waits for the one that runs, but no longer than five seconds: then the thread is left behind with
 * its job, whose done() is not called, since the process ends anyway.
 */
struct worker *worker_free(struct worker *worker);

/* -EAGAIN where the queue is full; errors of pthread_create(3). The job is not taken then. */
int worker_submit(struct worker *worker, struct job *job);
/* Calls its done(): at once, or, where it runs, when it has run. */
void job_cancel(struct job *job);
/* Whether the thread is there; for tests. */
bool worker_is_awake(const struct worker *worker);

#endif
