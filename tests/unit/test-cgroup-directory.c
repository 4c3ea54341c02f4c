/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of cgroups that are opened and listed, in a temporary directory; test-cgroup-tree.c goes deeper. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collectors/cgroup/directory.h"
#include "tests/unit/test.h"

struct place {
    char path[64];
    struct cgroup_root root;
};

static int setup(void **state)
{
    static struct place place;
    struct stat status;

    strcpy(place.path, "/tmp/perfcountd-directory-XXXXXX");
    if (!mkdtemp(place.path))
        return -1;
    place.root.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place.root.fd < 0 || fstat(place.root.fd, &status) < 0)
        return -1;
    place.root.device = status.st_dev;
    *state = &place;
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"a/b", "a", "c", "new"};
    const struct place *place = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        unlinkat(place->root.fd, names[i], AT_REMOVEDIR);
    unlinkat(place->root.fd, "file", 0);
    unlinkat(place->root.fd, "link", 0);
    close(place->root.fd);
    return rmdir(place->path);
}

static void make(const struct place *place, const char *name)
{
    assert_int_equal(mkdirat(place->root.fd, name, 0755), 0);
}

static void make_file(const struct place *place, const char *name)
{
    _cleanup_(closep) int fd = openat(place->root.fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
}

static uint64_t inode_of(const struct place *place, const char *name)
{
    struct stat status;

    assert_int_equal(fstatat(place->root.fd, name, &status, 0), 0);
    return status.st_ino;
}

/* The sum of the inodes, and how many. */
struct seen {
    size_t n;
    uint64_t inodes;
};

static void note(void *userdata, const char *name, uint64_t inode)
{
    struct seen *seen = userdata;

    assert_true(str_equal(name, "a") || str_equal(name, "c"));
    seen->n++;
    seen->inodes += inode;
}

static struct seen list(const struct place *place)
{
    int fd = openat(place->root.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct seen seen = {0};

    assert_true(fd >= 0);
    assert_int_equal(cgroup_directory_list(&place->root, &fd, note, &seen), 0);
    assert_int_equal(fd, -1);
    return seen;
}

/* Files and links are no cgroups, nor is what another file system has there. */
static void test_list(void **state)
{
    struct place *place = *state;
    uint64_t inode = 0;

    assert_int_equal(list(place).n, 0);
    make(place, "a");
    make(place, "a/b");
    make(place, "c");
    make_file(place, "file");
    assert_int_equal(symlinkat("a", place->root.fd, "link"), 0);
    struct seen seen = list(place);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.inodes, inode_of(place, "a") + inode_of(place, "c"));
    assert_int_equal(cgroup_directory_find(&place->root, place->root.fd, "a", &inode), 1);
    assert_int_equal(inode, inode_of(place, "a"));
    assert_int_equal(cgroup_directory_find(&place->root, place->root.fd, "file", &inode), 0);
    assert_int_equal(cgroup_directory_find(&place->root, place->root.fd, "link", &inode), 0);
    assert_int_equal(cgroup_directory_find(&place->root, place->root.fd, "none", &inode), 0);
    place->root.device++;
    assert_int_equal(cgroup_directory_find(&place->root, place->root.fd, "a", &inode), 0);
    assert_int_equal(list(place).n, 0);
    place->root.device--;
}

/* Some other user's: 0 where all is as it should be. Names can be read, and what they are cannot. */
static int look_as_nobody(const struct cgroup_root *root, int fd)
{
    struct seen seen = {0};
    uint64_t inode;

    if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        return 1;
    if (cgroup_directory_find(root, fd, "b", &inode) != -EACCES)
        return 2;
    return cgroup_directory_list(root, &fd, note, &seen) == -EACCES && seen.n == 0 ? 0 : 3;
}

/* Where nobody knows whether a name is a cgroup, it is not taken for gone. */
static void test_unknown(void **state)
{
    struct place *place = *state;
    int status;

    make(place, "a");
    make(place, "a/b");
    int fd = openat(place->root.fd, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0444), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(look_as_nobody(&place->root, fd));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
}

/* A cgroup is its inode: another in its place is not opened, and neither is what a link shows. */
static void test_open(void **state)
{
    static const struct {
        const char *in_path, *in_inode_of;
        int out_error;
    } cases[] = {
        {"/", ".", 0},           {"/a", "a", 0},           {"/a/b", "a/b", 0},       {"/a", "c", -ESTALE},
        {"/none", "a", -ENOENT}, {"/link", "a", -ENOTDIR}, {"/file", "a", -ENOTDIR}, {"/file/x", "a", -ENOTDIR},
    };
    const struct place *place = *state;

    make(place, "a");
    make(place, "a/b");
    make(place, "c");
    make_file(place, "file");
    assert_int_equal(symlinkat("a", place->root.fd, "link"), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(closep) int fd =
            cgroup_directory_open(&place->root, cases[i].in_path, inode_of(place, cases[i].in_inode_of));
        assert_int_equal(MIN(fd, 0), cases[i].out_error);
        assert_int_equal(cgroup_directory_is_gone(fd), cases[i].out_error < 0);
    }
    assert_false(cgroup_directory_is_gone(-EMFILE));
    assert_false(cgroup_directory_is_gone(-EACCES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
