/* SPDX-License-Identifier: Apache-2.0 */
/* The worker with a real thread. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http/worker.h"
#include "tests/unit/test.h"

#define JOBS 4
#define PATIENCE_USEC 5000000

struct task {
    struct job job;
    sem_t *start, *go; /* run() says that it is there, and waits; NULL: it does not */
    sem_t *then;       /* done() lets another one go */
    int nice;
    sigset_t blocked;
    bool in_loop;
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

/* One that holds the thread until `go`. */
static struct task blocker_of(struct fixture *f)
{
    struct task task = task_of(f);

    task.start = &f->start;
    task.go = &f->go;
    return task;
}

static void run_until(const struct fixture *f, const unsigned *value, unsigned wanted)
{
    for (int i = 0; *value < wanted; i++) {
        assert_true(i < 100);
        sd_event_run(f->event, PATIENCE_USEC / 100);
    }
}

static void test_runs_in_order(void **state)
{
    struct fixture f;
    struct task tasks[JOBS], extra;

    (void)state;
    start(&f, NSEC_PER_SEC);
    assert_false(worker_is_awake(f.worker));
    for (size_t i = 0; i < JOBS; i++)
        tasks[i] = i ? task_of(&f) : blocker_of(&f);
    extra = task_of(&f);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(worker_submit(f.worker, &tasks[i].job), 0);
    assert_true(worker_is_awake(f.worker));
    assert_int_equal(worker_submit(f.worker, &extra.job), -EAGAIN);
    sem_post(&f.go);
    run_until(&f, &f.counter, JOBS);
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
    assert_int_equal(worker_submit(f.worker, &extra.job), 0);
    run_until(&f, &extra.done, 1);
    assert_int_equal(extra.ran, 1);
    stop(&f);
}

static void test_ends_when_idle(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 20 * NSEC_PER_MSEC);
    for (int round = 0; round < 3; round++) {
        struct task task = task_of(&f);
        assert_int_equal(worker_submit(f.worker, &task.job), 0);
        run_until(&f, &task.done, 1);
        for (int i = 0; worker_is_awake(f.worker); i++) {
            assert_true(i < 100);
            sd_event_run(f.event, PATIENCE_USEC / 100);
        }
    }
    stop(&f);
}

/* A job that comes just as the thread goes is not forgotten. */
static void test_comes_as_it_ends(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 200000);
    for (int round = 0; round < 300; round++) {
        struct task task = task_of(&f);
        assert_int_equal(worker_submit(f.worker, &task.job), 0);
        run_until(&f, &task.done, 1);
        assert_int_equal(task.ran, 1);
        usleep((useconds_t)(180 + round % 50));
    }
    stop(&f);
}

static void test_cancel(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, NSEC_PER_SEC);
    struct task running = blocker_of(&f), waiting = task_of(&f), last = task_of(&f), over = task_of(&f);
    assert_int_equal(worker_submit(f.worker, &running.job), 0);
    assert_int_equal(worker_submit(f.worker, &waiting.job), 0);
    assert_int_equal(worker_submit(f.worker, &last.job), 0);
    sem_wait(&f.start);
    job_cancel(&waiting.job);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.cancelled, 1);
    job_cancel(&running.job);
    assert_int_equal(running.done, 0);
    sem_post(&f.go);
    run_until(&f, &last.done, 1);
    assert_int_equal(running.cancelled, 1);
    assert_int_equal(running.ran, 1);
    assert_int_equal(waiting.ran, 0);
    assert_int_equal(last.cancelled, 0);
    /* It has run, and the event loop does not know yet. */
    struct task signal = blocker_of(&f);
    assert_int_equal(worker_submit(f.worker, &over.job), 0);
    assert_int_equal(worker_submit(f.worker, &signal.job), 0);
    sem_wait(&f.start);
    job_cancel(&over.job);
    assert_int_equal(over.cancelled, 1);
    sem_post(&f.go);
    run_until(&f, &signal.done, 1);
    assert_int_equal(over.done, 1);
    stop(&f);
}

static void test_free_with_jobs(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, NSEC_PER_SEC);
    struct task running = blocker_of(&f), waiting = task_of(&f);
    waiting.then = &f.go;
    assert_int_equal(worker_submit(f.worker, &running.job), 0);
    assert_int_equal(worker_submit(f.worker, &waiting.job), 0);
    sem_wait(&f.start);
    stop(&f);
    assert_int_equal(running.done, 1);
    assert_int_equal(running.cancelled, 1);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.cancelled, 1);
    assert_int_equal(waiting.ran, 0);
}

static void test_never_used(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, NSEC_PER_SEC);
    stop(&f);
    assert_null(worker_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_in_order),    cmocka_unit_test(test_ends_when_idle),
        cmocka_unit_test(test_comes_as_it_ends), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_free_with_jobs),   cmocka_unit_test(test_never_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
