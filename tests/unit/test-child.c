/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that this one starts, one after the other: none of their time is lost, and nothing is left of them. */
#include "base/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define BUSY_NS (60 * (NSEC_PER_SEC / 1000))

static uint64_t own_cpu(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* A process that works for BUSY_NS, and then waits to be killed; or ends at once. */
static void start(struct child *child, int status)
{
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        while (own_cpu() < BUSY_NS)
            continue;
        while (status < 0)
            pause();
        _exit(status);
    }
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)child->pid);
    child->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(child->stat_fd >= 0);
}

static void wait_for_end(const struct child *child)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_none(void **state)
{
    struct child child = CHILD_NONE;
    struct process_stat stat = {.threads = 99};
    int status = 99;

    (void)state;
    assert_int_equal(child_read(&child, &stat), -ESRCH);
    assert_int_equal(stat.threads, 99);
    assert_true(child_reap(&child, &status));
    assert_int_equal(status, 99);
    child_forget(&child);
    assert_int_equal(child.stat_fd, -1);
}

static void test_lives(void **state)
{
    struct child child = CHILD_NONE;
    struct process_stat stat;
    int status;

    (void)state;
    start(&child, 7);
    wait_for_end(&child);
    assert_int_equal(child_read(&child, &stat), -ESRCH);
    assert_true(child_reap(&child, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(child.pid, 0);
    assert_int_equal(child.stat_fd, -1);
    uint64_t first = child.ended_cpu_ns;
    assert_in_range(first, BUSY_NS - NSEC_PER_SEC / 100, 100 * BUSY_NS);
    /* The next one goes on from there. */
    start(&child, -1);
    assert_int_equal(child_read(&child, &stat), 0);
    assert_true(stat.cpu_ns >= first);
    assert_in_range(stat.threads, 1, runs_emulated() ? 2 : 1); /* qemu has one of its own */
    assert_false(child_reap(&child, &status));
    while (stat.cpu_ns < first + BUSY_NS - NSEC_PER_SEC / 50)
        assert_int_equal(child_read(&child, &stat), 0);
    uint64_t last = stat.cpu_ns;
    kill(child.pid, SIGKILL);
    wait_for_end(&child);
    assert_true(child_reap(&child, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(child.ended_cpu_ns >= last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
