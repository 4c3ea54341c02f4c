/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files: sizes around the limit, and what is no file. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/unit/test.h"

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

static void test_sizes(void **state)
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

static void test_size_is_optional(void **state)
{
    struct fixture *fixture = *state;
    _cleanup_(freep) char *text = NULL;
    char path[64];

    put_file(fixture, 3);
    snprintf(path, sizeof(path), "%s/file", fixture->path);
    assert_int_equal(file_read(AT_FDCWD, path, 10, &text, NULL), 0);
    assert_memory_equal(text, "\0\1\2\0", 4);
}

static void test_no_file(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_size_is_optional, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
