/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread for work that would block the event loop, with a bounded queue of jobs.
 *
 * The thread starts with the first job, and exits after it was idle for a while. It runs at a lower priority, so that
 * work for some clients does not delay the replies to others. Functions are called in the event loop's thread, unless
 * noted otherwise. The only lock of the program is in this module.
 */
#ifndef HTTP_WORKER_H
#define HTTP_WORKER_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/util.h"

struct worker;

struct worker_limits {
    unsigned jobs; /* limit of jobs that wait or run; a job counts until its done() is called */
    uint64_t idle_ns;
};

/* A job is embedded in the object that it works on. The members below the line belong to the worker. */
struct job {
    /* Called in the worker thread. Accesses only the job and what it owns, and allocates no memory. */
    void (*run)(struct job *job);
    /*
     * Called in the event loop's thread, once for each submitted job; may free it. If `cancelled` is set, the result is
     * invalid.
     */
    void (*done)(struct job *job, bool cancelled);
    /* --- */
    struct worker *worker;
    struct job_list *list; /* list that contains it; NULL while it runs */
    TAILQ_ENTRY(job) entry;
    bool cancelled; /* used only by the event loop's thread */
};

/* Starts no thread yet. Returns -errno on failure. */
int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret);
/*
 * Cancels all jobs and waits up to five seconds for the running one. If it has not finished by then, the thread and its
 * job are leaked, and the job's done() is not called; the process is about to exit anyway.
 */
struct worker *worker_free(struct worker *worker);

/* Returns -EAGAIN if the queue is full, or the errors of pthread_create(3). On failure the caller keeps the job. */
int worker_submit(struct worker *worker, struct job *job);
/* Calls the job's done() now or, if the job is running, when it has finished. */
void job_cancel(struct job *job);
/* Whether the thread is running; for tests. */
bool worker_is_awake(const struct worker *worker);

#endif
