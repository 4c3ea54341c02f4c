/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that run while something is counted: how they end, and that they wait until they may begin. */
#include "daemon/command/workload.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

static char not_there[] = "/perfcountd-no-such-file", no_program[] = "/";
static char *const nothing[] = {not_there, NULL}, *const directory[] = {no_program, NULL};

static const struct {
    const char *in; /* for sh -c */
    int out;
} cases[] = {
    {"exit 0", 0},
    {"exit 5", 5},
    {"kill -TERM $$", 128 + SIGTERM},
};

static void test_status(void **state)
{
    struct workload workload;
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char shell[] = "sh", flag[] = "-c", text[32];
        char *const arguments[] = {shell, flag, text, NULL};
        snprintf(text, sizeof(text), "%s", cases[i].in);
        assert_int_equal(workload_start(arguments, &workload, &error), 0);
        assert_int_equal(workload_run(&workload, &error), 0);
        assert_int_equal(workload.status, cases[i].out);
        workload_done(&workload);
    }
}

static void test_failures(void **state)
{
    struct workload workload;
    struct error error;

    (void)state;
    assert_int_equal(workload_start(nothing, &workload, &error), 0);
    assert_int_equal(workload_run(&workload, &error), -ENOENT);
    assert_int_equal(workload.status, 127);
    assert_string_equal(error.message, "/perfcountd-no-such-file: cannot be run: No such file or directory");
    workload_done(&workload);
    assert_int_equal(workload_start(directory, &workload, &error), 0);
    assert_int_equal(workload_run(&workload, &error), -EACCES);
    assert_int_equal(workload.status, 126);
    workload_done(&workload);
}

/* One that is not let run leaves nothing: no process, no descriptor, no signal that is blocked. */
static void test_never_begun(void **state)
{
    char touch[] = "touch", path[] = "/tmp/perfcountd-test-workload.XXXXXX";
    char *const arguments[] = {touch, path, NULL};
    struct workload workload;
    struct error error;
    sigset_t before, after;
    int fd = mkstemp(path);

    (void)state;
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
    workload_done(&workload); /* of one that is done, or was never there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_never_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
