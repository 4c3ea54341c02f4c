/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of a cgroup hierarchy: see tree.h.
 *
 * An event only says where to look: the name is compared with what is there now, so that late, doubled and stale events
 * do no harm. What is found is queued, and each directory is watched first and listed then, so that whatever is made
 * meanwhile is either listed or told by an event. Parents come before their children, shallow ones before deep ones.
 */
#include "collectors/cgroup/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collectors/cgroup/directory.h"
#include "collectors/cgroup/index.h"

/* Only directories tell of names, and cgroups of v1 can be renamed. */
#define WATCH_MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)
#define EVENTS_SIZE (64 * 1024)
/* So that whoever makes cgroups without end does not hold up the event loop; the descriptor stays readable. */
#define READS_MAX 16

enum limitation { NO_INOTIFY, NO_WATCHES_LEFT, NOT_WATCHED, NOT_READ, N_LIMITATIONS };

static const char *const limitations[N_LIMITATIONS] = {
    [NO_INOTIFY] =
        "inotify is not to be had: the limit of its instances (fs.inotify.max_user_instances) or that of open "
        "files is reached; raise it and restart, until then new and removed cgroups are noticed by rescans "
        "alone",
    [NO_WATCHES_LEFT] = "the limit of inotify watches is reached (fs.inotify.max_user_watches); raise it, until then "
                        "some new and removed cgroups are noticed by rescans alone",
    [NOT_WATCHED] = "some cgroup directories cannot be watched by inotify; see that /proc is mounted, until then some "
                    "new and removed cgroups are noticed by rescans alone",
    [NOT_READ] = "some cgroup directories could not be read, for want of descriptors (LimitNOFILE=), memory or "
                 "permission; the next rescan looks at them again",
};

struct cgroup_tree {
    struct cgroup_root root;
    int inotify_fd;
    struct cgroup_listener listener;
    struct cgroup_index index;
    struct cgroup_queue pending;
    bool limited[N_LIMITATIONS];
    bool overflow;
    unsigned scan; /* numbers listings, so that each tells who was not seen in it */
};

int cgroup_tree_open(const struct cgroup_tree *tree, const struct cgroup_node *node)
{
    return cgroup_directory_open(&tree->root, node->path, node->inode);
}

/* --- entries that leave --- */

static void forget(struct cgroup_tree *tree, struct cgroup_index_entry *entry)
{
    if (entry->pending)
        TAILQ_REMOVE(&tree->pending, entry, queue);
    if (entry->announced)
        tree->listener.removed(tree->listener.userdata, &entry->node);
    /* The removal of a cgroup leaves its watch, and what it pins, in place. */
    if (entry->watch >= 0)
        inotify_rm_watch(tree->inotify_fd, entry->watch);
    cgroup_index_remove(&tree->index, entry);
}

/* With all below it, children first. */
static void forget_tree(struct cgroup_tree *tree, struct cgroup_index_entry *top)
{
    struct cgroup_index_entry *entry = top;
    bool done;

    do {
        while (!LIST_EMPTY(&entry->children))
            entry = LIST_FIRST(&entry->children);
        struct cgroup_index_entry *parent = entry->parent;
        done = entry == top;
        forget(tree, entry);
        entry = parent;
    } while (!done);
}

/* --- entries that come --- */

static void enqueue(struct cgroup_tree *tree, struct cgroup_index_entry *entry)
{
    if (entry->pending)
        return;
    entry->pending = true;
    TAILQ_INSERT_TAIL(&tree->pending, entry, queue);
}

static bool is_below(const struct cgroup_index_entry *entry, const struct cgroup_index_entry *ancestor)
{
    while (entry && entry != ancestor)
        entry = entry->parent;
    return entry;
}

/* The watch that inotify gave for this entry's inode is `holder`'s already. */
static bool take_over_watch(struct cgroup_tree *tree, const struct cgroup_index_entry *entry,
                            struct cgroup_index_entry *holder)
{
    _cleanup_(closep) int fd = cgroup_tree_open(tree, &holder->node);
    if (fd < 0 && !cgroup_directory_is_gone(fd))
        tree->limited[NOT_READ] = true;
    if (!cgroup_directory_is_gone(fd) || is_below(entry, holder))
        return false; /* a bind mount shows one directory twice */
    cgroup_index_set_watch(&tree->index, holder, -1);
    forget_tree(tree, holder); /* it was renamed, and the event that says so is on its way */
    return true;
}

/* -EEXIST where the directory is one that is known under another path. */
static int add_watch(struct cgroup_tree *tree, struct cgroup_index_entry *entry, int fd)
{
    char path[32];

    if (entry->watch >= 0 || tree->inotify_fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int watch = inotify_add_watch(tree->inotify_fd, path, WATCH_MASK);
    if (watch < 0) {
        tree->limited[errno == ENOSPC ? NO_WATCHES_LEFT : NOT_WATCHED] = true;
        return 0;
    }
    struct cgroup_index_entry *holder = cgroup_index_of_watch(&tree->index, watch);
    if (holder && !take_over_watch(tree, entry, holder))
        return -EEXIST;
    cgroup_index_set_watch(&tree->index, entry, watch);
    return 0;
}

static int announce(struct cgroup_tree *tree, struct cgroup_index_entry *entry)
{
    if (entry->announced)
        return 0;
    int r = cgroup_index_announce(&tree->index, entry);
    if (r == 0)
        tree->listener.added(tree->listener.userdata, &entry->node);
    return r;
}

/* `name` in `parent` is a directory of this inode now. */
static void found(struct cgroup_tree *tree, struct cgroup_index_entry *parent, const char *name, uint64_t inode)
{
    struct cgroup_index_entry *entry = cgroup_index_child(&tree->index, parent, name);

    if (entry && entry->node.inode != inode) {
        forget_tree(tree, entry);
        entry = NULL;
    }
    if (!entry) {
        int r = cgroup_index_add(&tree->index, parent, name, inode, &entry);
        if (r < 0) {
            tree->limited[NOT_READ] |= r != -ENAMETOOLONG;
            return;
        }
    }
    entry->seen_in = tree->scan;
    enqueue(tree, entry);
}

struct listing {
    struct cgroup_tree *tree;
    struct cgroup_index_entry *parent;
};

static void on_found(void *userdata, const char *name, uint64_t inode)
{
    const struct listing *listing = userdata;

    found(listing->tree, listing->parent, name, inode);
}

static void forget_unseen(struct cgroup_tree *tree, const struct cgroup_index_entry *parent)
{
    struct cgroup_index_entry *next;

    for (struct cgroup_index_entry *entry = LIST_FIRST(&parent->children); entry; entry = next) {
        next = LIST_NEXT(entry, siblings);
        if (entry->seen_in != tree->scan)
            forget_tree(tree, entry);
    }
}

/* What is in a directory that is watched by now. */
static void look_into(struct cgroup_tree *tree, struct cgroup_index_entry *entry, int *fd)
{
    struct listing listing = {.tree = tree, .parent = entry};

    tree->scan++;
    if (cgroup_directory_list(&tree->root, fd, on_found, &listing) < 0)
        tree->limited[NOT_READ] = true;
    else
        forget_unseen(tree, entry);
}

/* Watches, announces and lists one directory, in this order. */
static void visit(struct cgroup_tree *tree, struct cgroup_index_entry *entry)
{
    _cleanup_(closep) int fd = cgroup_tree_open(tree, &entry->node);
    bool stays = !cgroup_directory_is_gone(fd);

    if (fd < 0)
        tree->limited[NOT_READ] |= stays;
    else
        stays = add_watch(tree, entry, fd) == 0;
    if (stays && announce(tree, entry) < 0) {
        tree->limited[NOT_READ] = true;
        stays = false;
    }
    if (!stays && entry->parent)
        forget_tree(tree, entry);
    else if (fd >= 0)
        look_into(tree, entry, &fd);
}

static void visit_pending(struct cgroup_tree *tree)
{
    struct cgroup_index_entry *entry;

    while ((entry = TAILQ_FIRST(&tree->pending))) {
        TAILQ_REMOVE(&tree->pending, entry, queue);
        entry->pending = false;
        visit(tree, entry);
    }
}

/* --- what inotify tells --- */

/* Compares one name with what is known of it. */
static void look_at(struct cgroup_tree *tree, struct cgroup_index_entry *parent, const char *name)
{
    uint64_t inode;

    _cleanup_(closep) int fd = cgroup_tree_open(tree, &parent->node);
    if (fd < 0) { /* where the parent is gone itself, an event about it follows */
        tree->limited[NOT_READ] |= !cgroup_directory_is_gone(fd);
        return;
    }
    struct cgroup_index_entry *known = cgroup_index_child(&tree->index, parent, name);
    if (!cgroup_directory_find(&tree->root, fd, name, &inode)) {
        if (known)
            forget_tree(tree, known);
    } else if (!known || known->node.inode != inode) {
        found(tree, parent, name, inode);
    }
    visit_pending(tree);
}

/* The kernel took a watch back, as file systems other than the cgroups' do with a removed directory. */
static void lost_watch(struct cgroup_tree *tree, struct cgroup_index_entry *entry)
{
    struct cgroup_index_entry *parent = entry->parent;
    char name[NAME_MAX + 1];

    cgroup_index_set_watch(&tree->index, entry, -1);
    if (!parent) {
        tree->limited[NOT_WATCHED] = true;
        return;
    }
    snprintf(name, sizeof(name), "%s", entry->name);
    forget_tree(tree, entry);
    look_at(tree, parent, name);
}

static void take_event(struct cgroup_tree *tree, const struct inotify_event *event)
{
    struct cgroup_index_entry *entry = cgroup_index_of_watch(&tree->index, event->wd);

    if (event->mask & IN_Q_OVERFLOW)
        tree->overflow = true;
    else if (!entry)
        return; /* of a watch that was removed before this was read */
    else if (event->mask & IN_IGNORED)
        lost_watch(tree, entry);
    else if (event->mask & IN_ISDIR && event->len > 0)
        look_at(tree, entry, event->name);
}

void cgroup_tree_dispatch(struct cgroup_tree *tree)
{
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];

    for (size_t i = 0; tree->inotify_fd >= 0 && i < READS_MAX; i++) {
        ssize_t n = read(tree->inotify_fd, events, sizeof(events));
        if (n <= 0)
            break;
        for (char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;
            take_event(tree, event);
            at += sizeof(*event) + event->len;
        }
    }
    if (tree->overflow)
        cgroup_tree_rescan(tree);
}

void cgroup_tree_rescan(struct cgroup_tree *tree)
{
    tree->overflow = false;
    for (size_t i = 0; i < N_LIMITATIONS; i++)
        tree->limited[i] &= i == NO_INOTIFY;
    enqueue(tree, tree->index.root);
    visit_pending(tree);
}

/* --- the tree as a whole --- */

DEFINE_CLEANUP(struct cgroup_tree *, cgroup_tree_free);

int cgroup_tree_new(const char *root, const struct cgroup_listener *listener, struct cgroup_tree **ret,
                    struct error *error)
{
    _cleanup_(cgroup_tree_freep) struct cgroup_tree *tree = calloc(1, sizeof(*tree));
    struct cgroup_index_entry *entry;
    struct stat status;

    if (!tree)
        return error_oom(error);
    TAILQ_INIT(&tree->pending);
    tree->listener = *listener;
    tree->inotify_fd = -1;
    tree->root.fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->root.fd < 0 || fstat(tree->root.fd, &status) < 0)
        return error_set(error, -errno, "cannot open the cgroups' directory %s: %s", root, strerror(errno));
    tree->root.device = status.st_dev;
    if (cgroup_index_add(&tree->index, NULL, "", status.st_ino, &entry) < 0)
        return error_oom(error);
    tree->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    tree->limited[NO_INOTIFY] = tree->inotify_fd < 0;
    cgroup_tree_rescan(tree);
    *ret = steal(tree);
    return 0;
}

struct cgroup_tree *cgroup_tree_free(struct cgroup_tree *tree)
{
    if (!tree)
        return NULL;
    cgroup_index_done(&tree->index);
    closep(&tree->inotify_fd);
    closep(&tree->root.fd);
    free(tree);
    return NULL;
}

int cgroup_tree_fd(const struct cgroup_tree *tree)
{
    return tree->inotify_fd;
}

const char *cgroup_tree_limitation(const struct cgroup_tree *tree)
{
    for (size_t i = 0; i < N_LIMITATIONS; i++)
        if (tree->limited[i])
            return limitations[i];
    return NULL;
}

size_t cgroup_tree_watches(const struct cgroup_tree *tree)
{
    return tree->index.n_watches;
}

struct cgroup_node *cgroup_tree_node(const struct cgroup_tree *tree, size_t n)
{
    return n < tree->index.n_announced ? &tree->index.announced[n]->node : NULL;
}
