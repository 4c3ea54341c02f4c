/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups that are known, found by parent and name or by inotify watch in constant time: the memory of cgroup-tree.
 * It asks the kernel nothing.
 */
#ifndef COLLECTORS_CGROUP_INDEX_H
#define COLLECTORS_CGROUP_INDEX_H

#include <sys/queue.h>

#include "collectors/cgroup/tree.h"

LIST_HEAD(cgroup_list, cgroup_index_entry);
TAILQ_HEAD(cgroup_queue, cgroup_index_entry);

struct cgroup_index_entry {
    struct cgroup_node node;
    const char *name;                  /* the end of node.path; "" for the root */
    struct cgroup_index_entry *parent; /* NULL for the root */
    struct cgroup_list children;
    int watch;        /* -1: none */
    bool announced;   /* the listener knows it */
    bool pending;     /* in the queue of who visits directories */
    unsigned seen_in; /* the number of the last scan that saw it */

    LIST_ENTRY(cgroup_index_entry) siblings;
    LIST_ENTRY(cgroup_index_entry) of_name, of_watch; /* in the buckets */
    TAILQ_ENTRY(cgroup_index_entry) queue;
    size_t position; /* in `announced` */
};

struct cgroup_index {
    struct cgroup_index_entry *root;
    struct cgroup_index_entry **announced;
    struct cgroup_list *by_name, *by_watch; /* n_buckets each; a power of two, at least n */
    size_t n_buckets, n, n_announced, n_watches;
};

/* Frees all entries. */
void cgroup_index_done(struct cgroup_index *index);

/* The first entry, of `parent` NULL, is the root. -ENOMEM; -ENAMETOOLONG above CGROUP_PATH_MAX. */
int cgroup_index_add(struct cgroup_index *index, struct cgroup_index_entry *parent, const char *name, uint64_t inode,
                     struct cgroup_index_entry **ret);
/* Of an entry without children. The root goes in cgroup_index_done() only. */
void cgroup_index_remove(struct cgroup_index *index, struct cgroup_index_entry *entry);
/* `watch` -1 forgets its watch. */
void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_index_entry *entry, int watch);
/* From now on it is in `announced`. -ENOMEM. */
int cgroup_index_announce(struct cgroup_index *index, struct cgroup_index_entry *entry);

/* NULL where there is none. */
struct cgroup_index_entry *cgroup_index_child(const struct cgroup_index *index, const struct cgroup_index_entry *parent,
                                              const char *name);
struct cgroup_index_entry *cgroup_index_of_watch(const struct cgroup_index *index, int watch);

#endif
