/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of a cgroup hierarchy, kept up to date by inotify(7).
 *
 * A cgroup is identified by its inode, not by its name: a cgroup that is removed and created again is another one. The
 * removal of a cgroup sends no IN_DELETE_SELF; the tree removes the watch of a child when its parent reports IN_DELETE.
 *
 * A vacant cgroup is a scope or a container's cgroup without processes, for example one that a crashed runtime left
 * behind. One that is vacant when it is found is left out until a process enters it, which the file cgroup.events
 * reports. cgroup v1 has no such file, so nothing is vacant there.
 */
#ifndef CGROUPS_TREE_H
#define CGROUPS_TREE_H

#include <sys/queue.h>

#include "base/error.h"
#include "base/util.h"

LIST_HEAD(cgroup_list, cgroup_node);

struct cgroup_node {
    char *path; /* relative to the root: "/", "/system.slice/ssh.service"; any bytes */
    uint64_t inode;
    unsigned depth;   /* 0 for the root */
    void *userdata;   /* the listener's; NULL at first */
    bool wanted;      /* the listener's: the patterns want this cgroup; false at first */
    bool left_out;    /* not a candidate: vacant, or a pause container */
    bool looked_at;   /* empty_cgroups_find() has examined it */
    int empty_cgroup; /* the watch that reports the first process in it; 0: none */

    /* For cgroups/tree.c alone. */
    const char *name;           /* the last component of `path`; "" for the root */
    struct cgroup_node *parent; /* NULL for the root */
    struct cgroup_list children;
    int watch;        /* -1: none */
    bool announced;   /* `added` has been called for it */
    bool pending;     /* in the queue of directories to visit */
    unsigned seen_in; /* the number of the last scan that found it */

    LIST_ENTRY(cgroup_node) siblings;
    LIST_ENTRY(cgroup_node) of_name, of_inode, of_watch; /* in the hash buckets */
    TAILQ_ENTRY(cgroup_node) queue;
    size_t position; /* in the index's array `announced` */
};

/*
 * The functions are called from cgroup_tree_new(), cgroup_tree_dispatch() and cgroup_tree_rescan(). Parents are added
 * before their children, and removed after them. The tree contains only directories that are wanted or below which one
 * may be wanted, and watches only the latter: other directories cost no system call and cause no wakeup.
 */
struct cgroup_listener {
    void *userdata;
    bool (*wants)(void *userdata, const char *path);
    bool (*wants_below)(void *userdata, const char *path); /* false: no path at any depth below is wanted */
    /* `fd` is the open directory, for this call only; -1 if it could not be opened now. */
    void (*added)(void *userdata, struct cgroup_node *node, int fd);
    void (*removed)(void *userdata, struct cgroup_node *node); /* `node` is freed afterwards */
};

struct cgroup_tree;

/*
 * `root` is the directory of the hierarchy. Returns an error of opening it, with a message. A missing watch is not an
 * error: cgroup_tree_limitation() reports it.
 */
int cgroup_tree_new(const char *root, const struct cgroup_listener *listener, struct cgroup_tree **ret,
                    struct error *error);
/* Does not call `removed`. */
struct cgroup_tree *cgroup_tree_free(struct cgroup_tree *tree);

/* A descriptor that is readable when there are pending changes; owned by the tree; -1 if inotify is not available. */
int cgroup_tree_fd(const struct cgroup_tree *tree);
/*
 * Handles the pending changes, only some of them if there are many: the descriptor then stays readable. Rescans if the
 * inotify queue has overflowed.
 */
void cgroup_tree_dispatch(struct cgroup_tree *tree);
/* Compares the tree with the directories. Must also be called when the listener wants other cgroups than before. */
void cgroup_tree_rescan(struct cgroup_tree *tree);
/*
 * Why some changes are noticed only by rescans: "the limit of inotify watches is reached
 * (fs.inotify.max_user_watches)..."; NULL if all are noticed. Static text.
 */
const char *cgroup_tree_limitation(const struct cgroup_tree *tree);
/* The number of inotify watches that it holds. */
size_t cgroup_tree_watches(const struct cgroup_tree *tree);
/*
 * Opens a node's directory for perf_event_open(2). Returns an error of open(2), or -ESTALE if another cgroup has its
 * path now.
 */
int cgroup_tree_open(const struct cgroup_tree *tree, const struct cgroup_node *node);

/* The innermost node with `userdata` that is at `path` or above it; NULL if there is none. */
struct cgroup_node *cgroup_tree_innermost(const struct cgroup_tree *tree, const char *path);
/* The n-th node, in no particular order; NULL after the last. */
struct cgroup_node *cgroup_tree_node(const struct cgroup_tree *tree, size_t n);

struct empty_cgroups {
    int fd;     /* readable when a cgroup is no longer vacant; -1 until one is found vacant */
    int joined; /* the epoll descriptor that `fd` is added to */
};

void empty_cgroups_done(struct empty_cgroups *empty_cgroups);
/* Leaves the node out if its cgroup is vacant; each node is examined only once. Returns whether it is left out. */
bool empty_cgroups_find(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree, struct cgroup_node *node);
/* Includes the nodes whose cgroups have processes now. Returns whether there are any. */
bool empty_cgroups_dispatch(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree);
/* Called when the node is removed, or is no longer vacant. */
void empty_cgroups_forget(struct empty_cgroups *empty_cgroups, struct cgroup_node *node);

#endif
