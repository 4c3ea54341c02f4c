/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups that are known, found by parent and name, by inode or by inotify watch in constant time: the memory of
 * the tree. It makes no system calls.
 *
 * The directories of a cgroup hierarchy, kept up to date by inotify(7).
 *
 * A cgroup is its inode, not its name: a cgroup that is removed and made again is another. The removal of a cgroup
 * sends no IN_DELETE_SELF; on the parent's IN_DELETE the watch of the child is removed here.
 *
 * Scopes and containers' cgroups without processes, as a runtime that failed leaves them behind. One that is found so
 * is left out until a process enters it, which its file cgroup.events reports (cgroup v2; v1 has no such file, and
 * there nothing is vacant).
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

/*
 * Called from cgroup_tree_new(), _dispatch() and _rescan(). Parents are added before their children, and removed after
 * them. Only directories that are wanted, or below which one may be, are in the tree, and only the latter are watched:
 * what nobody wants costs no system call and wakes nobody.
 */
struct cgroup_listener {
    void *userdata;
    bool (*wants)(void *userdata, const char *path);
    bool (*wants_below)(void *userdata, const char *path); /* false: no path below is wanted or has wanted ones below */
    /* `fd` is its directory, for this call; -1 where it could not be opened now. */
    void (*added)(void *userdata, struct cgroup_node *node, int fd);
    void (*removed)(void *userdata, struct cgroup_node *node); /* `node` is freed afterwards */
};

struct cgroup_tree;

/*
 * `root` is the hierarchy's directory. Errors of opening it, with a sentence. A missing watch is no error: see
 * cgroup_tree_limitation().
 */
int cgroup_tree_new(const char *root, const struct cgroup_listener *listener, struct cgroup_tree **ret,
                    struct error *error);
/* Does not call `removed`. */
struct cgroup_tree *cgroup_tree_free(struct cgroup_tree *tree);

/* Readable when something changed; owned by the tree; -1 where there is no inotify at all. */
int cgroup_tree_fd(const struct cgroup_tree *tree);
/* Takes in what changed, a part of it where that is much. After an overflow of the queue it rescans. */
void cgroup_tree_dispatch(struct cgroup_tree *tree);
/* Compares with the directories; also after the listener wants others than before. */
void cgroup_tree_rescan(struct cgroup_tree *tree);
/*
 * NULL, or why some changes are noticed only by rescans: "the limit of inotify watches is reached
 * (fs.inotify.max_user_watches)...". Static text.
 */
const char *cgroup_tree_limitation(const struct cgroup_tree *tree);
/* How many inotify watches it holds. */
size_t cgroup_tree_watches(const struct cgroup_tree *tree);
/* Opens a node's directory for perf_event_open(2). Errors of open(2); -ESTALE where another cgroup has its place. */
int cgroup_tree_open(const struct cgroup_tree *tree, const struct cgroup_node *node);

/* The n-th node, in no order; NULL past the last. */
struct cgroup_node *cgroup_tree_node(const struct cgroup_tree *tree, size_t n);

struct vacancies {
    int fd;     /* reports when one is not vacant any more; -1 while there never was one */
    int joined; /* the epoll descriptor that `fd` is added to */
};

void vacancies_done(struct vacancies *vacancies);
/* Leaves the node out where its cgroup is vacant; each node is looked at once. Whether it is left out. */
bool vacancies_find(struct vacancies *vacancies, const struct cgroup_tree *tree, struct cgroup_node *node);
/* Nodes whose cgroups have processes now are no longer left out. Whether there are such. */
bool vacancies_dispatch(struct vacancies *vacancies, const struct cgroup_tree *tree);
/* The node goes. */
void vacancies_forget(struct vacancies *vacancies, struct cgroup_node *node);

#endif
