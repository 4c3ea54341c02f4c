/* SPDX-License-Identifier: Apache-2.0 */
/* Directories under patterns, limits, overflows, renames and mounts; most of it only plain directories can show. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"
#include "tests/unit/tree-play.h"

/* Directories below which nothing is wanted are not watched, and what is in them is not known. */
static void test_wanted(void **state)
{
    static const char *const include[] = {"/*.slice", "/system.slice/*.service"}, *const all[] = {"/**"};
    static const char *const exclude[] = {"/user.slice/**"};
    struct play *play = play_begin(state);

    play->rules = (struct cgroup_rules){.include = (char *const *)include, .n_include = 2};
    play_start(play);
    play_make(play, "system.slice");
    play_make(play, "user.slice");
    play_make(play, "other");
    play_assert_heard(play, "+/system.slice +/user.slice");
    assert_int_equal(cgroup_tree_watches(play->tree), 2);
    play_make(play, "user.slice/a.service");
    play_make(play, "user.slice/a.service/b");
    play_make(play, "system.slice/a.scope");
    play_make(play, "system.slice/a.service");
    play_make(play, "system.slice/a.service/b");
    play_assert_heard(play, "+/system.slice/a.service");
    cgroup_tree_rescan(play->tree);
    play_assert_heard(play, "");
    assert_int_equal(cgroup_tree_watches(play->tree), 2);
    /* Others are wanted. */
    play->rules = (struct cgroup_rules){
        .include = (char *const *)all, .n_include = 1, .exclude = (char *const *)exclude, .n_exclude = 1};
    cgroup_tree_rescan(play->tree);
    assert_int_equal(play->n_removed, 0);
    assert_int_equal(play->n_known, 7);
    assert_true(play_knows(play, "/other") && play_knows(play, "/system.slice/a.service/b"));
    assert_int_equal(cgroup_tree_watches(play->tree), 6);
    play->log[0] = '\0';
    play_make(play, "system.slice/a.scope/c");
    play_make(play, "user.slice/c");
    play_assert_heard(play, "+/system.slice/a.scope/c");
    /* And the first again. */
    play->rules = (struct cgroup_rules){.include = (char *const *)include, .n_include = 2};
    cgroup_tree_rescan(play->tree);
    assert_int_equal(play->n_known, 4);
    play->log[0] = '\0';
    play_assert_heard(play, "");
    assert_int_equal(cgroup_tree_watches(play->tree), 2);
}

static void test_rename(void **state)
{
    struct play *play = play_begin(state);

    play_start(play);
    play_make(play, "a");
    play_make(play, "a/b");
    play_assert_heard(play, "+/a +/a/b");
    renameat(play->root_fd, "a", play->root_fd, "c");
    play_assert_heard(play, "-/a/b -/a +/c +/c/b");
    /* Found under its new name before the event about the old one is read. */
    play_make(play, "d");
    renameat(play->root_fd, "c", play->root_fd, "d/e");
    play_assert_heard(play, "+/d -/c/b -/c +/d/e +/d/e/b");
    play_make(play, "d/e/f");
    play_assert_heard(play, "+/d/e/f");
    /* Out of the tree. */
    char outside[PATH_MAX + 8];
    snprintf(outside, sizeof(outside), "%s-out", play->root);
    assert_int_equal(renameat(play->root_fd, "d/e", AT_FDCWD, outside), 0);
    assert_int_equal(renameat(AT_FDCWD, outside, play->root_fd, "back"), 0);
    play_dispatch(play);
    assert_int_equal(play->n_known, 5);
    assert_true(play_knows(play, "/back/b") && play_knows(play, "/back/f"));
}

static void test_overflow(void **state)
{
    struct play *play = play_begin(state);
    unsigned long max = 16384;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file) {
        assert_int_equal(fscanf(file, "%lu", &max), 1);
        fclose(file);
    }
    if (max > 50000)
        skip_because("the queue takes %lu events", max);
    play_start(play);
    play_make(play, "old");
    play_assert_heard(play, "+/old");
    for (size_t i = 0; i < max / 2 + 10; i++) {
        play_make(play, "x");
        play_unmake(play, "x");
    }
    play_make(play, "new");
    play_unmake(play, "old");
    play_dispatch(play);
    assert_int_equal(play->n_known, 2);
    assert_true(play_knows(play, "/new"));
    play->log[0] = '\0';
    play_make(play, "new/er");
    play_assert_heard(play, "+/new/er");
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

    play_begin(state);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run(*state);
        _exit(CHILD_WELL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT)
        skip_because("no namespaces or limits of our own here");
    assert_int_equal(status, 0);
}

static void run_without_instances(struct play *play)
{
    if (!enter_namespace("max_inotify_instances", "0"))
        _exit(CHILD_CANNOT);
    play_make(play, "a");
    struct cgroup_listener listener = play_listener(play);
    CHECK(cgroup_tree_new(play->root, &listener, &play->tree, NULL) == 0);
    CHECK(cgroup_tree_fd(play->tree) == -1);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_instances"));
    CHECK(str_equal(play->log, "+/ +/a"));
    play_make(play, "a/b");
    play_dispatch(play);
    CHECK(str_equal(play->log, "+/ +/a"));
    cgroup_tree_rescan(play->tree);
    CHECK(str_equal(play->log, "+/ +/a +/a/b"));
    play_unmake(play, "a/b");
    play_unmake(play, "a");
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
    play_start(play);
    CHECK(!cgroup_tree_limitation(play->tree));
    play_make(play, "a");
    play_make(play, "b");
    play_dispatch(play);
    CHECK(str_equal(play->log, "+/a +/b"));
    CHECK(cgroup_tree_watches(play->tree) == 2);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_watches"));
    play_make(play, "b/c");
    play_dispatch(play);
    CHECK(play->n_known == 3);
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 4);
    CHECK(strstr(cgroup_tree_limitation(play->tree), "fs.inotify.max_user_watches"));
    /* Room again: the next rescan takes it. */
    play_unmake(play, "b/c");
    cgroup_tree_rescan(play->tree);
    play_unmake(play, "a");
    play_dispatch(play);
    cgroup_tree_rescan(play->tree);
    CHECK(!cgroup_tree_limitation(play->tree));
    CHECK(cgroup_tree_watches(play->tree) == 2);
    play_make(play, "b/d");
    play_dispatch(play);
    CHECK(play_knows(play, "/b/d"));
}

static void test_few_watches(void **state)
{
    in_child(state, run_few_watches);
}

static void run_few_descriptors(struct play *play)
{
    struct rlimit limit, none;

    play_start(play);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    play_make(play, "a");
    play_make(play, "a/b");
    setrlimit(RLIMIT_NOFILE, &none);
    play_dispatch(play);
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
    play_make(play, "a");
    play_make(play, "a/in");
    play_make(play, "b");
    play_make(play, "c");
    play_make(play, "loop");
    snprintf(from, sizeof(from), "%s/a", play->root);
    snprintf(to, sizeof(to), "%s/b", play->root);
    CHECK(mount(from, to, NULL, MS_BIND, NULL) == 0);
    snprintf(to, sizeof(to), "%s/c", play->root);
    CHECK(mount("none", to, "tmpfs", 0, NULL) == 0);
    play_make(play, "c/elsewhere");
    snprintf(to, sizeof(to), "%s/loop", play->root);
    CHECK(mount(play->root, to, NULL, MS_BIND, NULL) == 0);
    struct cgroup_listener listener = play_listener(play);
    CHECK(cgroup_tree_new(play->root, &listener, &play->tree, NULL) == 0);
    print_message("%s\n", play->log);
    CHECK(play->n_known == 3);
    CHECK(play_knows(play, "/a") != play_knows(play, "/b"));
    cgroup_tree_rescan(play->tree);
    CHECK(play->n_known == 3);
    CHECK(play->n_removed == 0);
    CHECK(play_count_watches(cgroup_tree_fd(play->tree)) == 3);
}

static void test_mounts(void **state)
{
    in_child(state, run_mounts);
}

#define ON_DIRECTORIES(f) cmocka_unit_test_setup_teardown(f, play_setup_directory, play_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DIRECTORIES(test_wanted),      ON_DIRECTORIES(test_rename),
        ON_DIRECTORIES(test_overflow),    ON_DIRECTORIES(test_without_instances),
        ON_DIRECTORIES(test_few_watches), ON_DIRECTORIES(test_few_descriptors),
        ON_DIRECTORIES(test_mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
