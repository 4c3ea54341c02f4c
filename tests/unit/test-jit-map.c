/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of functions compiled at run time, which are opened only if they are the process's own. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/files/jit-map.h"
#include "tests/unit/test.h"

TEST(test_status)
{
    static const struct {
        const char *in;
        int out;
        struct jit_map_owner out_owner;
    } cases[] = {
        {"Name:\tnode\nUid:\t1\t2\t3\t4\nNSpid:\t77\n", 0, {77, 2}},
        {"Name:\tnode\nUid:\t1\t2\t3\t4\nGroups:\t5 6\nNSpid:\t77\t12\t1\nNSpgid:\t9\n", 0, {1, 2}},
        {"Name:\tUid: 9\\nUid:\nUid:\t0\t0\t0\t0\n", 0, {100, 0}},
        {"Name:\tnode\nUid:\t1\t4294967296\t3\t4\n", -EBADMSG, {0}},
        {"Name:\tnode\nNSpid:\t1\n", -EBADMSG, {0}},
        {"", -EBADMSG, {0}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct jit_map_owner owner = {0};
        assert_int_equal(jit_map_parse_status(cases[i].in, 100, &owner), cases[i].out);
        assert_int_equal(owner.uid, cases[i].out_owner.uid);
        assert_int_equal(owner.pid, cases[i].out_owner.pid);
    }
}

struct fixture {
    struct sys sys;
    char path[64], other[64];
    int watch;
};

static int setup(void **state)
{
    static struct fixture fixture;

    sys_init(&fixture.sys);
    snprintf(fixture.path, sizeof(fixture.path), "/tmp/perf-%d.map", (int)getpid());
    snprintf(fixture.other, sizeof(fixture.other), "/tmp/perf-%d.map.other", (int)getpid());
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    unlink(fixture->path);
    unlink(fixture->other);
    return 0;
}

static int try(struct fixture *fixture)
{
    _cleanup_(closep) int fd = -1;
    char text[8] = "";

    int r = jit_map_open(&fixture->sys, (uint32_t)getpid(), &fd);
    if (r == 0)
        assert_int_equal(read(fd, text, sizeof(text)), 3);
    return r;
}

static void write_file(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, "abc", 3), 3);
}

TEST_WITH(test_open, setup, teardown)
{
    struct fixture *fixture = *state;

    assert_int_equal(try(fixture), -ENOENT);
    write_file(fixture->path);
    assert_int_equal(try(fixture), 0);
    assert_int_equal(rename(fixture->path, fixture->other), 0);
    assert_int_equal(symlink(fixture->other, fixture->path), 0);
    assert_int_equal(try(fixture), -EPERM);
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    assert_int_equal(try(fixture), -EPERM);
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(try(fixture), -EPERM);
    assert_int_equal(rmdir(fixture->path), 0);
    int fd;
    assert_int_equal(jit_map_open(&fixture->sys, 4194304, &fd), -ENOENT);
}

TEST_WITH(test_owner, setup, teardown)
{
    struct fixture *fixture = *state;

    if (geteuid() != 0)
        skip_because("root, to give a file away");
    write_file(fixture->path);
    assert_int_equal(chown(fixture->path, 1, 1), 0);
    assert_int_equal(try(fixture), -EPERM);
    assert_int_equal(seteuid(1), 0); /* the owner */
    int own = try(fixture);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(fixture->path, 0, 0), 0);
    assert_int_equal(chmod(fixture->path, 0644), 0);
    assert_int_equal(seteuid(1), 0);
    int roots = try(fixture);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(own, 0);
    assert_int_equal(roots, -EPERM);
}

/* Between check and opening another user puts a FIFO there, which must have no effect. */
static int refuse_and_swap(struct sys *sys, const char *path, int flags)
{
    struct fixture *fixture = (struct fixture *)sys;

    if (!str_starts(path, "/proc/self/fd/") || flags & O_PATH)
        return sys_open_file(sys, path, flags);
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    fixture->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(fixture->watch, fixture->path, IN_OPEN) >= 0);
    return -EACCES;
}

TEST_WITH(test_swapped, setup, teardown)
{
    struct fixture *fixture = *state;
    char events[256];
    int fd;

    write_file(fixture->path);
    fixture->sys.open_file = refuse_and_swap;
    assert_int_equal(try(fixture), -EACCES);
    assert_int_equal(jit_map_open_by_opener(&fixture->sys, (uint32_t)getpid(), &fd), -EPERM);
    assert_int_equal(read(fixture->watch, events, sizeof(events)), -1);
    close(fixture->watch);
}

/* Without an opener, and with one. */
static int answer(struct sys *sys, const char *path, int flags)
{
    return sys_open_file(sys, path, strstr(path, "/perf-") ? flags & ~O_PATH : flags);
}

TEST_WITH(test_ask, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(closep) int fd = -1;

    write_file(fixture->path);
    assert_int_equal(jit_map_open_by_opener(&fixture->sys, (uint32_t)getpid(), &fd), -EACCES);
    assert_int_equal(jit_map_open_by_opener(&fixture->sys, 4194304, &fd), -ENOENT);
    assert_int_equal(fd, -1);
    fixture->sys.open_file = answer;
    assert_int_equal(jit_map_open_by_opener(&fixture->sys, (uint32_t)getpid(), &fd), 0);
    char text[8];
    assert_int_equal(read(fd, text, sizeof(text)), 3);
}

TEST_MAIN(NULL, NULL)
