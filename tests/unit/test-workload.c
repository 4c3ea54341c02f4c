/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that run while events are counted: how they end, and that they wait until they may start. */
#include "cmd/workload.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

static const struct {
    const char *in[3];
    int out, out_status;
    const char *out_error;
} cases[] = {
    {{"sh", "-c", "exit 0"}, 0, 0, ""},
    {{"sh", "-c", "exit 5"}, 0, 5, ""},
    {{"sh", "-c", "kill -TERM $$"}, 0, 128 + SIGTERM, ""},
    {{"/no-such-file"}, -ENOENT, 127, "/no-such-file: cannot be run: No such file or directory"},
    {{"/"}, -EACCES, 126, "/: cannot be run: Permission denied"},
};

TEST(test_ends)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *const arguments[] = {(char *)cases[i].in[0], (char *)cases[i].in[1], (char *)cases[i].in[2], NULL};
        struct error error = {0};
        struct workload workload;
        assert_int_equal(workload_start(arguments, &workload, &error), 0);
        assert_int_equal(workload_run(&workload, &error), cases[i].out);
        assert_int_equal(workload.status, cases[i].out_status);
        assert_string_equal(error.message, cases[i].out_error);
        workload_done(&workload);
    }
}

/* A command that is never started leaves nothing behind: no process, no descriptor and no blocked signal. */
TEST(test_never_begun)
{
    char touch[] = "touch", path[] = "/tmp/perfcountd-test-workload.XXXXXX";
    char *const arguments[] = {touch, path, NULL};
    struct workload workload;
    struct error error;
    sigset_t before, after;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    sigprocmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(workload_start(arguments, &workload, &error), 0);
    pid_t pid = workload.pid;
    fd = workload.fd;
    workload_done(&workload);
    sigprocmask(SIG_BLOCK, NULL, &after);
    for (int i = 1; i < 32; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(access(path, F_OK), -1);
    workload_done(&workload); /* workload_done() can be called twice */
}

TEST_MAIN(NULL, NULL)
