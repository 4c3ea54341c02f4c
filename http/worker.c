/* SPDX-License-Identifier: Apache-2.0 */
#include "http/worker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"

#define STACK_SIZE (256 * 1024)
#define PATIENCE_SEC 5
/*
 * How much nicer the worker thread is than the process. It gets a third of the CPU weight of the event loop and of
 * other processes, so neither side starves.
 */
#define NICENESS 5

TAILQ_HEAD(job_list, job);

struct worker {
    struct worker_limits limits;
    sd_event_source *source;
    int wake_fd; /* eventfd; the worker thread writes to it when a job is finished */
    unsigned n;  /* number of jobs whose done() has not been called */
    pthread_t thread;
    bool started; /* the worker thread was started and has not been joined */

    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t more;
    struct job_list queue, finished;
    bool stopping, ended;
};

static void job_list_append(struct job_list *list, struct job *job)
{
    TAILQ_INSERT_TAIL(list, job, entry);
    job->list = list;
}

/* Removes the job from its list. Returns false if it was in none. */
static bool job_list_remove(struct job *job)
{
    if (!job->list)
        return false;
    TAILQ_REMOVE(job->list, job, entry);
    job->list = NULL;
    return true;
}

static struct job *job_list_take(struct job_list *list)
{
    struct job *job = TAILQ_FIRST(list);

    if (job)
        job_list_remove(job);
    return job;
}

/* --- thread --- */

static void worker_wake_loop(const struct worker *worker)
{
    uint64_t one = 1;

    while (write(worker->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

static struct timespec worker_idle_end(const struct worker *worker)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t ns = (uint64_t)end.tv_nsec + worker->limits.idle_ns;
    end.tv_sec += (time_t)(ns / NSEC_PER_SEC);
    end.tv_nsec = (long)(ns % NSEC_PER_SEC);
    return end;
}

/* Waits for the next job, with the lock held. Returns NULL when the thread must exit. */
static struct job *worker_await_job(struct worker *worker)
{
    struct timespec end = worker_idle_end(worker);
    int r = 0;

    while (TAILQ_EMPTY(&worker->queue) && !worker->stopping && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&worker->more, &worker->lock, &end);
    return worker->stopping ? NULL : job_list_take(&worker->queue);
}

static void *worker_main(void *userdata)
{
    struct worker *worker = userdata;
    struct job *job;

    /* On Linux the nice value is per thread (setpriority(2)). A failure to set the nice value is harmless. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, (id_t)gettid()) + NICENESS);
    pthread_mutex_lock(&worker->lock);
    while ((job = worker_await_job(worker))) {
        pthread_mutex_unlock(&worker->lock);
        job->run(job);
        pthread_mutex_lock(&worker->lock);
        job_list_append(&worker->finished, job);
        worker_wake_loop(worker);
    }
    worker->ended = true;
    worker_wake_loop(worker);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* --- event loop --- */

/*
 * Creates the thread with all signals blocked, because the event loop handles signals. The signal mask is set before
 * pthread_create(3), from which the thread inherits it.
 */
static int worker_create_thread(struct worker *worker, const pthread_attr_t *attributes)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&worker->thread, attributes, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

static int worker_start(struct worker *worker)
{
    pthread_attr_t attributes;
    int r = pthread_attr_init(&attributes);

    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = worker_create_thread(worker, &attributes);
    pthread_attr_destroy(&attributes);
    worker->started = r == 0;
    return r;
}

/*
 * Joins the thread if it has exited by itself. A thread decides to exit only while the queue is empty and the lock is
 * held.
 */
static void worker_reap(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool ended = worker->ended;
    worker->ended = false;
    pthread_mutex_unlock(&worker->lock);
    if (!ended)
        return;
    pthread_join(worker->thread, NULL);
    worker->started = false;
}

static void job_finish(struct job *job)
{
    job->worker->n--;
    job->done(job, job->cancelled);
}

static struct job *worker_take(struct worker *worker, struct job_list *list)
{
    pthread_mutex_lock(&worker->lock);
    struct job *job = job_list_take(list);
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static int worker_on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct worker *worker = userdata;
    struct job *job;
    uint64_t count;

    (void)source;
    (void)events;
    if (read(fd, &count, sizeof(count)) < 0)
        return 0;
    while ((job = worker_take(worker, &worker->finished)))
        job_finish(job);
    worker_reap(worker);
    return 0;
}

static void worker_init_lock(struct worker *worker)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->more, &attributes);
    pthread_condattr_destroy(&attributes);
}

int worker_new(sd_event *event, const struct worker_limits *limits, struct worker **ret)
{
    _cleanup_(freep) struct worker *worker = calloc(1, sizeof(*worker));
    _cleanup_(closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (!worker)
        return -ENOMEM;
    if (fd < 0)
        return -errno;
    int r = sd_event_add_io(event, &worker->source, fd, EPOLLIN, worker_on_wake, worker);
    if (r < 0)
        return r;
    worker->limits = *limits;
    worker->wake_fd = steal_fd(&fd);
    TAILQ_INIT(&worker->queue);
    TAILQ_INIT(&worker->finished);
    worker_init_lock(worker);
    *ret = steal(worker);
    return 0;
}

/* Tells the worker thread to stop, so that it starts no further job. */
static void worker_stop(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
}

static void worker_cancel_all(struct worker *worker, struct job_list *list)
{
    struct job *job;

    while ((job = worker_take(worker, list))) {
        job->cancelled = true;
        job_finish(job);
    }
}

/* Waits for the thread to exit, and returns whether it has exited. */
static bool worker_join(struct worker *worker)
{
    struct timespec end;

    if (!worker->started)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += PATIENCE_SEC;
    return pthread_clockjoin_np(worker->thread, NULL, CLOCK_MONOTONIC, &end) == 0;
}

struct worker *worker_free(struct worker *worker)
{
    if (!worker)
        return NULL;
    sd_event_source_disable_unref(worker->source);
    worker_stop(worker);
    worker_cancel_all(worker, &worker->queue);
    if (!worker_join(worker)) {
        pthread_detach(worker->thread);
        return NULL;
    }
    worker_cancel_all(worker, &worker->finished);
    close(worker->wake_fd);
    pthread_cond_destroy(&worker->more);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return NULL;
}

static void worker_enqueue(struct worker *worker, struct job *job)
{
    pthread_mutex_lock(&worker->lock);
    job_list_append(&worker->queue, job);
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
}

/* Takes the lock and removes the job from its list. Returns false if the job is running. */
static bool worker_remove(struct worker *worker, struct job *job)
{
    pthread_mutex_lock(&worker->lock);
    bool removed = job_list_remove(job);
    pthread_mutex_unlock(&worker->lock);
    return removed;
}

int worker_submit(struct worker *worker, struct job *job)
{
    if (worker->n >= worker->limits.jobs)
        return -EAGAIN;
    job->worker = worker;
    job->cancelled = false;
    worker_enqueue(worker, job);
    /* If the thread has exited in the meantime, it has missed the job: join it and start another. */
    worker_reap(worker);
    int r = worker->started ? 0 : worker_start(worker);
    if (r < 0) {
        worker_remove(worker, job);
        return r;
    }
    worker->n++;
    return 0;
}

void job_cancel(struct job *job)
{
    job->cancelled = true;
    if (worker_remove(job->worker, job))
        job_finish(job);
}

bool worker_is_awake(const struct worker *worker)
{
    return worker->started;
}
