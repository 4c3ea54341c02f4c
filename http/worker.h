/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for work that would hold up the event loop, with a bounded queue. It has a lower priority, so that work
 * for some clients does not slow the answers to others. It starts with the first job, and ends when there was none for
 * a while. The program's only lock is in here.
 */
#ifndef HTTP_WORKER_H
#define HTTP_WORKER_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/util.h"

struct worker;

struct worker_limits {
    unsigned jobs; /* those that run or wait, until their done() */
    uint64_t idle_ns;
};

/* A job is embedded in what it works on; the members below the line are the worker's. */
struct job {
    /* In the thread. Touches nothing but the job and what belongs to it, and allocates no memory. */
    void (*run)(struct job *job);
    /* In the event loop, once for each job that was submitted; may free it. Cancelled: its result does not count. */
    void (*done)(struct job *job, bool cancelled);
    /* --- */
    struct worker *worker;
    struct job_list *list; /* that it is in; NULL while it runs */
    TAILQ_ENTRY(job) entry;
    bool cancelled; /* the event loop's: the thread does not look at it */
};

int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret);
/*
 * Cancels all jobs. Waits for the job that runs, but no longer than five seconds: then the thread is left behind with
 * its job, whose done() is not called, since the process ends anyway.
 */
struct worker *worker_free(struct worker *worker);

/* -EAGAIN where the queue is full; errors of pthread_create(3). On failure the job remains the caller's. */
int worker_submit(struct worker *worker, struct job *job);
/* Calls its done(): at once or, where it runs, when it has run. */
void job_cancel(struct job *job);
/* Whether there is a thread; for tests. */
bool worker_is_awake(const struct worker *worker);

#endif
