/* SPDX-License-Identifier: Apache-2.0 */
/* The worker, with a real thread. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http/worker.h"
#include "tests/unit/test.h"

#define JOBS 4

struct task {
    struct job job;
    sem_t *start, *go; /* run() posts `start` and then waits for `go`, unless they are NULL */
    sem_t *then;       /* done() posts it, so that another job continues; may be NULL */
    int nice;
    sigset_t blocked;
    pthread_t thread;
    unsigned ran, done, cancelled, order;
    unsigned *counter;
};

struct fixture {
    sd_event *event;
    struct worker *worker;
    sem_t start, go;
    unsigned counter;
};

static void run(struct job *job)
{
    struct task *task = (struct task *)job;

    if (task->start)
        sem_post(task->start);
    if (task->go)
        sem_wait(task->go);
    task->ran++;
    task->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
    task->thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &task->blocked);
}

static void on_done(struct job *job, bool cancelled)
{
    struct task *task = (struct task *)job;

    task->done++;
    task->cancelled += cancelled;
    task->order = ++*task->counter;
    if (task->then)
        sem_post(task->then);
}

static void start(struct fixture *f, uint64_t idle_ns)
{
    const struct worker_limits limits = {.jobs = JOBS, .idle_ns = idle_ns};

    *f = (struct fixture){0};
    sem_init(&f->start, 0, 0);
    sem_init(&f->go, 0, 0);
    assert_int_equal(sd_event_new(&f->event), 0);
    assert_int_equal(worker_new(f->event, &limits, &f->worker), 0);
}

static void stop(struct fixture *f)
{
    worker_free(f->worker);
    sd_event_unref(f->event);
    sem_destroy(&f->start);
    sem_destroy(&f->go);
}

static struct task task_of(struct fixture *f)
{
    return (struct task){.job = {.run = run, .done = on_done}, .counter = &f->counter};
}

/* Returns a job that blocks the thread until `go` is posted. */
static struct task blocker_of(struct fixture *f)
{
    struct task task = task_of(f);

    task.start = &f->start;
    task.go = &f->go;
    return task;
}

static void submit(struct fixture *f, struct task *task)
{
    assert_int_equal(worker_submit(f->worker, &task->job), 0);
}

/* Runs the event loop until `value` reaches `wanted`. The test fails after a minute. */
static void run_until(const struct fixture *f, const unsigned *value, unsigned wanted)
{
    for (int i = 0; *value < wanted; i++) {
        assert_true(i < 60);
        sd_event_run(f->event, USEC_PER_SEC);
    }
}

TEST(test_runs_in_order)
{
    struct fixture fixture, *f = &fixture;
    struct task tasks[JOBS], extra;

    start(f, NSEC_PER_SEC);
    extra = task_of(f);
    assert_false(worker_is_awake(f->worker));
    for (size_t i = 0; i < JOBS; i++) {
        tasks[i] = i ? task_of(f) : blocker_of(f);
        submit(f, &tasks[i]);
    }
    assert_true(worker_is_awake(f->worker));
    assert_int_equal(worker_submit(f->worker, &extra.job), -EAGAIN);
    sem_post(&f->go);
    run_until(f, &f->counter, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(tasks[i].ran, 1);
        assert_int_equal(tasks[i].done, 1);
        assert_int_equal(tasks[i].cancelled, 0);
        assert_int_equal(tasks[i].order, i + 1);
        assert_true(tasks[i].nice > getpriority(PRIO_PROCESS, 0) || tasks[i].nice == 19);
        assert_false(pthread_equal(tasks[i].thread, pthread_self()));
        for (int signal = 1; signal < 32; signal++)
            if (signal != SIGKILL && signal != SIGSTOP)
                assert_true(sigismember(&tasks[i].blocked, signal));
    }
    submit(f, &extra);
    run_until(f, &extra.done, 1);
    assert_int_equal(extra.ran, 1);
    stop(f);
}

/* The thread ends whenever it is idle, and a job that is submitted at that moment is not lost. */
TEST(test_ends_when_idle)
{
    struct fixture f;

    start(&f, 0);
    for (int round = 0; round < 300; round++) {
        struct task task = task_of(&f);
        submit(&f, &task);
        run_until(&f, &task.done, 1);
        assert_int_equal(task.ran, 1);
    }
    for (int i = 0; worker_is_awake(f.worker); i++) {
        assert_true(i < 60);
        sd_event_run(f.event, USEC_PER_SEC);
    }
    stop(&f);
}

TEST(test_cancel)
{
    struct fixture fixture, *f = &fixture;

    start(f, NSEC_PER_SEC);
    struct task running = blocker_of(f), waiting = task_of(f), last = task_of(f), over = task_of(f);
    submit(f, &running);
    submit(f, &waiting);
    submit(f, &last);
    sem_wait(&f->start);
    job_cancel(&waiting.job);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.cancelled, 1);
    job_cancel(&running.job);
    assert_int_equal(running.done, 0);
    sem_post(&f->go);
    run_until(f, &last.done, 1);
    assert_int_equal(running.cancelled, 1);
    assert_int_equal(running.ran, 1);
    assert_int_equal(waiting.ran, 0);
    assert_int_equal(last.cancelled, 0);
    /* The job has run, but the event loop has not been notified yet. */
    struct task signal = blocker_of(f);
    submit(f, &over);
    submit(f, &signal);
    sem_wait(&f->start);
    job_cancel(&over.job);
    assert_int_equal(over.cancelled, 1);
    sem_post(&f->go);
    run_until(f, &signal.done, 1);
    assert_int_equal(over.done, 1);
    stop(f);
}

TEST(test_free_with_jobs)
{
    struct fixture f;

    start(&f, NSEC_PER_SEC);
    struct task running = blocker_of(&f), waiting = task_of(&f);
    waiting.then = &f.go;
    submit(&f, &running);
    submit(&f, &waiting);
    sem_wait(&f.start);
    stop(&f);
    assert_int_equal(running.done, 1);
    assert_int_equal(running.cancelled, 1);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.cancelled, 1);
    assert_int_equal(waiting.ran, 0);
    assert_null(worker_free(NULL));
}

TEST_MAIN(NULL, NULL)
