/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that are created, removed and renamed, as plain directories and, if the machine permits it, as cgroups.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/selection.h"
#include "cgroups/tree.h"
#include "tests/unit/test.h"

#define LOG_SIZE 4096

/* The directory of the current test, and a log of the listener's calls like "+/a +/a/b -/a/b". */
static struct sim {
    char root[PATH_MAX];
    int root_fd;
    bool cgroups, terse; /* terse: the listener does not log */
    struct cgroup_tree *tree;
    char log[LOG_SIZE];
    size_t n_known, n_added, n_removed;
    uint64_t n_descriptors;    /* open descriptors before the test */
    struct cgroup_rules rules; /* which directories are wanted; all if there are no include patterns */
} sim;

/* --- the listener, which asserts that its calls are consistent --- */

static bool sim_knows(const char *path)
{
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(sim.tree, i)); i++)
        if (node->userdata == &sim && str_equal(node->path, path))
            return true;
    return false;
}

static bool has_known_child(const char *path)
{
    size_t length = str_equal(path, "/") ? 0 : strlen(path);
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(sim.tree, i)); i++)
        if (node->userdata == &sim && strncmp(node->path, path, length) == 0 && node->path[length] == '/' &&
            node->path[length + 1])
            return true;
    return false;
}

static void note(char sign, const char *path)
{
    size_t used = strlen(sim.log);

    if (!sim.terse)
        snprintf(sim.log + used, sizeof(sim.log) - used, "%s%c%s", used ? " " : "", sign, path);
}

static bool wants(void *userdata, const char *path)
{
    return sim.rules.n_include == 0 || cgroup_rules_want(&sim.rules, path, NULL);
}

static bool wants_below(void *userdata, const char *path)
{
    return sim.rules.n_include == 0 || cgroup_rules_want_below(&sim.rules, path);
}

static bool sim_seeks(const char *path)
{
    return wants(NULL, path) || wants_below(NULL, path);
}

static void added(void *userdata, struct cgroup_node *node, int fd)
{
    unsigned depth = 0;

    for (const char *at = node->path; *at; at++)
        depth += *at == '/' && at[1];
    assert_null(node->userdata);
    assert_true(fd >= 0 || sim.terse);
    assert_true(sim_seeks(node->path));
    assert_int_equal(node->depth, depth);
    if (sim.tree && !sim.terse) {
        _cleanup_(freep) char *parent = strdup(node->path);
        char *slash = strrchr(parent, '/');
        assert_false(sim_knows(node->path));
        slash[slash == parent] = '\0';
        assert_true(sim_knows(parent));
    }
    node->userdata = &sim;
    sim.n_added++;
    sim.n_known++;
    note('+', node->path);
}

static void removed(void *userdata, struct cgroup_node *node)
{
    assert_ptr_equal(node->userdata, &sim);
    assert_true(sim.terse || !has_known_child(node->path));
    node->userdata = NULL;
    sim.n_removed++;
    sim.n_known--;
    note('-', node->path);
}

static const struct cgroup_listener listener = {
    .wants = wants, .wants_below = wants_below, .added = added, .removed = removed};

/* --- the actions of tests --- */

/* Asserts that each directory that may contain wanted cgroups is watched exactly once. */
static void assert_watches(void)
{
    struct cgroup_node *node;
    size_t n = 0;

    for (size_t i = 0; (node = cgroup_tree_node(sim.tree, i)); i++)
        n += wants_below(NULL, node->path);
    assert_int_equal(cgroup_tree_watches(sim.tree), n);
}

static void sim_make(const char *name)
{
    if (mkdirat(sim.root_fd, name, 0755) < 0)
        fail_msg("mkdir %s: %s", name, strerror(errno));
}

static void sim_unmake(const char *name)
{
    if (unlinkat(sim.root_fd, name, AT_REMOVEDIR) < 0)
        fail_msg("rmdir %s: %s", name, strerror(errno));
}

/* Creates, removes and renames directories: "+a -a/b c>d". */
static void sim_do(const char *what)
{
    char words[128], *rest = words;

    snprintf(words, sizeof(words), "%s", what);
    for (char *word; (word = strsep(&rest, " "));) {
        char *to = strchr(word, '>');
        if (to) {
            *to++ = '\0';
            assert_int_equal(renameat(sim.root_fd, word, sim.root_fd, to), 0);
        } else {
            (*word == '+' ? sim_make : sim_unmake)(word + 1);
        }
    }
}

/* Opens a tree of the existing directories. */
static void sim_open(void)
{
    struct error error = {0};

    if (cgroup_tree_new(sim.root, &listener, &sim.tree, &error) < 0)
        fail_msg("%s", error.message);
}

/* Compares the log since the last call with the expected text. */
static void assert_log(const char *expected)
{
    assert_string_equal(sim.log, expected);
    sim.log[0] = '\0';
}

static void sim_start(void)
{
    sim_open();
    assert_log("+/");
}

/* Lets the tree process all changes. */
static void sim_dispatch(void)
{
    struct pollfd rest = {.fd = cgroup_tree_fd(sim.tree), .events = POLLIN};

    do
        cgroup_tree_dispatch(sim.tree);
    while (poll(&rest, 1, 0) > 0);
}

static void sim_assert_log(const char *expected)
{
    sim_dispatch();
    assert_log(expected);
    assert_watches();
    assert_null(cgroup_tree_limitation(sim.tree));
}

/* Removes everything below a directory, at any depth. */
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
            unlinkat(fd, item->d_name, 0); /* fails for the control files of a cgroup, which rmdir(2) removes */
        }
    }
    closedir(directory);
}

static int setup(const char *parent, bool cgroups)
{
    sim = (struct sim){.cgroups = cgroups};
    assert_int_equal(fd_count_open(-1, &sim.n_descriptors), 0);
    snprintf(sim.root, sizeof(sim.root), "%s/perfcountd-test-XXXXXX", parent);
    if (!mkdtemp(sim.root))
        return -1;
    sim.root_fd = open(sim.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fchmod(sim.root_fd, 0755), 0); /* unprivileged daemons of other tests read the directory */
    return 0;
}

static int setup_directory(void **state)
{
    return setup(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", false);
}

static int setup_cgroup(void **state)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    struct sys sys;

    sys_init(&sys);
    sim.root_fd = 0;
    if (hierarchy_find(&sys, &hierarchy, NULL) == 0)
        setup(hierarchy.path, true);
    return 0;
}

static int teardown(void **state)
{
    uint64_t descriptors;

    if (!sim.root_fd)
        return 0;
    cgroup_tree_free(sim.tree);
    empty_directory(sim.root_fd);
    assert_int_equal(rmdir(sim.root), 0);
    assert_int_equal(fd_count_open(-1, &descriptors), 0);
    assert_int_equal(descriptors, sim.n_descriptors);
    return 0;
}

/* Runs a test on plain directories, and again on cgroups. */
#define TEST_ON_BOTH(name)                                                                                             \
    static void name(void **state);                                                                                    \
    TEST_WITH(name##_in_directories, setup_directory, teardown)                                                        \
    {                                                                                                                  \
        name(state);                                                                                                   \
    }                                                                                                                  \
    TEST_WITH(name##_on_cgroups, setup_cgroup, teardown)                                                               \
    {                                                                                                                  \
        if (!sim.root_fd)                                                                                              \
            skip_because("the right to make cgroups");                                                                 \
        name(state);                                                                                                   \
    }                                                                                                                  \
    static void name(void **state)

TEST_ON_BOTH(test_what_is_there)
{
    sim_do("+a +a/b +a/b/c +d");
    if (!sim.cgroups) {
        close(openat(sim.root_fd, "file", O_CREAT | O_WRONLY, 0644));
        assert_int_equal(symlinkat("a", sim.root_fd, "link"), 0);
    }
    sim_open();
    /* The order of siblings is undefined. */
    sim_assert_log(str_starts(sim.log, "+/ +/a") ? "+/ +/a +/d +/a/b +/a/b/c" : "+/ +/d +/a +/a/b +/a/b/c");
    cgroup_tree_rescan(sim.tree);
    sim_assert_log("");
}

static const struct {
    const char *name;
    bool in_directories; /* cgroups cannot be renamed */
    struct {
        const char *in, *out;
    } steps[4];
} changes[] = {
    {"directories that are created and removed",
     false,
     {{"+a", "+/a"},
      {"+a/b +a/b/c +a/b/c/d", "+/a/b +/a/b/c +/a/b/c/d"},
      {"-a/b/c/d", "-/a/b/c/d"},
      {"-a/b/c -a/b -a", "-/a/b/c -/a/b -/a"}}},
    {"directories that are removed before the tree reads them", false, {{"+a -a +b +b/c -b/c", "+/b"}}},
    {"directories that are removed and created again before the events are read",
     false,
     {{"+a -a +a +a/b -a/b +a/b", "+/a +/a/b"}}},
    {"directories that are renamed, also before the event of the old name is read",
     true,
     {{"+a +a/b", "+/a +/a/b"},
      {"a>c", "-/a/b -/a +/c +/c/b"},
      {"+d c>d/e", "+/d -/c/b -/c +/d/e +/d/e/b"},
      {"+d/e/f", "+/d/e/f"}}},
};

TEST_ON_BOTH(test_changes)
{
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (sim.cgroups && changes[i].in_directories)
            continue;
        print_message("%s\n", changes[i].name);
        sim_start();
        for (size_t k = 0; k < ARRAY_SIZE(changes[i].steps) && changes[i].steps[k].in; k++) {
            sim_do(changes[i].steps[k].in);
            sim_assert_log(changes[i].steps[k].out);
        }
        sim.tree = cgroup_tree_free(sim.tree);
        sim.log[0] = '\0';
        empty_directory(openat(sim.root_fd, ".", O_RDONLY | O_DIRECTORY));
    }
}

TEST_ON_BOTH(test_back_under_the_same_name)
{
    sim_start();
    sim_do("+a +a/b");
    sim_assert_log("+/a +/a/b");
    sim_do("-a/b -a +a +a/c");
    sim_dispatch();
    if (str_starts(sim.log, "-/a/b -/a")) /* otherwise the new directory has the inode of the removed one */
        assert_string_equal(sim.log, "-/a/b -/a +/a +/a/c");
    else
        assert_false(sim.cgroups);
    sim.log[0] = '\0';
    sim_make("a/d"); /* the new directory is watched */
    sim_assert_log("+/a/d");
}

TEST_ON_BOTH(test_open)
{
    struct stat status;

    sim_start();
    sim_make("a");
    sim_assert_log("+/a");
    struct cgroup_node *node = cgroup_tree_node(sim.tree, 1);
    assert_null(cgroup_tree_node(sim.tree, 2));
    assert_string_equal(node->path, "/a");
    int fd = cgroup_tree_open(sim.tree, node);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(status.st_ino, node->inode);
    close(fd);
    sim_unmake("a");
    assert_int_equal(cgroup_tree_open(sim.tree, node), -ENOENT);
    sim_do("+x +a"); /* x may get the inode of the removed a, so that the new a has another one */
    assert_int_equal(cgroup_tree_open(sim.tree, node), -ESTALE);
}

TEST_ON_BOTH(test_names)
{
    char longest[NAME_MAX + 1] = "", expected[NAME_MAX + 8];
    const char *const names[] = {"a b", "\"quoted\"", "back\\slash", "\xff\xfe", "\xc3\xa4",
                                 "...", "*",          "%s%n",        longest,    "two\nlines"};

    memset(longest, 'x', NAME_MAX);
    sim_start();
    for (size_t i = 0; i < ARRAY_SIZE(names) - sim.cgroups;
         i++) { /* a cgroup's name cannot contain a newline (cgroup_mkdir()), so the last name is left out */
        sim_make(names[i]);
        snprintf(expected, sizeof(expected), "+/%s", names[i]);
        sim_assert_log(expected);
        sim_unmake(names[i]);
        *expected = '-';
        sim_assert_log(expected);
    }
}

/* The path is longer than PATH_MAX, so each directory is created and removed relative to its parent's descriptor. */
TEST_ON_BOTH(test_deep)
{
    enum { DEPTH = 30 };
    int fds[DEPTH + 1] = {sim.root_fd};
    char name[201];

    memset(name, 'x', 200);
    name[200] = '\0';
    sim_start();
    sim.terse = true;
    for (size_t i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0755), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY);
        assert_true(fds[i + 1] >= 0);
        if (i == DEPTH / 2)
            sim_dispatch();
    }
    sim_assert_log("");
    assert_int_equal(sim.n_known, DEPTH + 1);
    cgroup_tree_rescan(sim.tree);
    sim_assert_log("");
    assert_int_equal(sim.n_known, DEPTH + 1);
    struct cgroup_node *deepest = cgroup_tree_node(sim.tree, DEPTH);
    assert_int_equal(strlen(deepest->path), DEPTH * 201);
    int fd = cgroup_tree_open(sim.tree, deepest);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = DEPTH; i > 0; i--) {
        close(fds[i]);
        assert_int_equal(unlinkat(fds[i - 1], name, AT_REMOVEDIR), 0);
    }
    sim_assert_log("");
    assert_int_equal(sim.n_known, 1);
}

/* Compares the tree with the wanted directories below `path`, and counts those in `n`. */
static void compare(int dir_fd, const char *path, size_t *n)
{
    DIR *directory = fdopendir(dir_fd);
    char below[PATH_MAX];
    struct dirent *item;

    assert_non_null(directory);
    while ((item = readdir(directory))) {
        if (item->d_type != DT_DIR || item->d_name[0] == '.')
            continue;
        snprintf(below, sizeof(below), "%s/%s", path, item->d_name);
        assert_int_equal(sim_knows(below), sim_seeks(below));
        *n += sim_seeks(below);
        compare(openat(dir_fd, item->d_name, O_RDONLY | O_DIRECTORY), below, n);
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

TEST_ON_BOTH(test_storm)
{
    static const char *const include[] = {"/a/*", "/b/**/c", "/c"}, *const exclude[] = {"/b/a/**"};
    char path[64], other[64];
    size_t n = 1;

    sim.rules = (struct cgroup_rules){
        .include = (char *const *)include, .n_include = 3, .exclude = (char *const *)exclude, .n_exclude = 1};
    sim_start();
    srand(4);
    for (size_t i = 0; i < 4000; i++) {
        sim.log[0] = '\0';
        chance_path(path, sizeof(path));
        chance_path(other, sizeof(other));
        int what = rand() % 12;
        if (what < 6)
            mkdirat(sim.root_fd, path, 0755);
        else if (what < 9)
            unlinkat(sim.root_fd, path, AT_REMOVEDIR);
        else if (what < 10)
            renameat(sim.root_fd, path, sim.root_fd, other);
        else if (rand() % 8)
            sim_dispatch();
        else
            cgroup_tree_rescan(sim.tree);
    }
    sim_dispatch();
    compare(openat(sim.root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    assert_true(sim.n_removed > 30);
    assert_int_equal(sim.n_known, n);
    sim.log[0] = '\0';
    sim_assert_log("");
}

/* Creates and removes nested directories in another process while the tree reads them. */
static void make_trouble(void)
{
    char path[64];

    srand(5);
    for (size_t i = 0; i < 10000; i++) {
        snprintf(path, sizeof(path), "n%zu/x/y", i);
        for (size_t length = strlen(path) - 4; i % 20 == 0 && length <= strlen(path); length += 2) {
            char part[64] = "";
            memcpy(part, path, length);
            mkdirat(sim.root_fd, part, 0755);
        }
        chance_path(path, sizeof(path));
        if (rand() % 2)
            mkdirat(sim.root_fd, path, 0755);
        else
            unlinkat(sim.root_fd, path, AT_REMOVEDIR);
    }
}

TEST_ON_BOTH(test_race)
{
    size_t n = 1;
    int status;

    sim_start();
    sim.terse = true;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        make_trouble();
        _exit(0);
    }
    while (waitpid(child, &status, WNOHANG) == 0)
        sim_dispatch();
    assert_int_equal(status, 0);
    sim_dispatch();
    compare(openat(sim.root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    assert_int_equal(sim.n_known, n);
    sim_assert_log("");
}

TEST(test_no_root)
{
    struct cgroup_tree *tree = NULL;
    struct error error = {0};

    assert_int_equal(cgroup_tree_new("/no/such/place", &listener, &tree, &error), -ENOENT);
    assert_string_equal(error.message, "cannot open /no/such/place: No such file or directory");
    assert_int_equal(cgroup_tree_new("/dev/null", &listener, &tree, &error), -ENOTDIR);
    assert_null(tree);
}

static void assert_innermost(const char *path, const char *expected)
{
    const struct cgroup_node *node = cgroup_tree_innermost(sim.tree, path);

    assert_string_equal(node ? node->path : "", expected);
}

TEST_WITH(test_innermost, setup_directory, teardown)
{
    struct cgroup_node *node;

    sim_start();
    sim_do("+a +a/b +a/b/c");
    sim_assert_log("+/a +/a/b +/a/b/c");
    assert_innermost("/", "/");
    assert_innermost("/ab", "/");
    assert_innermost("/a/b", "/a/b");
    assert_innermost("/a/b/x/y", "/a/b");
    for (size_t i = 0; (node = cgroup_tree_node(sim.tree, i)); i++)
        node->userdata = str_equal(node->path, "/a") ? &sim : NULL;
    assert_innermost("/a/b/c", "/a");
    assert_innermost("/b", "");
    for (size_t i = 0; (node = cgroup_tree_node(sim.tree, i)); i++)
        node->userdata = &sim;
}

/* Directories that cannot contain wanted cgroups are not watched, and their content is unknown. */
TEST_WITH(test_wanted, setup_directory, teardown)
{
    static const char *const include[] = {"/*.slice", "/system.slice/*.service"}, *const all[] = {"/**"};
    static const char *const exclude[] = {"/user.slice/**"};
    sim.rules = (struct cgroup_rules){.include = (char *const *)include, .n_include = 2};
    sim_start();
    sim_do("+system.slice +user.slice +other");
    sim_assert_log("+/system.slice +/user.slice");
    assert_int_equal(cgroup_tree_watches(sim.tree), 2);
    sim_do("+user.slice/a.service +user.slice/a.service/b +system.slice/a.scope +system.slice/a.service "
           "+system.slice/a.service/b");
    sim_assert_log("+/system.slice/a.service");
    cgroup_tree_rescan(sim.tree);
    sim_assert_log("");
    assert_int_equal(cgroup_tree_watches(sim.tree), 2);
    /* After the rules change, the tree also lists the cgroups that are now wanted. */
    sim.rules = (struct cgroup_rules){
        .include = (char *const *)all, .n_include = 1, .exclude = (char *const *)exclude, .n_exclude = 1};
    cgroup_tree_rescan(sim.tree);
    assert_int_equal(sim.n_removed, 0);
    assert_int_equal(sim.n_known, 7);
    assert_true(sim_knows("/other") && sim_knows("/system.slice/a.service/b"));
    assert_int_equal(cgroup_tree_watches(sim.tree), 6);
    sim.log[0] = '\0';
    sim_do("+system.slice/a.scope/c +user.slice/c");
    sim_assert_log("+/system.slice/a.scope/c");
    /* The first rules are in effect again. */
    sim.rules = (struct cgroup_rules){.include = (char *const *)include, .n_include = 2};
    cgroup_tree_rescan(sim.tree);
    assert_int_equal(sim.n_known, 4);
    sim.log[0] = '\0';
    sim_assert_log("");
    assert_int_equal(cgroup_tree_watches(sim.tree), 2);
}

/* A directory leaves the tree and returns under another name. */
TEST_WITH(test_moved_out_and_back, setup_directory, teardown)
{
    char outside[PATH_MAX + 8];

    sim_start();
    sim_do("+a +a/b");
    sim_assert_log("+/a +/a/b");
    snprintf(outside, sizeof(outside), "%s-out", sim.root);
    assert_int_equal(renameat(sim.root_fd, "a", AT_FDCWD, outside), 0);
    assert_int_equal(renameat(AT_FDCWD, outside, sim.root_fd, "back"), 0);
    sim_dispatch();
    assert_int_equal(sim.n_known, 3);
    assert_true(sim_knows("/back/b"));
}

TEST_WITH(test_overflow, setup_directory, teardown)
{
    unsigned long max = 16384;
    _cleanup_(fclosep) FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file)
        assert_int_equal(fscanf(file, "%lu", &max), 1);
    if (max > 50000)
        skip_because("an inotify queue of less than 50000 events");
    sim_start();
    sim_make("old");
    sim_assert_log("+/old");
    for (size_t i = 0; i < max / 2 + 10; i++) {
        sim_make("x");
        sim_unmake("x");
    }
    sim_make("new");
    sim_unmake("old");
    sim_dispatch();
    assert_int_equal(sim.n_known, 2);
    assert_true(sim_knows("/new"));
    sim.log[0] = '\0';
    sim_make("new/er");
    sim_assert_log("+/new/er");
}

/*
 * Enters a user namespace, which has its own limits, and sets one of them. A process cannot leave the namespace again,
 * so tests call this function in a child process.
 */
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

/* A child reports failures by its exit status, since cmocka's assertions only work in the parent. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_message("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define TEST_IN_CHILD(name)                                                                                            \
    static void run_##name(void);                                                                                      \
    TEST_WITH(test_##name, setup_directory, teardown)                                                                  \
    {                                                                                                                  \
        in_child(run_##name);                                                                                          \
    }                                                                                                                  \
    static void run_##name(void)

static void in_child(void (*run)(void))
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(CHILD_WELL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT)
        skip_because("namespaces and limits of its own");
    assert_int_equal(status, 0);
}

TEST_IN_CHILD(without_instances)
{
    if (!enter_namespace("max_inotify_instances", "0"))
        _exit(CHILD_CANNOT);
    sim_make("a");
    CHECK(cgroup_tree_new(sim.root, &listener, &sim.tree, NULL) == 0);
    CHECK(cgroup_tree_fd(sim.tree) == -1);
    CHECK(strstr(cgroup_tree_limitation(sim.tree), "fs.inotify.max_user_instances"));
    CHECK(str_equal(sim.log, "+/ +/a"));
    sim_make("a/b");
    sim_dispatch();
    CHECK(str_equal(sim.log, "+/ +/a"));
    cgroup_tree_rescan(sim.tree);
    CHECK(str_equal(sim.log, "+/ +/a +/a/b"));
    sim_unmake("a/b");
    sim_unmake("a");
    cgroup_tree_rescan(sim.tree);
    CHECK(str_equal(sim.log, "+/ +/a +/a/b -/a/b -/a"));
    CHECK(cgroup_tree_watches(sim.tree) == 0);
    CHECK(strstr(cgroup_tree_limitation(sim.tree), "fs.inotify.max_user_instances"));
}

TEST_IN_CHILD(few_watches)
{
    if (!enter_namespace("max_inotify_watches", "2"))
        _exit(CHILD_CANNOT);
    sim_start();
    CHECK(!cgroup_tree_limitation(sim.tree));
    sim_do("+a +b");
    sim_dispatch();
    CHECK(str_equal(sim.log, "+/a +/b"));
    CHECK(cgroup_tree_watches(sim.tree) == 2);
    CHECK(strstr(cgroup_tree_limitation(sim.tree), "fs.inotify.max_user_watches"));
    sim_make("b/c");
    sim_dispatch();
    CHECK(sim.n_known == 3);
    cgroup_tree_rescan(sim.tree);
    CHECK(sim.n_known == 4);
    CHECK(strstr(cgroup_tree_limitation(sim.tree), "fs.inotify.max_user_watches"));
    /* Once inotify watches are free again, the next rescan uses them. */
    sim_unmake("b/c");
    cgroup_tree_rescan(sim.tree);
    sim_unmake("a");
    sim_dispatch();
    cgroup_tree_rescan(sim.tree);
    CHECK(!cgroup_tree_limitation(sim.tree));
    CHECK(cgroup_tree_watches(sim.tree) == 2);
    sim_make("b/d");
    sim_dispatch();
    CHECK(sim_knows("/b/d"));
}

TEST_IN_CHILD(few_descriptors)
{
    struct rlimit limit, none;

    sim_start();
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    sim_do("+a +a/b");
    setrlimit(RLIMIT_NOFILE, &none);
    sim_dispatch();
    CHECK(sim.n_known == 1);
    CHECK(strstr(cgroup_tree_limitation(sim.tree), "LimitNOFILE"));
    cgroup_tree_rescan(sim.tree);
    CHECK(sim.n_known == 1);
    CHECK(cgroup_tree_limitation(sim.tree));
    setrlimit(RLIMIT_NOFILE, &limit);
    cgroup_tree_rescan(sim.tree);
    CHECK(sim.n_known == 3);
    CHECK(cgroup_tree_watches(sim.tree) == 3);
    CHECK(!cgroup_tree_limitation(sim.tree));
    /* Known cgroups stay known while they cannot be read. */
    setrlimit(RLIMIT_NOFILE, &none);
    cgroup_tree_rescan(sim.tree);
    CHECK(sim.n_known == 3);
}

/* Mounts inside the tree are not cgroups, and a directory that a bind mount shows twice is one cgroup. */
TEST_IN_CHILD(mounts)
{
    char from[PATH_MAX + 8], to[PATH_MAX + 8];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(CHILD_CANNOT);
    sim_do("+a +a/in +b +c +loop");
    snprintf(from, sizeof(from), "%s/a", sim.root);
    snprintf(to, sizeof(to), "%s/b", sim.root);
    CHECK(mount(from, to, NULL, MS_BIND, NULL) == 0);
    snprintf(to, sizeof(to), "%s/c", sim.root);
    CHECK(mount("none", to, "tmpfs", 0, NULL) == 0);
    sim_make("c/elsewhere");
    snprintf(to, sizeof(to), "%s/loop", sim.root);
    CHECK(mount(sim.root, to, NULL, MS_BIND, NULL) == 0);
    CHECK(cgroup_tree_new(sim.root, &listener, &sim.tree, NULL) == 0);
    CHECK(sim.n_known == 3);
    CHECK(sim_knows("/a") != sim_knows("/b"));
    cgroup_tree_rescan(sim.tree);
    CHECK(sim.n_known == 3);
    CHECK(sim.n_removed == 0);
    CHECK(cgroup_tree_watches(sim.tree) == 3);
}

TEST_MAIN(NULL, NULL)
