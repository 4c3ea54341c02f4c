/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that come and go, in a temporary directory and, where the machine lets us, as real cgroups. Each test
 * ends with nothing open and with the kernel's number of watches being the tree's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "collectors/cgroup/tree.h"
#include "perf/hierarchy.h"
#include "tests/unit/test.h"

#define LOG_SIZE 4096

/* A root to play in, and what the listener heard: "+/a +/a/b -/a/b". */
struct play {
    char root[PATH_MAX];
    int root_fd;
    bool cgroups;
    struct cgroup_tree *tree;
    char log[LOG_SIZE];
    size_t n_known, n_added, n_removed;
    uint64_t n_descriptors; /* open before */
    bool terse;             /* counts only */
};

/* --- the listener, which checks its contract --- */

static bool is_known(const struct play *play, const char *path)
{
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(play->tree, i)); i++)
        if (node->userdata == play && str_equal(node->path, path))
            return true;
    return false;
}

static bool has_known_child(const struct play *play, const char *path)
{
    size_t length = str_equal(path, "/") ? 0 : strlen(path);
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(play->tree, i)); i++)
        if (node->userdata == play && strncmp(node->path, path, length) == 0 && node->path[length] == '/' &&
            node->path[length + 1])
            return true;
    return false;
}

static void note(struct play *play, char sign, const char *path)
{
    size_t used = strlen(play->log);

    if (!play->terse)
        snprintf(play->log + used, sizeof(play->log) - used, "%s%c%s", used ? " " : "", sign, path);
}

static unsigned depth_of(const char *path)
{
    unsigned depth = 0;

    if (str_equal(path, "/"))
        return 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static void added(void *userdata, struct cgroup_node *node)
{
    struct play *play = userdata;

    assert_null(node->userdata);
    assert_int_equal(node->depth, depth_of(node->path));
    if (play->tree && !play->terse) {
        char *parent = strdup(node->path);
        assert_non_null(parent);
        char *slash = strrchr(parent, '/');
        assert_false(is_known(play, node->path));
        slash[slash == parent] = '\0';
        assert_true(is_known(play, parent));
        free(parent);
    }
    node->userdata = play;
    play->n_added++;
    play->n_known++;
    note(play, '+', node->path);
}

static void removed(void *userdata, struct cgroup_node *node)
{
    struct play *play = userdata;

    assert_ptr_equal(node->userdata, play);
    assert_true(play->terse || !has_known_child(play, node->path));
    node->userdata = NULL;
    play->n_removed++;
    play->n_known--;
    note(play, '-', node->path);
}

/* --- helpers --- */

/* As the kernel counts them: proc_pid_fdinfo(5). */
static size_t count_watches(int fd)
{
    char path[64], line[512];
    size_t n = 0;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        n += str_starts(line, "inotify wd:");
    fclose(file);
    return n;
}

static void make(const struct play *play, const char *name)
{
    if (mkdirat(play->root_fd, name, 0755) < 0)
        fail_msg("mkdir %s: %s", name, strerror(errno));
}

static void unmake(const struct play *play, const char *name)
{
    if (unlinkat(play->root_fd, name, AT_REMOVEDIR) < 0)
        fail_msg("rmdir %s: %s", name, strerror(errno));
}

static void start(struct play *play)
{
    struct cgroup_listener listener = {.userdata = play, .added = added, .removed = removed};
    struct error error = {0};

    if (cgroup_tree_new(play->root, &listener, &play->tree, &error) < 0)
        fail_msg("%s", error.message);
    assert_int_equal(play->n_known, 1);
    assert_string_equal(play->log, "+/");
    play->log[0] = '\0';
}

static void assert_heard(struct play *play, const char *expected)
{
    cgroup_tree_dispatch(play->tree);
    assert_string_equal(play->log, expected);
    play->log[0] = '\0';
    assert_int_equal(cgroup_tree_watches(play->tree), play->n_known);
    assert_int_equal(count_watches(cgroup_tree_fd(play->tree)), play->n_known);
    assert_null(cgroup_tree_limitation(play->tree));
}

/* Removes what is below a directory, of any depth. */
static void empty_directory(int fd)
{
    DIR *directory = fdopendir(fd);
    struct dirent *item;

    assert_non_null(directory);
    while ((item = readdir(directory))) {
        if (str_equal(item->d_name, ".") || str_equal(item->d_name, ".."))
            continue;
        if (item->d_type == DT_DIR) {
            empty_directory(openat(fd, item->d_name, O_RDONLY | O_DIRECTORY));
            assert_int_equal(unlinkat(fd, item->d_name, AT_REMOVEDIR), 0);
        } else {
            unlinkat(fd, item->d_name, 0); /* not to be done to a cgroup's files */
        }
    }
    closedir(directory);
}

static int setup(void **state, const char *parent, bool cgroups)
{
    struct play *play = calloc(1, sizeof(*play));

    assert_non_null(play);
    play->cgroups = cgroups;
    assert_int_equal(fd_count_open(-1, &play->n_descriptors), 0);
    snprintf(play->root, sizeof(play->root), "%s/perfcountd-test-XXXXXX", parent);
    if (!mkdtemp(play->root)) {
        free(play);
        return -1;
    }
    play->root_fd = open(play->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = play;
    return 0;
}

static int setup_directory(void **state)
{
    const char *parent = getenv("TMPDIR");

    if (!parent) /* disks take milliseconds to remove a directory */
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    return setup(state, parent, false);
}

/* Without cgroups that we may make, the state is NULL. */
static int setup_cgroup(void **state)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    struct error error = {0};
    struct sys sys;

    sys_init(&sys);
    *state = NULL;
    if (hierarchy_find(&sys, &hierarchy, &error) < 0)
        print_message("no cgroups: %s\n", error.message);
    else if (setup(state, hierarchy.path, true) < 0)
        print_message("no cgroups can be made in %s: %s\n", hierarchy.path, strerror(errno));
    return 0;
}

static int teardown(void **state)
{
    struct play *play = *state;
    uint64_t descriptors;

    if (!play)
        return 0;
    play->tree = cgroup_tree_free(play->tree);
    empty_directory(play->root_fd);
    assert_int_equal(rmdir(play->root), 0);
    assert_int_equal(fd_count_open(-1, &descriptors), 0);
    assert_int_equal(descriptors, play->n_descriptors);
    free(play);
    return 0;
}

static struct play *begin(void **state)
{
    if (!*state) {
        print_message("skipped\n");
        skip();
    }
    return *state;
}

/* --- what any file system does --- */

static void test_what_is_there(void **state)
{
    struct cgroup_listener listener = {.userdata = begin(state), .added = added, .removed = removed};
    struct play *play = *state;

    make(play, "a");
    make(play, "a/b");
    make(play, "a/b/c");
    make(play, "d");
    if (!play->cgroups) {
        close(openat(play->root_fd, "file", O_CREAT | O_WRONLY, 0644));
        assert_int_equal(symlinkat("a", play->root_fd, "link"), 0);
    }
    assert_int_equal(cgroup_tree_new(play->root, &listener, &play->tree, NULL), 0);
    /* In no order between brothers. */
    const char *expected = str_starts(play->log, "+/ +/a") ? "+/ +/a +/d +/a/b +/a/b/c" : "+/ +/d +/a +/a/b +/a/b/c";
    assert_heard(play, expected);
    cgroup_tree_rescan(play->tree);
    assert_heard(play, "");
}

static void test_coming_and_going(void **state)
{
    struct play *play = begin(state);

    start(play);
    make(play, "a");
    assert_heard(play, "+/a");
    make(play, "a/b");
    make(play, "a/b/c");
    make(play, "a/b/c/d");
    assert_heard(play, "+/a/b +/a/b/c +/a/b/c/d");
    unmake(play, "a/b/c/d");
    assert_heard(play, "-/a/b/c/d");
    unmake(play, "a/b/c");
    unmake(play, "a/b");
    unmake(play, "a");
    cgroup_tree_dispatch(play->tree);
    assert_int_equal(play->n_known, 1);
    play->log[0] = '\0';
    assert_heard(play, "");
}

static void test_gone_before_it_was_seen(void **state)
{
    struct play *play = begin(state);

    start(play);
    make(play, "a");
    unmake(play, "a");
    make(play, "b");
    make(play, "b/c");
    unmake(play, "b/c");
    assert_heard(play, "+/b");
}

static void test_back_under_the_same_name(void **state)
{
    struct play *play = begin(state);

    start(play);
    make(play, "a");
    make(play, "a/b");
    assert_heard(play, "+/a +/a/b");
    unmake(play, "a/b");
    unmake(play, "a");
    make(play, "a");
    make(play, "a/c");
    cgroup_tree_dispatch(play->tree);
    if (str_starts(play->log, "-/a/b -/a")) /* else a file system used the inode again */
        assert_string_equal(play->log, "-/a/b -/a +/a +/a/c");
    else
        assert_false(play->cgroups);
    play->log[0] = '\0';
    make(play, "a/d"); /* so it is the new one that is watched */
    assert_heard(play, "+/a/d");
}

/* The events of a past that was never seen do not remove what is there now. */
static void test_stale_events(void **state)
{
    struct play *play = begin(state);

    start(play);
    make(play, "a");
    unmake(play, "a");
    make(play, "a");
    make(play, "a/b");
    unmake(play, "a/b");
    make(play, "a/b");
    assert_heard(play, "+/a +/a/b");
}

static void test_open(void **state)
{
    struct play *play = begin(state);
    struct cgroup_node *node;
    struct stat status;

    start(play);
    make(play, "a");
    assert_heard(play, "+/a");
    node = cgroup_tree_node(play->tree, 1);
    assert_null(cgroup_tree_node(play->tree, 2));
    assert_string_equal(node->path, "/a");
    int fd = cgroup_tree_open(play->tree, node);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(status.st_ino, node->inode);
    close(fd);
    unmake(play, "a");
    assert_int_equal(cgroup_tree_open(play->tree, node), -ENOENT);
    make(play, "x"); /* takes the inode, where inodes are used again */
    make(play, "a");
    assert_int_equal(cgroup_tree_open(play->tree, node), -ESTALE);
    fd = cgroup_tree_open(play->tree, cgroup_tree_node(play->tree, 0));
    assert_true(fd >= 0);
    close(fd);
}

static void test_names(void **state)
{
    static const char *const names[] = {"a b", "\"quoted\"", "back\\slash", "\xff\xfe", "\xc3\xa4", "...", "*", "%s%n"};
    struct play *play = begin(state);
    char longest[NAME_MAX + 1], expected[NAME_MAX + 8];

    start(play);
    memset(longest, 'x', NAME_MAX);
    longest[NAME_MAX] = '\0';
    for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
        const char *name = i < ARRAY_SIZE(names) ? names[i] : longest;
        make(play, name);
        snprintf(expected, sizeof(expected), "+/%s", name);
        assert_heard(play, expected);
        unmake(play, name);
        snprintf(expected, sizeof(expected), "-/%s", name);
        assert_heard(play, expected);
    }
    if (!play->cgroups) { /* which refuse line breaks: cgroup_mkdir() */
        make(play, "two\nlines");
        assert_heard(play, "+/two\nlines");
    }
}

/* Deeper than PATH_MAX: made and removed from the end of a chain of descriptors. */
static void test_deep(void **state)
{
    enum { DEPTH = 30 };
    struct play *play = begin(state);
    int fds[DEPTH + 1] = {play->root_fd};
    char name[201];

    memset(name, 'x', 200);
    name[200] = '\0';
    start(play);
    play->terse = true;
    for (size_t i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0755), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY);
        assert_true(fds[i + 1] >= 0);
        if (i == DEPTH / 2)
            cgroup_tree_dispatch(play->tree);
    }
    assert_heard(play, "");
    assert_int_equal(play->n_known, DEPTH + 1);
    cgroup_tree_rescan(play->tree);
    assert_heard(play, "");
    assert_int_equal(play->n_known, DEPTH + 1);
    struct cgroup_node *deepest = cgroup_tree_node(play->tree, DEPTH);
    assert_int_equal(strlen(deepest->path), DEPTH * 201);
    int fd = cgroup_tree_open(play->tree, deepest);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = DEPTH; i > 0; i--) {
        close(fds[i]);
        assert_int_equal(unlinkat(fds[i - 1], name, AT_REMOVEDIR), 0);
    }
    assert_heard(play, "");
    assert_int_equal(play->n_known, 1);
}

/* Directories made and removed by chance, read by chance: in the end the tree is what is there. */
static void compare(const struct play *play, int dir_fd, const char *path, size_t *n)
{
    DIR *directory = fdopendir(dir_fd);
    char below[PATH_MAX];
    struct dirent *item;

    assert_non_null(directory);
    while ((item = readdir(directory))) {
        if (item->d_type != DT_DIR || item->d_name[0] == '.')
            continue;
        snprintf(below, sizeof(below), "%s/%s", path, item->d_name);
        assert_true(is_known(play, below));
        ++*n;
        compare(play, openat(dir_fd, item->d_name, O_RDONLY | O_DIRECTORY), below, n);
    }
    closedir(directory);
}

static void chance_path(char *path, size_t size)
{
    static const char *const names[] = {"a", "b", "c"};
    size_t used = 0;

    for (int depth = 1 + rand() % 4; depth > 0; depth--)
        used += (size_t)snprintf(path + used, size - used, "%s%s", used ? "/" : "", names[rand() % 3]);
}

static void test_storm(void **state)
{
    struct play *play = begin(state);
    char path[64], other[64];
    size_t n = 1;

    start(play);
    srand(4);
    for (size_t i = 0; i < 4000; i++) {
        play->log[0] = '\0';
        chance_path(path, sizeof(path));
        chance_path(other, sizeof(other));
        int what = rand() % 12;
        if (what < 6)
            mkdirat(play->root_fd, path, 0755);
        else if (what < 9)
            unlinkat(play->root_fd, path, AT_REMOVEDIR);
        else if (what < 10)
            renameat(play->root_fd, path, play->root_fd, other);
        else if (rand() % 8)
            cgroup_tree_dispatch(play->tree);
        else
            cgroup_tree_rescan(play->tree);
    }
    cgroup_tree_dispatch(play->tree);
    compare(play, openat(play->root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    print_message("%zu came, %zu went, %zu are there\n", play->n_added, play->n_removed, n);
    assert_true(play->n_removed > 100);
    assert_int_equal(play->n_known, n);
    play->log[0] = '\0';
    assert_heard(play, "");
}

/* Somebody else makes and removes nested directories while they are looked at. */
static void make_trouble(const struct play *play)
{
    char path[64];

    srand(5);
    for (size_t i = 0; i < 10000; i++) {
        if (i % 20 == 0) { /* one in the other as fast as can be */
            for (size_t depth = 0; depth < 3; depth++) {
                static const char *const below[] = {"", "/x", "/x/y"};
                snprintf(path, sizeof(path), "n%zu%s", i, below[depth]);
                mkdirat(play->root_fd, path, 0755);
            }
        }
        chance_path(path, sizeof(path));
        if (rand() % 2)
            mkdirat(play->root_fd, path, 0755);
        else
            unlinkat(play->root_fd, path, AT_REMOVEDIR);
    }
}

static void test_race(void **state)
{
    struct play *play = begin(state);
    size_t n = 1, n_reads = 0;
    int status;

    start(play);
    play->terse = true;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        make_trouble(play);
        _exit(0);
    }
    for (; waitpid(child, &status, WNOHANG) == 0; n_reads++)
        cgroup_tree_dispatch(play->tree);
    assert_int_equal(status, 0);
    cgroup_tree_dispatch(play->tree);
    compare(play, openat(play->root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    print_message("%zu came, %zu went, %zu are there after %zu reads\n", play->n_added, play->n_removed, n, n_reads);
    assert_int_equal(play->n_known, n);
    assert_true(play->n_removed > 10);
    assert_heard(play, "");
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Many brothers: made, looked through again and removed in time that does not grow by the square. */
static void test_many(void **state)
{
    struct play *play = begin(state);
    size_t n = play->cgroups ? 1000 : 5000;
    double spent = 0, at;
    char name[32];

    start(play);
    play->terse = true;
    for (size_t step = 0; step < 2; step++) {
        for (size_t i = 0; i < n; i++) {
            snprintf(name, sizeof(name), "service-%zu", i);
            (step == 0 ? make : unmake)(play, name);
        }
        at = seconds();
        cgroup_tree_dispatch(play->tree);
        assert_int_equal(play->n_known, step == 0 ? n + 1 : 1);
        cgroup_tree_rescan(play->tree);
        assert_int_equal(play->n_known, step == 0 ? n + 1 : 1);
        spent += seconds() - at;
    }
    assert_heard(play, "");
    print_message("%zu: %.0f us each\n", n, spent * 1e6 / (double)n);
    assert_true(spent < 5);
}

/* --- what only directories can be made to do --- */

static void test_rename(void **state)
{
    struct play *play = begin(state);

    start(play);
    make(play, "a");
    make(play, "a/b");
    assert_heard(play, "+/a +/a/b");
    renameat(play->root_fd, "a", play->root_fd, "c");
    assert_heard(play, "-/a/b -/a +/c +/c/b");
    /* Found under its new name before the event about the old one is read. */
    make(play, "d");
    renameat(play->root_fd, "c", play->root_fd, "d/e");
    assert_heard(play, "+/d -/c/b -/c +/d/e +/d/e/b");
    make(play, "d/e/f");
    assert_heard(play, "+/d/e/f");
    /* Out of the tree. */
    char outside[PATH_MAX + 8];
    snprintf(outside, sizeof(outside), "%s-out", play->root);
    assert_int_equal(renameat(play->root_fd, "d/e", AT_FDCWD, outside), 0);
    assert_int_equal(renameat(AT_FDCWD, outside, play->root_fd, "back"), 0);
    cgroup_tree_dispatch(play->tree);
    assert_int_equal(play->n_known, 5);
    assert_true(is_known(play, "/back/b") && is_known(play, "/back/f"));
}

static void test_overflow(void **state)
{
    struct play *play = begin(state);
    unsigned long max = 16384;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file) {
        assert_int_equal(fscanf(file, "%lu", &max), 1);
        fclose(file);
    }
    if (max > 50000) {
        print_message("skipped: the queue takes %lu events\n", max);
        skip();
    }
    start(play);
    make(play, "old");
    assert_heard(play, "+/old");
    for (size_t i = 0; i < max / 2 + 10; i++) {
        make(play, "x");
        unmake(play, "x");
    }
    make(play, "new");
    unmake(play, "old");
    cgroup_tree_dispatch(play->tree);
    assert_int_equal(play->n_known, 2);
    assert_true(is_known(play, "/new"));
    play->log[0] = '\0';
    make(play, "new/er");
    assert_heard(play, "+/new/er");
}

/* In a child, since it cannot be undone: a namespace of users has limits of its own. */
static bool enter_namespace(const char *limit, const char *value)
{
    char path[64];

    if (unshare(CLONE_NEWUSER) < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/sys/user/%s", limit);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;
    close(fd);
    return done;
}

enum { CHILD_WELL = 0, CHILD_CANNOT = 77 };

/* A child reports by its exit status; assertions do not reach over fork(2). */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_message("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static void in_child(void **state, void (*run)(struct play *play))
{
    int status;

    begin(state);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run(*state);
        _exit(CHILD_WELL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT) {
        print_message("skipped: no namespaces or limits of our own here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void run_without_instances(struct play *play)
{
    if (!enter_namespace("max_inotify_instances", "0"))
        _exit(CHILD_CANNOT);
    make(play, "a");
    struct cgroup_listener listener = {.userdata = play, .added = added, .removed = removed};
    CHECK(cgroup_tree_new(play->root, &listener, &play->tree, NULL) == 0);
    CHECK(cgroup_tree_fd(play->tree) == -1);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_instances"));
    CHECK(str_equal(play->log, "+/ +/a"));
    make(play, "a/b");
    cgroup_tree_dispatch(play->tree);
    CHECK(str_equal(play->log, "+/ +/a"));
    cgroup_tree_rescan(play->tree);
    CHECK(str_equal(play->log, "+/ +/a +/a/b"));
    unmake(play, "a/b");
    unmake(play, "a");
    cgroup_tree_rescan(play->tree);
    CHECK(str_equal(play->log, "+/ +/a +/a/b -/a/b -/a"));
    CHECK(cgroup_tree_watches(play->tree) == 0);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_instances"));
}

static void test_without_instances(void **state)
{
    in_child(state, run_without_instances);
}

static void run_few_watches(struct play *play)
{
    if (!enter_namespace("max_inotify_watches", "2"))
        _exit(CHILD_CANNOT);
    start(play);
    CHECK(!cgroup_tree_limitation(play->tree));
    make(play, "a");
    make(play, "b");
    cgroup_tree_dispatch(play->tree);
    CHECK(str_equal(play->log, "+/a +/b"));
    CHECK(cgroup_tree_watches(play->tree) == 2);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_watches"));
    make(play, "b/c");
    cgroup_tree_dispatch(play->tree);
    CHECK(play->n_known == 3);
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 4);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_watches"));
    /* Room again: the next rescan takes it. */
    unmake(play, "b/c");
    cgroup_tree_rescan(play->tree);
    unmake(play, "a");
    cgroup_tree_dispatch(play->tree);
    cgroup_tree_rescan(play->tree);
    CHECK(!cgroup_tree_limitation(play->tree));
    CHECK(cgroup_tree_watches(play->tree) == 2);
    make(play, "b/d");
    cgroup_tree_dispatch(play->tree);
    CHECK(is_known(play, "/b/d"));
}

static void test_few_watches(void **state)
{
    in_child(state, run_few_watches);
}

static void run_few_descriptors(struct play *play)
{
    struct rlimit limit, none;

    start(play);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    make(play, "a");
    make(play, "a/b");
    setrlimit(RLIMIT_NOFILE, &none);
    cgroup_tree_dispatch(play->tree);
    CHECK(play->n_known == 1);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "LimitNOFILE"));
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 1);
    CHECK(cgroup_tree_limitation(play->tree));
    setrlimit(RLIMIT_NOFILE, &limit);
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 3);
    CHECK(cgroup_tree_watches(play->tree) == 3);
    CHECK(!cgroup_tree_limitation(play->tree));
    /* Cgroups that are known stay known while they cannot be read. */
    setrlimit(RLIMIT_NOFILE, &none);
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 3);
}

static void test_few_descriptors(void **state)
{
    in_child(state, run_few_descriptors);
}

/* Mounts in the tree are no cgroups of their own, and what a bind mount shows twice is one. */
static void run_mounts(struct play *play)
{
    char from[PATH_MAX + 8], to[PATH_MAX + 8];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(CHILD_CANNOT);
    make(play, "a");
    make(play, "a/in");
    make(play, "b");
    make(play, "c");
    make(play, "loop");
    snprintf(from, sizeof(from), "%s/a", play->root);
    snprintf(to, sizeof(to), "%s/b", play->root);
    CHECK(mount(from, to, NULL, MS_BIND, NULL) == 0);
    snprintf(to, sizeof(to), "%s/c", play->root);
    CHECK(mount("none", to, "tmpfs", 0, NULL) == 0);
    make(play, "c/elsewhere");
    snprintf(to, sizeof(to), "%s/loop", play->root);
    CHECK(mount(play->root, to, NULL, MS_BIND, NULL) == 0);
    struct cgroup_listener listener = {.userdata = play, .added = added, .removed = removed};
    CHECK(cgroup_tree_new(play->root, &listener, &play->tree, NULL) == 0);
    print_message("%s\n", play->log);
    CHECK(play->n_known == 3);
    CHECK(is_known(play, "/a") != is_known(play, "/b"));
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 3);
    CHECK(play->n_removed == 0);
    CHECK(count_watches(cgroup_tree_fd(play->tree)) == 3);
}

static void test_mounts(void **state)
{
    in_child(state, run_mounts);
}

static void test_no_root(void **state)
{
    struct cgroup_listener listener = {.added = added, .removed = removed};
    struct cgroup_tree *tree = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(cgroup_tree_new("/no/such/place", &listener, &tree, &error), -ENOENT);
    assert_string_equal(error.message, "cannot open the cgroups' directory /no/such/place: No such file or directory");
    assert_null(tree);
    assert_int_equal(cgroup_tree_new("/dev/null", &listener, &tree, &error), -ENOTDIR);
    assert_null(cgroup_tree_free(NULL));
}

#define ON_DIRECTORIES(f) cmocka_unit_test_setup_teardown(f, setup_directory, teardown)
#define ON_CGROUPS(f)                                                                                                  \
    {                                                                                                                  \
#f " on cgroups", f, setup_cgroup, teardown, NULL                                                              \
    }
#define ON_BOTH(f) ON_DIRECTORIES(f), ON_CGROUPS(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_what_is_there),
        ON_BOTH(test_coming_and_going),
        ON_BOTH(test_gone_before_it_was_seen),
        ON_BOTH(test_back_under_the_same_name),
        ON_BOTH(test_stale_events),
        ON_BOTH(test_open),
        ON_BOTH(test_names),
        ON_BOTH(test_deep),
        ON_BOTH(test_storm),
        ON_BOTH(test_race),
        ON_BOTH(test_many),
        ON_DIRECTORIES(test_rename),
        ON_DIRECTORIES(test_overflow),
        ON_DIRECTORIES(test_without_instances),
        ON_DIRECTORIES(test_few_watches),
        ON_DIRECTORIES(test_few_descriptors),
        ON_DIRECTORIES(test_mounts),
        cmocka_unit_test(test_no_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
