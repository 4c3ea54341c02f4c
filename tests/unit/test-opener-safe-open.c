/* SPDX-License-Identifier: Apache-2.0 */
/* The opener opens only files that nobody else could have planted. Also covers the mapped files of processes. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/safe-open.h"
#include "tests/unit/test.h"

#define STRANGER 12345
#define OTHER 12346

static char directory[] = "/tmp/perfcountd-trusted-XXXXXX";

static const struct {
    const char *name;
    uid_t owner;
    mode_t mode;
    const char *target; /* target of a symbolic link */
} made[] = {
    {"root", 0, S_IFDIR | 0755, NULL},
    {"root/file", 0, S_IFREG | 0600, NULL},
    {"root/of-stranger", STRANGER, S_IFREG | 0600, NULL},
    {"root/link", 0, S_IFLNK, "file"},
    {"root/long-link", 0, S_IFLNK, "../root/./file"},
    {"root/link-to-link", 0, S_IFLNK, "link"},
    {"root/loop", 0, S_IFLNK, "loop"},
    {"root/dangling", 0, S_IFLNK, "nothing"},
    {"root/to-stranger", 0, S_IFLNK, "../stranger/file"},
    {"root/absolute", 0, S_IFLNK, "/etc/../etc/passwd"},
    {"stranger", STRANGER, S_IFDIR | 0755, NULL},
    {"stranger/file", STRANGER, S_IFREG | 0600, NULL},
    {"stranger/of-root", 0, S_IFREG | 0600, NULL},
    {"stranger/of-other", OTHER, S_IFREG | 0600, NULL},
    {"stranger/link", STRANGER, S_IFLNK, "/etc/shadow"},
    {"stranger/etc", STRANGER, S_IFLNK, "/etc"},
    {"stranger/own-link", STRANGER, S_IFLNK, "file"},
    {"stranger/environ", STRANGER, S_IFLNK, "/proc/self/environ"},
    {"open", 0, S_IFDIR | 0777, NULL},
    {"open/file", 0, S_IFREG | 0600, NULL},
    {"group", 0, S_IFDIR | 0775, NULL},
    {"group/file", 0, S_IFREG | 0600, NULL},
    {"sticky", 0, S_IFDIR | 01777, NULL},
    {"sticky/file", 0, S_IFREG | 0600, NULL},
    {"sticky/planted", STRANGER, S_IFLNK, "../root/file"},
    {"root/fifo", 0, S_IFIFO | 0600, NULL},
    {"shared", STRANGER, S_IFDIR | 0775, NULL},
    {"shared/file", STRANGER, S_IFREG | 0600, NULL},
    {"shared/of-other", OTHER, S_IFREG | 0600, NULL},
    {"shared/planted", OTHER, S_IFLNK, "../stranger/file"},
    {"shared/to-root", STRANGER, S_IFLNK, "../root/file"},
    {"closed", 0, S_IFDIR | 0700, NULL},
    {"closed/stranger", STRANGER, S_IFDIR | 0700, NULL},
    {"closed/stranger/file", STRANGER, S_IFREG | 0600, NULL},
    {"world", STRANGER, S_IFDIR | 0777, NULL},
    {"world/file", STRANGER, S_IFREG | 0600, NULL},
};

static int setup(void **state)
{
    if (geteuid() != 0)
        return 0;
    if (!mkdtemp(directory) || chmod(directory, 0755) < 0 || chdir(directory) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
        const char *name = made[i].name;
        if (S_ISLNK(made[i].mode))
            assert_int_equal(symlink(made[i].target, name), 0);
        else if (S_ISDIR(made[i].mode))
            assert_int_equal(mkdir(name, 0700), 0);
        else
            assert_int_equal(mknod(name, made[i].mode, 0), 0);
        assert_int_equal(lchown(name, made[i].owner, made[i].owner), 0);
        if (S_ISDIR(made[i].mode))
            assert_int_equal(chmod(name, made[i].mode & 07777), 0);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    return remove(path);
}

static int teardown(void **state)
{
    return geteuid() != 0 ? 0 : nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define NAME_60 "123456789012345678901234567890123456789012345678901234567890"

#define ANYBODY UINT32_MAX

/*
 * If `user` is ANYBODY, a file of any owner is opened unless a stranger could have put it there. If `user` is a uid,
 * the file must belong to that user.
 */
static const struct {
    const char *in;
    uid_t user;
    int out;
} path_cases[] = {
    {"root/file", ANYBODY, 0},
    {"./root//file", ANYBODY, 0},
    {"root/../root/file", ANYBODY, 0},
    {"root/link", ANYBODY, 0},
    {"root/long-link", ANYBODY, 0},
    {"root/link-to-link", ANYBODY, 0},
    {"root/absolute", ANYBODY, 0},
    {"root/of-stranger", ANYBODY, 0},
    {"root/to-stranger", ANYBODY, 0},
    {"stranger/file", ANYBODY, 0},
    {"stranger/own-link", ANYBODY, 0},
    {"sticky/file", ANYBODY, 0},
    {"root/loop", ANYBODY, -ELOOP},
    {"root/nothing", ANYBODY, -ENOENT},
    {"root/dangling", ANYBODY, -ENOENT},
    {"root/file/", ANYBODY, 0},
    {"root/file/below", ANYBODY, -ENOTDIR},
    {"root", ANYBODY, -EBADRQC},
    {"root/fifo", ANYBODY, -EBADRQC},
    {"/dev/null", ANYBODY, -EBADRQC},
    {"", ANYBODY, -EBADRQC},
    /* path components longer than NAME_MAX */
    {"root/" NAME_60 NAME_60 NAME_60 NAME_60 NAME_60, ANYBODY, -ENAMETOOLONG},
    {"root/file/" NAME_60 NAME_60 NAME_60 NAME_60 NAME_60, ANYBODY, -ENAMETOOLONG},
    /* files that a stranger could have planted */
    {"stranger/of-root", ANYBODY, -EBADRQC},
    {"stranger/of-other", ANYBODY, -EBADRQC},
    {"stranger/link", ANYBODY, -EBADRQC},
    {"stranger/etc/shadow", ANYBODY, -EBADRQC},
    {"sticky/planted", ANYBODY, -EBADRQC},
    {"open/file", ANYBODY, -EBADRQC},
    {"group/file", ANYBODY, -EBADRQC},
    /* files that must belong to a user */
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
    {"stranger/environ", STRANGER, -EBADRQC},
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

TEST(test_paths)
{
    struct sys sys;

    if (geteuid() != 0)
        skip_because("root, to make files of others");
    sys_init(&sys);
    for (size_t i = 0; i < ARRAY_SIZE(path_cases); i++) {
        const char *path = path_cases[i].in;
        uid_t user = path_cases[i].user;
        _cleanup_(closep) int fd =
            user == ANYBODY ? opener_safe_path_open(&sys, path) : opener_safe_path_open_of(&sys, path, user);
        if (MIN(fd, 0) != path_cases[i].out)
            fail_msg("\"%s\" of %d: %d, not %d", path, (int)user, fd, path_cases[i].out);
        assert_true(fd < 0 || (fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) == O_RDONLY);
    }
}

TEST_MAIN(setup, teardown)
