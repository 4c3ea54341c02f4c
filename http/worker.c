/* SPDX-License-Identifier: Apache-2.0 */
/* One thread for what would hold the event loop up: see worker.h. */
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
#define NICENESS 5 /* a third of the weight of the event loop, and of others: it does not starve either */

struct job_list {
    struct job *first, **end;
};

struct worker {
    struct worker_limits limits;
    sd_event_source *source;
    int wake_fd; /* written by the thread when the loop has something to do */
    unsigned n;  /* jobs whose done() is to come */
    pthread_t thread;
    bool started; /* and not joined yet */

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t more;
    struct job_list queue, finished;
    bool stopping, ended;
};

static void list_init(struct job_list *list)
{
    *list = (struct job_list){.end = &list->first};
}

static void list_append(struct job_list *list, struct job *job)
{
    job->next = NULL;
    *list->end = job;
    list->end = &job->next;
}

static struct job *list_take_first(struct job_list *list)
{
    struct job *job = list->first;

    if (job) {
        list->first = job->next;
        if (!list->first)
            list->end = &list->first;
        job->next = NULL;
    }
    return job;
}

static bool list_remove(struct job_list *list, struct job *job)
{
    for (struct job **at = &list->first; *at; at = &(*at)->next) {
        if (*at != job)
            continue;
        *at = job->next;
        if (!*at)
            list->end = at;
        job->next = NULL;
        return true;
    }
    return false;
}

/* --- the thread's side */

static void tell_loop(const struct worker *worker)
{
    uint64_t one = 1;

    while (write(worker->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

static struct timespec idle_end(const struct worker *worker)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t ns = (uint64_t)end.tv_nsec + worker->limits.idle_ns;
    end.tv_sec += (time_t)(ns / NSEC_PER_SEC);
    end.tv_nsec = (long)(ns % NSEC_PER_SEC);
    return end;
}

/* The next job, with the lock held; NULL when the thread is to end. */
static struct job *await_job(struct worker *worker)
{
    struct timespec end = idle_end(worker);
    int r = 0;

    while (!worker->queue.first && !worker->stopping && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&worker->more, &worker->lock, &end);
    return worker->stopping ? NULL : list_take_first(&worker->queue);
}

static void *work(void *userdata)
{
    struct worker *worker = userdata;
    struct job *job;

    /* On Linux the priority is each thread's own (setpriority(2)). Where it may not be lowered, it works as well. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_mutex_lock(&worker->lock);
    while ((job = await_job(worker))) {
        pthread_mutex_unlock(&worker->lock);
        job->run(job);
        pthread_mutex_lock(&worker->lock);
        list_append(&worker->finished, job);
        tell_loop(worker);
    }
    worker->ended = true;
    tell_loop(worker);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* --- the event loop's side */

/* The thread inherits the mask: signals are the event loop's. */
static int create_thread(struct worker *worker, const pthread_attr_t *attributes)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&worker->thread, attributes, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

static int start(struct worker *worker)
{
    pthread_attr_t attributes;
    int r = pthread_attr_init(&attributes);

    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = create_thread(worker, &attributes);
    pthread_attr_destroy(&attributes);
    worker->started = r == 0;
    return r;
}

/* Joins a thread that has ended by itself; it does so only with the queue empty, seen under the same lock. */
static void reap(struct worker *worker)
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

static void finish(struct job *job)
{
    job->worker->n--;
    job->done(job, job->cancelled);
}

static struct job *take_finished(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct job *job = list_take_first(&worker->finished);
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct worker *worker = userdata;
    struct job *job;
    uint64_t count;

    (void)source;
    (void)events;
    if (read(fd, &count, sizeof(count)) < 0)
        return 0;
    while ((job = take_finished(worker)))
        finish(job);
    reap(worker);
    return 0;
}

static void init_lock(struct worker *worker)
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
    int r = sd_event_add_io(event, &worker->source, fd, EPOLLIN, on_wake, worker);
    if (r < 0)
        return r;
    worker->limits = *limits;
    worker->wake_fd = steal_fd(&fd);
    list_init(&worker->queue);
    list_init(&worker->finished);
    init_lock(worker);
    *ret = steal(worker);
    return 0;
}

/* Whether the thread is gone. */
static bool stop(struct worker *worker)
{
    struct timespec end;

    if (!worker->started)
        return true;
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_SEC;
    return pthread_timedjoin_np(worker->thread, NULL, &end) == 0;
}

static void cancel_list(struct job_list *list)
{
    struct job *job;

    while ((job = list_take_first(list))) {
        job->cancelled = true;
        finish(job);
    }
}

struct worker *worker_free(struct worker *worker)
{
    if (!worker)
        return NULL;
    sd_event_source_disable_unref(worker->source);
    pthread_mutex_lock(&worker->lock);
    struct job_list queue = worker->queue;
    list_init(&worker->queue);
    pthread_mutex_unlock(&worker->lock);
    cancel_list(&queue);
    if (!stop(worker)) {
        pthread_detach(worker->thread);
        return NULL;
    }
    cancel_list(&worker->finished);
    close(worker->wake_fd);
    pthread_cond_destroy(&worker->more);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return NULL;
}

static void enqueue(struct worker *worker, struct job *job)
{
    pthread_mutex_lock(&worker->lock);
    list_append(&worker->queue, job);
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
}

static void dequeue(struct worker *worker, struct job *job)
{
    pthread_mutex_lock(&worker->lock);
    list_remove(&worker->queue, job);
    pthread_mutex_unlock(&worker->lock);
}

int worker_submit(struct worker *worker, struct job *job)
{
    if (worker->n >= worker->limits.jobs)
        return -EAGAIN;
    job->worker = worker;
    job->cancelled = false;
    enqueue(worker, job);
    /* A thread that has ended meanwhile has not seen the job. */
    reap(worker);
    int r = worker->started ? 0 : start(worker);
    if (r < 0) {
        dequeue(worker, job);
        return r;
    }
    worker->n++;
    return 0;
}

void job_cancel(struct job *job)
{
    struct worker *worker = job->worker;

    job->cancelled = true;
    pthread_mutex_lock(&worker->lock);
    bool here = list_remove(&worker->queue, job) || list_remove(&worker->finished, job);
    pthread_mutex_unlock(&worker->lock);
    if (here)
        finish(job);
}

bool worker_is_awake(const struct worker *worker)
{
    return worker->started;
}
