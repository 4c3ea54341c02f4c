/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of a process that keeps only some. */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/fd.h"
#include "tests/unit/test.h"

static bool is_null(int fd)
{
    struct stat status, null;

    return fstat(fd, &status) == 0 && stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev;
}

/* 0, or which of the expectations is not met. */
static int keep_two(void)
{
    const int other = dup(STDERR_FILENO), kept[] = {fcntl(STDERR_FILENO, F_DUPFD, 200), -1, dup(STDERR_FILENO)};
    const int high = fcntl(STDERR_FILENO, F_DUPFD, 300);
    uint64_t n;

    if (fd_keep_only(kept, ARRAY_SIZE(kept)) < 0)
        return 1;
    if (fcntl(other, F_GETFD) >= 0 || fcntl(high, F_GETFD) >= 0)
        return 2;
    if (fcntl(kept[0], F_GETFD) < 0 || fcntl(kept[2], F_GETFD) < 0 || fcntl(STDERR_FILENO, F_GETFD) < 0)
        return 3;
    if (!is_null(STDIN_FILENO) || !is_null(STDOUT_FILENO))
        return 4;
    return fd_count_open(-1, &n) == 0 && n == 5 ? 0 : 5;
}

static void test_keep_only(void **state)
{
    int status;

    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(keep_two());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, 0) == 1;
}

static void test_join(void **state)
{
    int first[2], second[2];

    (void)state;
    assert_int_equal(pipe(first), 0);
    assert_int_equal(pipe(second), 0);
    int fd = fd_join((int[]){first[0], -1, second[0]}, 3);
    assert_true(fd >= 0);
    assert_false(is_readable(fd));
    assert_int_equal(write(second[1], "x", 1), 1);
    assert_true(is_readable(fd));
    assert_true(is_readable(fd)); /* for as long as nobody reads */
    assert_int_equal(read(second[0], &(char){0}, 1), 1);
    assert_false(is_readable(fd));
    close(fd);
    for (size_t i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
    }
    assert_int_equal(fd_join((int[]){9999}, 1), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keep_only), cmocka_unit_test(test_join)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
