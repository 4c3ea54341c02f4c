/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker is a thread for work that would block the event loop, with a bounded queue of jobs.
 *
 * The worker thread is started for the first job, and exits after it has been idle for a while. The worker thread runs
 * at a lower priority, so that work for some clients does not delay replies to others. All functions are called in the
 * event loop's thread, unless noted otherwise. The program's only lock is in this module.
 */
#ifndef HTTP_WORKER_H
#define HTTP_WORKER_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "base/util.h"

struct worker;

struct worker_limits {
    unsigned jobs; /* maximum number of jobs; a job counts until its done() is called */
    uint64_t idle_ns;
};

/* A job, which is embedded in the object that it works on. The members below the line belong to the worker. */
struct job {
    /* Called in the worker thread. Must only access the job and what the job owns, and must not allocate memory. */
    void (*run)(struct job *job);
    /*
     * Called in the event loop's thread, once for each submitted job; may free the job. If `cancelled` is set, the
     * result of the job is invalid.
     */
    void (*done)(struct job *job, bool cancelled);
    /* --- */
    struct worker *worker;
    struct job_list *list; /* list that contains the job; NULL while the job runs */
    TAILQ_ENTRY(job) entry;
    bool cancelled; /* the job was cancelled; only used by the event loop's thread */
};

/* Makes a worker, whose thread is only started later. Returns -errno on failure. */
int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret);
/*
 * Cancels all jobs and waits up to five seconds for the running one. If that job has not finished by then, it and the
 * thread are leaked and its done() is not called: the process is about to exit anyway.
 */
struct worker *worker_free(struct worker *worker);

/*
 * Submits a job to the worker. Returns -EAGAIN if the queue is full, or an error from pthread_create(3). On failure the
 * caller keeps the job.
 */
int worker_submit(struct worker *worker, struct job *job);
/* Calls the job's done() immediately or, if the job is running, when the job has finished. */
void job_cancel(struct job *job);
/* Returns whether the worker thread exists; for tests. */
bool worker_is_awake(const struct worker *worker);

#endif
