/* SPDX-License-Identifier: Apache-2.0 */
/* A directory in which tests make and remove cgroups: see tree-play.h. */
#include "tests/unit/tree-play.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "perf/hierarchy.h"
#include "tests/unit/test.h"

/* --- the listener, which checks its contract --- */

bool play_knows(const struct play *play, const char *path)
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

static bool wants(void *userdata, const char *path)
{
    const struct play *play = userdata;

    return play->rules.n_include == 0 || cgroup_rules_want(&play->rules, path, NULL);
}

static bool wants_below(void *userdata, const char *path)
{
    const struct play *play = userdata;

    return play->rules.n_include == 0 || cgroup_rules_want_below(&play->rules, path);
}

bool play_seeks(const struct play *play, const char *path)
{
    return wants((void *)play, path) || wants_below((void *)play, path);
}

static size_t count_parents(const struct play *play)
{
    struct cgroup_node *node;
    size_t n = 0;

    for (size_t i = 0; (node = cgroup_tree_node(play->tree, i)); i++)
        n += wants_below((void *)play, node->path);
    return n;
}

static void added(void *userdata, struct cgroup_node *node, int fd)
{
    struct play *play = userdata;

    assert_null(node->userdata);
    assert_true(fd >= 0 || play->terse);
    assert_true(play_seeks(play, node->path));
    assert_int_equal(node->depth, depth_of(node->path));
    if (play->tree && !play->terse) {
        char *parent = strdup(node->path);
        assert_non_null(parent);
        char *slash = strrchr(parent, '/');
        assert_false(play_knows(play, node->path));
        slash[slash == parent] = '\0';
        assert_true(play_knows(play, parent));
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

/* --- playing --- */

struct cgroup_listener play_listener(struct play *play)
{
    return (struct cgroup_listener){
        .userdata = play, .wants = wants, .wants_below = wants_below, .added = added, .removed = removed};
}

size_t play_count_watches(int fd)
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

void play_make(const struct play *play, const char *name)
{
    if (mkdirat(play->root_fd, name, 0755) < 0)
        fail_msg("mkdir %s: %s", name, strerror(errno));
}

void play_unmake(const struct play *play, const char *name)
{
    if (unlinkat(play->root_fd, name, AT_REMOVEDIR) < 0)
        fail_msg("rmdir %s: %s", name, strerror(errno));
}

void play_start(struct play *play)
{
    struct cgroup_listener listener = play_listener(play);
    struct error error = {0};

    if (cgroup_tree_new(play->root, &listener, &play->tree, &error) < 0)
        fail_msg("%s", error.message);
    assert_int_equal(play->n_known, 1);
    assert_string_equal(play->log, "+/");
    play->log[0] = '\0';
}

void play_dispatch(struct play *play)
{
    struct pollfd rest = {.fd = cgroup_tree_fd(play->tree), .events = POLLIN};

    do
        cgroup_tree_dispatch(play->tree);
    while (poll(&rest, 1, 0) > 0);
}

void play_assert_heard(struct play *play, const char *expected)
{
    play_dispatch(play);
    assert_string_equal(play->log, expected);
    play->log[0] = '\0';
    assert_int_equal(cgroup_tree_watches(play->tree), count_parents(play));
    assert_int_equal(play_count_watches(cgroup_tree_fd(play->tree)), count_parents(play));
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

int play_setup_directory(void **state)
{
    const char *parent = getenv("TMPDIR");

    if (!parent) /* disks take milliseconds to remove a directory */
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    return setup(state, parent, false);
}

int play_setup_cgroup(void **state)
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

int play_teardown(void **state)
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

struct play *play_begin(void **state)
{
    if (!*state)
        skip_because("no cgroups can be made here");
    return *state;
}
