/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small files as a whole, and the descriptors of a process. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/unit/test.h"

/* Small files: sizes around the limit, and paths that are not regular files */

struct fixture {
    char path[32];
    int dir_fd;
};

static int setup(void **state)
{
    static struct fixture fixture;

    strcpy(fixture.path, "/tmp/test-file-XXXXXX");
    if (!mkdtemp(fixture.path))
        return -1;
    fixture.dir_fd = open(fixture.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &fixture;
    return fixture.dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    unlinkat(fixture->dir_fd, "file", 0);
    unlinkat(fixture->dir_fd, "fifo", 0);
    close(fixture->dir_fd);
    return rmdir(fixture->path);
}

static void put_file(const struct fixture *fixture, size_t size)
{
    _cleanup_(closep) int fd = openat(fixture->dir_fd, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    _cleanup_(freep) char *text = malloc(size + 1);

    assert_true(fd >= 0);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)i;
    assert_int_equal(write(fd, text, size), size);
}

TEST_WITH(test_sizes, setup, teardown)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 10000};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (int less = 0; less <= 1; less++) {
            _cleanup_(freep) char *text = NULL;
            size_t size = 42, max = sizes[i] - (size_t)less;
            if (less && sizes[i] == 0)
                continue;
            put_file(*state, sizes[i]);
            int r = file_read(((struct fixture *)*state)->dir_fd, "file", max, &text, &size);
            assert_int_equal(r, less ? -EFBIG : 0);
            assert_int_equal(size, less ? 42 : sizes[i]);
            if (less) {
                assert_null(text);
                continue;
            }
            for (size_t k = 0; k < size; k++)
                assert_int_equal(text[k], (char)k);
            assert_int_equal(text[size], '\0');
        }
}

TEST_WITH(test_no_file, setup, teardown)
{
    struct fixture *fixture = *state;
    char *text = NULL;

    assert_int_equal(file_read(fixture->dir_fd, "absent", 10, &text, NULL), -ENOENT);
    assert_int_equal(file_read(fixture->dir_fd, ".", 10, &text, NULL), -EISDIR);
    assert_int_equal(mkfifoat(fixture->dir_fd, "fifo", 0600), 0);
    assert_int_equal(file_read(fixture->dir_fd, "fifo", 10, &text, NULL), -ESPIPE);
    assert_int_equal(file_read(AT_FDCWD, "/dev/zero", 100000, &text, NULL), -EFBIG);
    assert_null(text);
    assert_int_equal(file_read(AT_FDCWD, "/dev/null", 0, &text, NULL), 0);
    assert_string_equal(text, "");
    free(text);
}

/* A process that closes all descriptors except a few */

static bool is_null(int fd)
{
    struct stat status, null;

    return fstat(fd, &status) == 0 && stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev;
}

/* Returns 0, or the number of the check that failed. */
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

TEST(test_keep_only)
{
    int status;

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

TEST(test_join)
{
    int first[2], second[2];

    assert_int_equal(pipe(first), 0);
    assert_int_equal(pipe(second), 0);
    int fd = fd_join((int[]){first[0], -1, second[0]}, 3);
    assert_true(fd >= 0);
    assert_false(is_readable(fd));
    assert_int_equal(write(second[1], "x", 1), 1);
    assert_true(is_readable(fd));
    assert_true(is_readable(fd)); /* it stays readable until the byte is read */
    assert_int_equal(read(second[0], &(char){0}, 1), 1);
    assert_false(is_readable(fd));
    close(fd);
    for (size_t i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
    }
    assert_int_equal(fd_join((int[]){9999}, 1), -EBADF);
}

TEST_MAIN(NULL, NULL)
