/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon does not wait long for the end of the opener's process, in whatever state that is. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opener/opener.h"
#include "tests/unit/test.h"

/* A process that does nothing, and the other end of whose socket is closed. */
static struct opener *idle_opener(void)
{
    struct opener *opener = calloc(1, sizeof(*opener));

    assert_non_null(opener);
    opener->client.socket = -1;
    opener->pid = fork();
    assert_true(opener->pid >= 0);
    if (opener->pid == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        for (;;)
            pause();
    }
    return opener;
}

/* Of a process that is traced, its parent hears nothing until the tracer has: as of one that hangs in the kernel. */
static pid_t trace(pid_t pid)
{
    int started[2];
    char answer = 'n';

    assert_int_equal(pipe(started), 0);
    pid_t tracer = fork();
    assert_true(tracer >= 0);
    if (tracer == 0) {
        for (int i = 0; i < 1000 && answer == 'n'; i++) {
            answer = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 'y' : 'n';
            usleep(1000);
        }
        (void)!write(started[1], &answer, 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(started[0], &answer, 1), 1);
    close(started[0]);
    close(started[1]);
    if (answer == 'y')
        return tracer;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    return 0;
}

static bool reaped_soon(struct opener *opener)
{
    for (int i = 0; i < 10000; i++) {
        if (opener_reap(opener))
            return true;
        usleep(1000);
    }
    return false;
}

static void test_ends(void **state)
{
    struct opener *opener = idle_opener();
    pid_t pid = opener->pid;

    (void)state;
    assert_false(opener_reap(opener));
    opener_kill(opener);
    assert_true(opener->client.lost);
    assert_true(reaped_soon(opener));
    assert_true(opener_reap(opener));
    assert_int_equal(kill(pid, 0), -1);
    opener_free(opener);
}

static void test_stopped_is_reaped_when_freed(void **state)
{
    struct opener *opener = idle_opener();
    pid_t pid = opener->pid;

    (void)state;
    kill(pid, SIGSTOP);
    opener_free(opener);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

static void test_does_not_end(void **state)
{
    struct opener *opener = idle_opener();
    pid_t tracer = trace(opener->pid), pid = opener->pid;

    (void)state;
    if (!tracer) {
        opener_free(opener);
        skip_because("no process may be traced here");
    }
    alarm(60); /* it would wait forever */
    assert_false(opener_kill(opener));
    usleep(100000);
    assert_false(opener_reap(opener));
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_true(reaped_soon(opener));
    assert_int_equal(kill(pid, 0), -1);
    opener_free(opener);
    alarm(0);
}

static void test_does_not_end_when_freed(void **state)
{
    struct opener *opener = idle_opener();
    pid_t tracer = trace(opener->pid), pid = opener->pid;

    (void)state;
    alarm(60);
    opener_free(opener);
    alarm(0);
    if (!tracer)
        skip_because("no process may be traced here");
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_stopped_is_reaped_when_freed),
        cmocka_unit_test(test_does_not_end),
        cmocka_unit_test(test_does_not_end_when_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
