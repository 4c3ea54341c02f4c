/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups that are known, found by parent and name, by inode or by inotify watch in constant time: the memory of
 * the tree. It makes no system calls.
 */
#ifndef CGROUPS_INDEX_H
#define CGROUPS_INDEX_H

#include <sys/queue.h>

#include "base/util.h"

/* Longer paths are left out; their ancestors count what is in them. */
#define CGROUP_PATH_MAX (64 * 1024)

LIST_HEAD(cgroup_list, cgroup_node);
TAILQ_HEAD(cgroup_queue, cgroup_node);

struct cgroup_node {
    char *path; /* relative to the root: "/", "/system.slice/ssh.service"; any bytes */
    uint64_t inode;
    unsigned depth; /* 0 for the root */
    void *userdata; /* the listener's; NULL at first */
    bool wanted;    /* the listener's, as the next three; false and 0 at first: verdict.h */
    bool left_out;
    bool looked_at; /* vacancy.h */
    int vacancy;    /* the watch that reports when it is not vacant any more; 0: none */

    /* For the tree and the index. */
    const char *name;           /* the end of `path`; "" for the root */
    struct cgroup_node *parent; /* NULL for the root */
    struct cgroup_list children;
    int watch;        /* -1: none */
    bool announced;   /* the listener knows it */
    bool pending;     /* in the queue of directories to visit */
    unsigned seen_in; /* the number of the last scan that saw it */

    LIST_ENTRY(cgroup_node) siblings;
    LIST_ENTRY(cgroup_node) of_name, of_inode, of_watch; /* in the buckets */
    TAILQ_ENTRY(cgroup_node) queue;
    size_t position; /* in `announced` */
};

struct cgroup_index {
    struct cgroup_node *root;
    struct cgroup_node **announced;
    struct cgroup_list *by_name, *by_inode, *by_watch; /* n_buckets each; a power of two, at least n */
    size_t n_buckets, n, n_announced, n_watches;
};

/* Frees all nodes. */
void cgroup_index_done(struct cgroup_index *index);

/* The path of `name` in `parent`, which the caller frees. -ENOMEM; -ENAMETOOLONG above CGROUP_PATH_MAX. */
int cgroup_index_path(const struct cgroup_node *parent, const char *name, char **ret);
/* The first node, of `parent` NULL, is the root. -ENOMEM; -ENAMETOOLONG above CGROUP_PATH_MAX. */
int cgroup_index_add(struct cgroup_index *index, struct cgroup_node *parent, const char *name, uint64_t inode,
                     struct cgroup_node **ret);
/* Of a node without children. The root goes in cgroup_index_done() only. */
void cgroup_index_remove(struct cgroup_index *index, struct cgroup_node *node);
/* `watch` -1: it has none any more. */
void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_node *node, int watch);
/* Adds it to `announced`. -ENOMEM. */
int cgroup_index_announce(struct cgroup_index *index, struct cgroup_node *node);

/* NULL where there is none. */
struct cgroup_node *cgroup_index_child(const struct cgroup_index *index, const struct cgroup_node *parent,
                                       const char *name);
/* Also where they are the same. */
bool cgroup_index_is_below(const struct cgroup_node *node, const struct cgroup_node *ancestor);
/* Another node of the same directory, which is announced. */
struct cgroup_node *cgroup_index_twin(const struct cgroup_index *index, const struct cgroup_node *node);
struct cgroup_node *cgroup_index_of_watch(const struct cgroup_index *index, int watch);

#endif
