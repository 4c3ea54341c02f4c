/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's own files are opened where nobody could put another one in the way; as root, who has more to
 * lose. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/safe-path.h"
#include "tests/unit/test.h"

#define STRANGER 12345
#define OTHER 12346

static char directory[] = "/tmp/perfcountd-trusted-XXXXXX";

static void make_directory(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(chown(name, owner, owner), 0);
    assert_int_equal(chmod(name, mode), 0);
}

static void make_file(const char *name, uid_t owner)
{
    _cleanup_(closep) int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, name, strlen(name)), (ssize_t)strlen(name));
    assert_int_equal(fchown(fd, owner, owner), 0);
}

static void make_link(const char *target, const char *name, uid_t owner)
{
    assert_int_equal(symlink(target, name), 0);
    assert_int_equal(lchown(name, owner, owner), 0);
}

/* For files that must be of STRANGER. */
static void make_directories_of_users(void)
{
    make_directory("shared", STRANGER, 0775);
    make_file("shared/file", STRANGER);
    make_file("shared/of-other", OTHER);
    make_link("../stranger/file", "shared/planted", OTHER);
    make_link("../root/file", "shared/to-root", STRANGER);
    make_directory("closed", 0, 0700);
    make_directory("closed/stranger", STRANGER, 0700);
    make_file("closed/stranger/file", STRANGER);
    make_directory("world", STRANGER, 0777);
    make_file("world/file", STRANGER);
}

static int setup(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return 0;
    if (!mkdtemp(directory) || chmod(directory, 0755) < 0 || chdir(directory) < 0)
        return -1;
    make_directory("root", 0, 0755);
    make_file("root/file", 0);
    make_file("root/of-stranger", STRANGER);
    make_link("file", "root/link", 0);
    make_link("../root/./file", "root/long-link", 0);
    make_link("link", "root/link-to-link", 0);
    make_link("loop", "root/loop", 0);
    make_link("nothing", "root/dangling", 0);
    make_link("../stranger/file", "root/to-stranger", 0);
    make_link("/etc/../etc/passwd", "root/absolute", 0);
    make_directory("stranger", STRANGER, 0755);
    make_file("stranger/file", STRANGER);
    make_file("stranger/of-root", 0);
    make_file("stranger/of-other", OTHER);
    make_link("/etc/shadow", "stranger/link", STRANGER);
    make_link("/etc", "stranger/etc", STRANGER);
    make_link("file", "stranger/own-link", STRANGER);
    make_directory("open", 0, 0777);
    make_file("open/file", 0);
    make_directory("group", 0, 0775);
    make_file("group/file", 0);
    make_directory("sticky", 0, 01777);
    make_file("sticky/file", 0);
    make_link("../root/file", "sticky/planted", STRANGER);
    assert_int_equal(mkfifo("root/fifo", 0600), 0);
    make_directories_of_users();
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return geteuid() != 0 ? 0 : nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define NAME_60 "123456789012345678901234567890123456789012345678901234567890"

static const struct {
    const char *in;
    int out;
} path_cases[] = {
    {"root/file", 0},
    {"./root//file", 0},
    {"root/../root/file", 0},
    {"root/link", 0},
    {"root/long-link", 0},
    {"root/link-to-link", 0},
    {"root/absolute", 0},
    {"root/of-stranger", 0},
    {"root/to-stranger", 0},
    {"stranger/file", 0},
    {"stranger/own-link", 0},
    {"sticky/file", 0},
    {"root/loop", -ELOOP},
    {"root/nothing", -ENOENT},
    {"root/dangling", -ENOENT},
    {"root/file/", 0},
    {"root/file/below", -ENOTDIR},
    {"root", -EBADRQC},
    {"root/fifo", -EBADRQC},
    {"/dev/null", -EBADRQC},
    {"", -EBADRQC},
    /* a name that is longer than names may be ends nothing */
    {"root/" NAME_60 NAME_60 NAME_60 NAME_60 NAME_60, -ENAMETOOLONG},
    {"root/file/" NAME_60 NAME_60 NAME_60 NAME_60 NAME_60, -ENAMETOOLONG},
    /* what a stranger could have put there */
    {"stranger/of-root", -EBADRQC},
    {"stranger/of-other", -EBADRQC},
    {"stranger/link", -EBADRQC},
    {"stranger/etc/shadow", -EBADRQC},
    {"sticky/planted", -EBADRQC},
    {"open/file", -EBADRQC},
    {"group/file", -EBADRQC},
};

static void test_paths(void **state)
{
    struct sys sys;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can make files of others");
    sys_init(&sys);
    for (size_t i = 0; i < ARRAY_SIZE(path_cases); i++) {
        _cleanup_(closep) int fd = opener_safe_path_open(&sys, path_cases[i].in);
        if (MIN(fd, 0) != path_cases[i].out)
            fail_msg("\"%s\": %d, not %d", path_cases[i].in, fd, path_cases[i].out);
        assert_true(fd < 0 || (fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) == O_RDONLY);
    }
}

/* A file that must be of this user. */
static const struct {
    const char *in;
    uid_t user;
    int out;
} owned_cases[] = {
    {"root/file", 0, 0},
    {"root/link", 0, 0},
    {"sticky/file", 0, 0},
    {"root/of-stranger", 0, -EBADRQC},
    {"root/to-stranger", 0, -EBADRQC},
    {"stranger/file", 0, -EBADRQC},
    {"stranger/of-root", 0, -EBADRQC},
    {"group/file", 0, -EBADRQC},
    {"root/fifo", 0, -EBADRQC},
    {"root/dangling", 0, -ENOENT},
    {"stranger/file", STRANGER, 0},
    {"stranger/own-link", STRANGER, 0},
    {"root/of-stranger", STRANGER, 0},
    {"root/to-stranger", STRANGER, 0},
    {"shared/file", STRANGER, 0},
    {"root/file", STRANGER, -EBADRQC},
    {"stranger/of-root", STRANGER, -EBADRQC},
    {"stranger/of-other", STRANGER, -EBADRQC},
    {"stranger/link", STRANGER, -EBADRQC},
    {"stranger/etc/shadow", STRANGER, -EBADRQC},
    {"shared/of-other", STRANGER, -EBADRQC},
    {"shared/planted", STRANGER, -EBADRQC},
    {"shared/to-root", STRANGER, -EBADRQC},
    {"world/file", STRANGER, -EBADRQC},
    {"closed/stranger/file", STRANGER, -EACCES},
    {"closed/nothing", STRANGER, -EACCES},
    {"closed/stranger", 0, -EBADRQC},
    {"stranger/file", OTHER, -EBADRQC},
    {"stranger/of-other", OTHER, -EBADRQC},
};

static void test_owned_paths(void **state)
{
    struct sys sys;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can make files of others");
    sys_init(&sys);
    for (size_t i = 0; i < ARRAY_SIZE(owned_cases); i++) {
        _cleanup_(closep) int fd = opener_safe_path_open_of(&sys, owned_cases[i].in, owned_cases[i].user);
        if (MIN(fd, 0) != owned_cases[i].out)
            fail_msg("\"%s\" of %u: %d, not %d", owned_cases[i].in, owned_cases[i].user, fd, owned_cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths), cmocka_unit_test(test_owned_paths)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
