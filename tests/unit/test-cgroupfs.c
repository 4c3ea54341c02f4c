/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cgroup hierarchy that perf uses in mountinfo, and reads its directories. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/cgroupfs.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ROOT_MOUNT "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define UNIFIED "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
#define V1_CPU "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
#define V1_SYSTEMD "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
#define V1_PERF "42 31 0:39 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"

#define HOST_V2 "1 0 0:1 /../../.. /sys/fs/cgroup ro - cgroup2 none rw\n"
#define HOST_V1 "1 0 0:1 /../.. /sys/fs/cgroup ro - cgroup cgroup rw,perf_event\n"

static const struct {
    const char *name, *in, *out_path;
    enum hierarchy_kind out_kind;
    bool out_namespaced;
} found[] = {
    {"only v2", ROOT_MOUNT V2, "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"hybrid, perf_event in v2", ROOT_MOUNT V1_CPU V1_SYSTEMD UNIFIED, "/sys/fs/cgroup/unified", HIERARCHY_V2, false},
    {"hybrid, perf_event in v1", UNIFIED V1_CPU V1_PERF, "/sys/fs/cgroup/perf_event", HIERARCHY_V1, false},
    {"v1 is listed before v2", V1_PERF V2, "/sys/fs/cgroup/perf_event", HIERARCHY_V1, false},
    {"v1 with other controllers", "1 0 0:1 / /c rw - cgroup cgroup rw,cpu,perf_event,freezer\n", "/c", HIERARCHY_V1,
     false},
    {"controllers whose names contain perf_event", "1 0 0:1 / /c rw - cgroup cgroup rw,xperf_event,perf_events\n" V2,
     "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"a v1 hierarchy that is only named perf_event", "1 0 0:1 / /c rw - cgroup cgroup rw,name=perf_event\n" V2,
     "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"the mount source is named perf_event", "1 0 0:1 / /c rw - cgroup perf_event rw,cpu\n" V2, "/sys/fs/cgroup",
     HIERARCHY_V2, false},
    {"escapes", "1 0 0:1 / /a\\040b\\134c\\011d\\012e\\0 rw - cgroup2 none rw\n", "/a b\\c\td\ne\\0", HIERARCHY_V2,
     false},
    {"optional fields", "1 0 0:1 / /c rw shared:7 master:3 propagate_from:2 unbindable - cgroup2 none rw\n", "/c",
     HIERARCHY_V2, false},
    {"a field after the hyphen is missing", "1 0 0:1 / /c rw -  cgroup2 rw\n" V2, "/sys/fs/cgroup", HIERARCHY_V2,
     false},
    {"the mount source is empty", "1 0 0:1 / /c rw - cgroup2  rw\n", "/c", HIERARCHY_V2, false},
    {"the first of two equal mounts is used",
     "1 0 0:1 / /one rw - cgroup2 none rw\n2 0 0:1 / /two rw - cgroup2 none rw\n", "/one", HIERARCHY_V2, false},
    {"a mount of the whole hierarchy is preferred to a mount of a subtree",
     "1 0 0:1 /x.slice /one rw - cgroup2 none rw\n2 0 0:1 / /two rw - cgroup2 none rw\n", "/two", HIERARCHY_V2, false},
    {"a subtree of v1 is preferred to the whole of v2", V2 "1 0 0:1 /docker/1 /c rw - cgroup cgroup rw,perf_event\n",
     "/c", HIERARCHY_V1, true},
    {"a mount from outside the namespace", "1 0 0:1 /../../.. /sys/fs/cgroup ro - cgroup2 none rw\n", "/sys/fs/cgroup",
     HIERARCHY_V2, true},
    {"a mount from outside the namespace is preferred to one from inside",
     V2 "1 0 0:1 /../.. /host ro - cgroup2 none rw\n", "/host", HIERARCHY_V2, true},
    {"the mounted directory's name begins with dots", "1 0 0:1 /..x /c rw - cgroup2 none rw\n" V2, "/sys/fs/cgroup",
     HIERARCHY_V2, false},
    {"read-only", "1 0 0:1 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup ro\n", "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"no line break at the end", "1 0 0:1 / /c rw - cgroup2 none rw", "/c", HIERARCHY_V2, false},
    {"truncated lines", "1\n\n2 0 0:1\n3 0 0:1 / /x rw\n4 0 0:1 / /x rw -\n5 0 0:1 / /x rw - cgroup2\n" V2,
     "/sys/fs/cgroup", HIERARCHY_V2, false},
};

TEST(test_parse)
{
    for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
        _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
        struct error error = {0};
        print_message("%s\n", found[i].name);
        assert_int_equal(hierarchy_parse(found[i].in, &hierarchy, &error), 0);
        assert_string_equal(hierarchy.path, found[i].out_path);
        assert_int_equal(hierarchy.kind, found[i].out_kind);
        assert_int_equal(hierarchy.namespaced, found[i].out_namespaced);
        assert_string_equal(error.message, "");
    }
}

TEST(test_parse_nothing)
{
    static const struct {
        const char *in, *out_remedy;
    } cases[] = {
        {"", "mount -t cgroup2 cgroup2 /sys/fs/cgroup"},
        {ROOT_MOUNT, "mount -t cgroup2 cgroup2 /sys/fs/cgroup"},
        {ROOT_MOUNT V1_CPU V1_SYSTEMD, "mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct hierarchy hierarchy = {.namespaced = true};
        struct error error = {0};
        assert_int_equal(hierarchy_parse(cases[i].in, &hierarchy, &error), -ENOENT);
        print_message("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i].out_remedy));
        assert_true(hierarchy.namespaced && !hierarchy.path);
    }
}

static void make_namespace(struct fake_sys *fake, const char *target)
{
    fake_file(fake, "/proc/self/ns/user", "%s", "");
    assert_int_equal(symlink(target, fake_path(fake, "/proc/self/ns/cgroup")), 0);
}

TEST(test_find)
{
    static const struct {
        const char *in_namespace, *in_mount, *in_file;
        bool out_namespaced;
    } cases[] = {
        {"cgroup:[4026531835]", V2, NULL, false},
        {"cgroup:[4026532541]", V2, NULL, true},
        {"cgroup:[4026532541]", HOST_V2, NULL, false}, /* the host's root is mounted in the container */
        {"cgroup:[4026532541]", HOST_V2, "cgroup.type", true},
        {"cgroup:[4026532541]", HOST_V1, NULL, true},
        {"cgroup:[4026532541]", HOST_V1, "release_agent", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
        struct fake_sys *fake = fake_sys_new();
        fake_file(fake, "/proc/self/mountinfo", ROOT_MOUNT "%s", cases[i].in_mount);
        make_namespace(fake, cases[i].in_namespace);
        if (cases[i].in_file) {
            char path[64];
            snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", cases[i].in_file);
            fake_file(fake, path, "%s", "");
        }
        assert_int_equal(hierarchy_find(&fake->sys, &hierarchy, NULL), 0);
        assert_string_equal(hierarchy.path, fake_path(fake, "/sys/fs/cgroup"));
        assert_int_equal(hierarchy.namespaced, cases[i].out_namespaced);
        fake_sys_free(fake);
    }
}

TEST(test_find_without_proc)
{
    struct hierarchy hierarchy = {0};
    struct fake_sys *fake = fake_sys_new();
    struct error error = {0};

    assert_int_equal(hierarchy_find(&fake->sys, &hierarchy, &error), -ENOENT);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "/proc/self/mountinfo"));
    assert_non_null(strstr(error.message, "No such file or directory"));
    assert_null(hierarchy.path);
    fake_sys_free(fake);
}

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

/* Number of cgroups that a listing reported, and the sum of their inode numbers. */
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

/*
 * Runs as another user, who can read the names in the directory but not their types. Returns 0 if all calls fail as
 * expected.
 */
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

/* If the type of a name cannot be read, the cgroup is not reported as removed. */
TEST_WITH(test_unknown, setup, teardown)
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

/* A cgroup is identified by its inode: a different directory at the same path is not opened, nor is a symbolic link. */
TEST_WITH(test_open, setup, teardown)
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

TEST_MAIN(NULL, NULL)
