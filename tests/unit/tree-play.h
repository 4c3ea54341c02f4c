/* SPDX-License-Identifier: Apache-2.0 */
/* A directory in which tests make and remove cgroups, or plain directories, and what a listener of the tree hears. */
#ifndef TESTS_UNIT_TREE_PLAY_H
#define TESTS_UNIT_TREE_PLAY_H

#include <limits.h>

#include "collectors/cgroup/selection.h"
#include "collectors/cgroup/tree.h"

#define LOG_SIZE 4096

/* A root to play in, and what the listener heard: "+/a +/a/b -/a/b". */
struct play {
    char root[PATH_MAX];
    int root_fd;
    bool cgroups;
    struct cgroup_tree *tree;
    char log[LOG_SIZE];
    size_t n_known, n_added, n_removed;
    uint64_t n_descriptors;    /* open before */
    bool terse;                /* counts only */
    struct cgroup_rules rules; /* those that are wanted; no include: all */
};

/* Set-ups and teardown for cmocka. Where no cgroup can be made, the state is NULL. */
int play_setup_directory(void **state);
int play_setup_cgroup(void **state);
int play_teardown(void **state);
/* The state; skips the test where it is NULL. */
struct play *play_begin(void **state);

void play_make(const struct play *play, const char *name);
void play_unmake(const struct play *play, const char *name);

/* A listener that checks its contract and writes play->log. `play` may be NULL where nothing is heard. */
struct cgroup_listener play_listener(struct play *play);
/* Makes the tree of a directory that is empty. */
void play_start(struct play *play);
/* Takes in all that changed. */
void play_dispatch(struct play *play);
/*
 * Dispatches; the log since the last call must be `expected`, and the kernel's watches those of the tree: one for each
 * directory below which one may be wanted.
 */
void play_assert_heard(struct play *play, const char *expected);

/* Whether the tree has this path, and whether it is to have it. */
bool play_knows(const struct play *play, const char *path);
bool play_seeks(const struct play *play, const char *path);
/* The watches of an inotify descriptor, as the kernel counts them: proc_pid_fdinfo(5). */
size_t play_count_watches(int fd);

#endif
