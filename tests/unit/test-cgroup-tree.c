/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that come and go, in a temporary directory and, where the machine lets us, as real cgroups. Each test
 * ends with nothing open and with the kernel's number of watches being the tree's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"
#include "tests/unit/tree-play.h"

static void test_what_is_there(void **state)
{
    struct play *play = play_begin(state);
    struct cgroup_listener listener = play_listener(play);

    play_make(play, "a");
    play_make(play, "a/b");
    play_make(play, "a/b/c");
    play_make(play, "d");
    if (!play->cgroups) {
        close(openat(play->root_fd, "file", O_CREAT | O_WRONLY, 0644));
        assert_int_equal(symlinkat("a", play->root_fd, "link"), 0);
    }
    assert_int_equal(cgroup_tree_new(play->root, &listener, &play->tree, NULL), 0);
    /* In no order between brothers. */
    const char *expected = str_starts(play->log, "+/ +/a") ? "+/ +/a +/d +/a/b +/a/b/c" : "+/ +/d +/a +/a/b +/a/b/c";
    play_assert_heard(play, expected);
    cgroup_tree_rescan(play->tree);
    play_assert_heard(play, "");
}

static void test_coming_and_going(void **state)
{
    struct play *play = play_begin(state);

    play_start(play);
    play_make(play, "a");
    play_assert_heard(play, "+/a");
    play_make(play, "a/b");
    play_make(play, "a/b/c");
    play_make(play, "a/b/c/d");
    play_assert_heard(play, "+/a/b +/a/b/c +/a/b/c/d");
    play_unmake(play, "a/b/c/d");
    play_assert_heard(play, "-/a/b/c/d");
    play_unmake(play, "a/b/c");
    play_unmake(play, "a/b");
    play_unmake(play, "a");
    play_dispatch(play);
    assert_int_equal(play->n_known, 1);
    play->log[0] = '\0';
    play_assert_heard(play, "");
}

static void test_gone_before_it_was_seen(void **state)
{
    struct play *play = play_begin(state);

    play_start(play);
    play_make(play, "a");
    play_unmake(play, "a");
    play_make(play, "b");
    play_make(play, "b/c");
    play_unmake(play, "b/c");
    play_assert_heard(play, "+/b");
}

static void test_back_under_the_same_name(void **state)
{
    struct play *play = play_begin(state);

    play_start(play);
    play_make(play, "a");
    play_make(play, "a/b");
    play_assert_heard(play, "+/a +/a/b");
    play_unmake(play, "a/b");
    play_unmake(play, "a");
    play_make(play, "a");
    play_make(play, "a/c");
    play_dispatch(play);
    if (str_starts(play->log, "-/a/b -/a")) /* else a file system used the inode again */
        assert_string_equal(play->log, "-/a/b -/a +/a +/a/c");
    else
        assert_false(play->cgroups);
    play->log[0] = '\0';
    play_make(play, "a/d"); /* so it is the new one that is watched */
    play_assert_heard(play, "+/a/d");
}

/* The events of a past that was never seen do not remove what is there now. */
static void test_stale_events(void **state)
{
    struct play *play = play_begin(state);

    play_start(play);
    play_make(play, "a");
    play_unmake(play, "a");
    play_make(play, "a");
    play_make(play, "a/b");
    play_unmake(play, "a/b");
    play_make(play, "a/b");
    play_assert_heard(play, "+/a +/a/b");
}

static void test_open(void **state)
{
    struct play *play = play_begin(state);
    struct cgroup_node *node;
    struct stat status;

    play_start(play);
    play_make(play, "a");
    play_assert_heard(play, "+/a");
    node = cgroup_tree_node(play->tree, 1);
    assert_null(cgroup_tree_node(play->tree, 2));
    assert_string_equal(node->path, "/a");
    int fd = cgroup_tree_open(play->tree, node);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(status.st_ino, node->inode);
    close(fd);
    play_unmake(play, "a");
    assert_int_equal(cgroup_tree_open(play->tree, node), -ENOENT);
    play_make(play, "x"); /* takes the inode, where inodes are used again */
    play_make(play, "a");
    assert_int_equal(cgroup_tree_open(play->tree, node), -ESTALE);
    fd = cgroup_tree_open(play->tree, cgroup_tree_node(play->tree, 0));
    assert_true(fd >= 0);
    close(fd);
}

static void test_names(void **state)
{
    static const char *const names[] = {"a b", "\"quoted\"", "back\\slash", "\xff\xfe", "\xc3\xa4", "...", "*", "%s%n"};
    struct play *play = play_begin(state);
    char longest[NAME_MAX + 1], expected[NAME_MAX + 8];

    play_start(play);
    memset(longest, 'x', NAME_MAX);
    longest[NAME_MAX] = '\0';
    for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
        const char *name = i < ARRAY_SIZE(names) ? names[i] : longest;
        play_make(play, name);
        snprintf(expected, sizeof(expected), "+/%s", name);
        play_assert_heard(play, expected);
        play_unmake(play, name);
        snprintf(expected, sizeof(expected), "-/%s", name);
        play_assert_heard(play, expected);
    }
    if (!play->cgroups) { /* which refuse line breaks: cgroup_mkdir() */
        play_make(play, "two\nlines");
        play_assert_heard(play, "+/two\nlines");
    }
}

/* Deeper than PATH_MAX: made and removed from the end of a chain of descriptors. */
static void test_deep(void **state)
{
    enum { DEPTH = 30 };
    struct play *play = play_begin(state);
    int fds[DEPTH + 1] = {play->root_fd};
    char name[201];

    memset(name, 'x', 200);
    name[200] = '\0';
    play_start(play);
    play->terse = true;
    for (size_t i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0755), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY);
        assert_true(fds[i + 1] >= 0);
        if (i == DEPTH / 2)
            play_dispatch(play);
    }
    play_assert_heard(play, "");
    assert_int_equal(play->n_known, DEPTH + 1);
    cgroup_tree_rescan(play->tree);
    play_assert_heard(play, "");
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
    play_assert_heard(play, "");
    assert_int_equal(play->n_known, 1);
}

/* Directories made and removed by chance, read by chance: in the end the tree is what is there and sought. */
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
        assert_int_equal(play_knows(play, below), play_seeks(play, below));
        *n += play_seeks(play, below);
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

static void run_storm(struct play *play)
{
    char path[64], other[64];
    size_t n = 1;

    play_start(play);
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
            play_dispatch(play);
        else
            cgroup_tree_rescan(play->tree);
    }
    play_dispatch(play);
    compare(play, openat(play->root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    print_message("%zu came, %zu went, %zu are there\n", play->n_added, play->n_removed, n);
    assert_true(play->n_removed > 30);
    assert_int_equal(play->n_known, n);
    play->log[0] = '\0';
    play_assert_heard(play, "");
}

static void test_storm(void **state)
{
    run_storm(play_begin(state));
}

static void test_storm_of_patterns(void **state)
{
    static const char *const include[] = {"/a/*", "/b/**/c", "/c"}, *const exclude[] = {"/b/a/**"};
    struct play *play = play_begin(state);

    play->rules = (struct cgroup_rules){
        .include = (char *const *)include, .n_include = 3, .exclude = (char *const *)exclude, .n_exclude = 1};
    run_storm(play);
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
    struct play *play = play_begin(state);
    size_t n = 1, n_reads = 0;
    int status;

    play_start(play);
    play->terse = true;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        make_trouble(play);
        _exit(0);
    }
    for (; waitpid(child, &status, WNOHANG) == 0; n_reads++)
        play_dispatch(play);
    assert_int_equal(status, 0);
    play_dispatch(play);
    compare(play, openat(play->root_fd, ".", O_RDONLY | O_DIRECTORY), "", &n);
    print_message("%zu came, %zu went, %zu are there after %zu reads\n", play->n_added, play->n_removed, n, n_reads);
    assert_int_equal(play->n_known, n);
    assert_true(play->n_removed > 10);
    play_assert_heard(play, "");
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
    struct play *play = play_begin(state);
    size_t n = play->cgroups ? 1000 : 5000;
    double spent = 0, at;
    char name[32];

    play_start(play);
    play->terse = true;
    for (size_t step = 0; step < 2; step++) {
        for (size_t i = 0; i < n; i++) {
            snprintf(name, sizeof(name), "service-%zu", i);
            (step == 0 ? play_make : play_unmake)(play, name);
        }
        at = seconds();
        play_dispatch(play);
        assert_int_equal(play->n_known, step == 0 ? n + 1 : 1);
        cgroup_tree_rescan(play->tree);
        assert_int_equal(play->n_known, step == 0 ? n + 1 : 1);
        spent += seconds() - at;
    }
    play_assert_heard(play, "");
    print_message("%zu: %.0f us each\n", n, spent * 1e6 / (double)n);
    assert_true(spent < 5);
}

static void test_no_root(void **state)
{
    struct cgroup_listener listener = play_listener(NULL);
    struct cgroup_tree *tree = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(cgroup_tree_new("/no/such/place", &listener, &tree, &error), -ENOENT);
    assert_string_equal(error.message, "cannot open the cgroups' directory /no/such/place: No such file or directory");
    assert_null(tree);
    assert_int_equal(cgroup_tree_new("/dev/null", &listener, &tree, &error), -ENOTDIR);
    assert_null(cgroup_tree_free(NULL));
}

#define ON_DIRECTORIES(f) cmocka_unit_test_setup_teardown(f, play_setup_directory, play_teardown)
#define ON_CGROUPS(f)                                                                                                  \
    {                                                                                                                  \
#f " on cgroups", f, play_setup_cgroup, play_teardown, NULL                                                    \
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
        ON_BOTH(test_storm_of_patterns),
        ON_BOTH(test_race),
        ON_BOTH(test_many),
        cmocka_unit_test(test_no_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
