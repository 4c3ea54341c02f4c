/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of a cgroup hierarchy, kept up to date with inotify(7).
 *
 * A cgroup is identified by its inode, not by its name: a cgroup that is removed and created again is a different one.
 * The removal of a cgroup causes no IN_DELETE_SELF; the tree removes the watch of a child when the parent reports
 * IN_DELETE.
 *
 * A vacant cgroup is a scope or a container's cgroup without processes, for example one that a crashed runtime left
 * behind. A cgroup that is vacant when it is found is left out until a process enters it, which the file cgroup.events
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
    unsigned depth;   /* number of components in the path; 0 for the root */
    void *userdata;   /* belongs to the listener, and is NULL at first */
    bool wanted;      /* set by the listener if the patterns select this cgroup; false at first */
    bool left_out;    /* not a candidate, since the cgroup is vacant or a pause container's */
    bool looked_at;   /* empty_cgroups_find() has examined the cgroup */
    int empty_cgroup; /* the watch that reports the first process in the cgroup; 0: none */

    /* Private to cgroups/tree.c. */
    const char *name;           /* the last component of `path`, or "" for the root */
    struct cgroup_node *parent; /* the parent; NULL for the root */
    struct cgroup_list children;
    int watch;        /* -1: none */
    bool announced;   /* `added` was called for the node */
    bool pending;     /* the node is in the queue of directories to visit */
    unsigned seen_in; /* number of the last scan that found the node */

    LIST_ENTRY(cgroup_node) siblings;
    LIST_ENTRY(cgroup_node) of_name, of_inode, of_watch; /* links in the hash buckets */
    TAILQ_ENTRY(cgroup_node) queue;
    size_t position; /* index in the array `announced` */
};

/*
 * The functions are called from cgroup_tree_new(), cgroup_tree_dispatch() and cgroup_tree_rescan(). Parents are added
 * before their children, and removed after them. The tree contains only directories that are wanted or below which one
 * may be wanted, and watches only the latter: other directories cost no system call and cause no wakeup.
 */
struct cgroup_listener {
    void *userdata;
    bool (*wants)(void *userdata, const char *path);
    bool (*wants_below)(void *userdata, const char *path); /* false if no path below `path`, at any depth, is wanted */
    /* `fd` is the open directory, for this call only; -1 if it could not be opened now. */
    void (*added)(void *userdata, struct cgroup_node *node, int fd);
    void (*removed)(void *userdata, struct cgroup_node *node); /* `node` is freed afterwards */
};

struct cgroup_tree;

/*
 * `root` is the directory of the hierarchy. Returns an error of opening the directory, with a message. A missing watch
 * is not an error: cgroup_tree_limitation() reports it.
 */
int cgroup_tree_new(const char *root, const struct cgroup_listener *listener, struct cgroup_tree **ret,
                    struct error *error);
/* Does not call `removed`. */
struct cgroup_tree *cgroup_tree_free(struct cgroup_tree *tree);

/* A descriptor that is readable when there are pending changes; owned by the tree; -1 if inotify is not available. */
int cgroup_tree_fd(const struct cgroup_tree *tree);
/*
 * Handles the pending changes; if there are many, only some of them, and the descriptor stays readable. Rescans if the
 * inotify queue has overflowed.
 */
void cgroup_tree_dispatch(struct cgroup_tree *tree);
/* Compares the tree with the directories. Must also be called when the listener wants a different set of cgroups. */
void cgroup_tree_rescan(struct cgroup_tree *tree);
/*
 * Returns the reason why some changes are noticed only by rescans: "the limit of inotify watches is reached
 * (fs.inotify.max_user_watches)...", or NULL if all are noticed. Static text.
 */
const char *cgroup_tree_limitation(const struct cgroup_tree *tree);
/* The number of inotify watches that the tree holds. */
size_t cgroup_tree_watches(const struct cgroup_tree *tree);
/*
 * Opens a node's directory for perf_event_open(2). Returns an error of open(2), or -ESTALE if another cgroup has its
 * path now.
 */
int cgroup_tree_open(const struct cgroup_tree *tree, const struct cgroup_node *node);

/* Returns the innermost node at `path` or above it that has `userdata`, or NULL if there is none. */
struct cgroup_node *cgroup_tree_innermost(const struct cgroup_tree *tree, const char *path);
/* The n-th node, in no particular order, or NULL after the last one. */
struct cgroup_node *cgroup_tree_node(const struct cgroup_tree *tree, size_t n);

struct empty_cgroups {
    int fd;     /* descriptor that is readable when a cgroup is no longer vacant; -1 until a vacant one is found */
    int joined; /* the epoll descriptor that `fd` is added to */
};

void empty_cgroups_done(struct empty_cgroups *empty_cgroups);
/*
 * Leaves the node out if its cgroup is vacant; each node is examined only once. Returns whether the node is left out.
 */
bool empty_cgroups_find(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree, struct cgroup_node *node);
/* Includes the nodes whose cgroups have processes now. Returns whether there are any such nodes. */
bool empty_cgroups_dispatch(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree);
/* Called when the node is removed, or is no longer vacant. */
void empty_cgroups_forget(struct empty_cgroups *empty_cgroups, struct cgroup_node *node);

#endif
