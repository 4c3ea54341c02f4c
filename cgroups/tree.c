/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/path.h"

/* In bytes. Cgroups with longer paths are skipped; their tasks are counted in an ancestor. */
#define CGROUP_PATH_MAX (64 * 1024)
TAILQ_HEAD(cgroup_queue, cgroup_node);

struct cgroup_index {
    struct cgroup_node *root;
    struct cgroup_node **announced;
    struct cgroup_list *by_name, *by_inode, *by_watch; /* each has n_buckets, a power of two that is at least n */
    size_t n_buckets, n, n_announced, n_watches;
};

static void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_node *node, int watch);

/* --- index --- */

#define BUCKETS_MIN 64

/* FNV-1a. */
static size_t hash_name(const struct cgroup_node *parent, const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uintptr_t)parent;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(hash ^ hash >> 32);
}

static struct cgroup_list *name_bucket(const struct cgroup_index *index, const struct cgroup_node *parent,
                                       const char *name)
{
    return &index->by_name[hash_name(parent, name) & (index->n_buckets - 1)];
}

/* The kernel numbers watches consecutively, so they are distributed evenly over the buckets. */
static struct cgroup_list *watch_bucket(const struct cgroup_index *index, int watch)
{
    return &index->by_watch[(size_t)watch & (index->n_buckets - 1)];
}

/* All inodes are on one file system, which numbers them mostly consecutively. */
static struct cgroup_list *inode_bucket(const struct cgroup_index *index, uint64_t inode)
{
    return &index->by_inode[inode & (index->n_buckets - 1)];
}

/* Moves every node from the buckets of `before` to those of the index. */
static void refill(struct cgroup_index *index, const struct cgroup_index *before)
{
    for (size_t i = 0; i < before->n_buckets; i++) {
        struct cgroup_node *node = LIST_FIRST(&before->by_name[i]), *next;
        for (; node; node = next) {
            next = LIST_NEXT(node, of_name);
            LIST_INSERT_HEAD(name_bucket(index, node->parent, node->name), node, of_name);
            LIST_INSERT_HEAD(inode_bucket(index, node->inode), node, of_inode);
            if (node->watch >= 0)
                LIST_INSERT_HEAD(watch_bucket(index, node->watch), node, of_watch);
        }
    }
}

static void free_buckets(const struct cgroup_index *index)
{
    free(index->by_name);
    free(index->by_inode);
    free(index->by_watch);
}

static int index_make_room(struct cgroup_index *index)
{
    struct cgroup_index before = *index, larger = *index;

    if (index->n < index->n_buckets)
        return 0;
    larger.n_buckets = MAX(2 * index->n_buckets, (size_t)BUCKETS_MIN);
    larger.by_name = calloc(larger.n_buckets, sizeof(larger.by_name[0]));
    larger.by_inode = calloc(larger.n_buckets, sizeof(larger.by_inode[0]));
    larger.by_watch = calloc(larger.n_buckets, sizeof(larger.by_watch[0]));
    if (!larger.by_name || !larger.by_inode || !larger.by_watch) {
        free_buckets(&larger);
        return -ENOMEM;
    }
    *index = larger;
    refill(index, &before);
    free_buckets(&before);
    return 0;
}

static struct cgroup_node *node_free(struct cgroup_node *node)
{
    if (node)
        free(node->path);
    free(node);
    return NULL;
}
DEFINE_CLEANUP(struct cgroup_node *, node_free);

/* Frees all nodes. */
static void cgroup_index_done(struct cgroup_index *index)
{
    for (size_t i = 0; i < index->n_buckets; i++) {
        struct cgroup_node *next;
        for (struct cgroup_node *node = LIST_FIRST(&index->by_name[i]); node; node = next) {
            next = LIST_NEXT(node, of_name);
            node_free(node);
        }
    }
    free(index->announced);
    free_buckets(index);
    *index = (struct cgroup_index){0};
}

/*
 * Builds the path of a node: "/" for the root, "/name" below it, "PARENT/name" elsewhere. Returns -ENAMETOOLONG above
 * CGROUP_PATH_MAX, or -ENOMEM.
 */
static int cgroup_index_path(const struct cgroup_node *parent, const char *name, char **ret)
{
    const char *before = parent && parent->parent ? parent->path : "";
    size_t length = strlen(before), name_length = strlen(name);

    if (length + name_length + 2 > CGROUP_PATH_MAX)
        return -ENAMETOOLONG;
    char *path = malloc(length + name_length + 2);
    if (!path)
        return -ENOMEM;
    memcpy(path, before, length);
    path[length] = '/';
    memcpy(path + length + 1, name, name_length + 1);
    *ret = path;
    return 0;
}

/*
 * Adds a node. The first node, whose parent is NULL, is the root. Returns -ENOMEM, or -ENAMETOOLONG above
 * CGROUP_PATH_MAX.
 */
static int cgroup_index_add(struct cgroup_index *index, struct cgroup_node *parent, const char *name, uint64_t inode,
                            struct cgroup_node **ret)
{
    _cleanup_(node_freep) struct cgroup_node *node = calloc(1, sizeof(*node));

    if (!node || index_make_room(index) < 0)
        return -ENOMEM;
    node->parent = parent;
    node->watch = -1;
    node->inode = inode;
    node->depth = parent ? parent->depth + 1 : 0;
    int r = cgroup_index_path(parent, name, &node->path);
    if (r < 0)
        return r;
    node->name = node->path + strlen(node->path) - strlen(name);
    LIST_INSERT_HEAD(name_bucket(index, parent, node->name), node, of_name);
    LIST_INSERT_HEAD(inode_bucket(index, inode), node, of_inode);
    if (parent)
        LIST_INSERT_HEAD(&parent->children, node, siblings);
    else
        index->root = node;
    index->n++;
    *ret = steal(node);
    return 0;
}

/* Removes a node without children. The root is only removed by cgroup_index_done(). */
static void cgroup_index_remove(struct cgroup_index *index, struct cgroup_node *node)
{
    cgroup_index_set_watch(index, node, -1);
    if (node->announced) { /* the last node takes the place of this one */
        struct cgroup_node *last = index->announced[--index->n_announced];
        index->announced[node->position] = last;
        last->position = node->position;
    }
    LIST_REMOVE(node, of_name);
    LIST_REMOVE(node, of_inode);
    LIST_REMOVE(node, siblings);
    index->n--;
    node_free(node);
}

/* A watch of -1 means that the node has none. */
static void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_node *node, int watch)
{
    if (node->watch >= 0) {
        LIST_REMOVE(node, of_watch);
        index->n_watches--;
    }
    node->watch = watch;
    if (watch >= 0) {
        LIST_INSERT_HEAD(watch_bucket(index, watch), node, of_watch);
        index->n_watches++;
    }
}

/* Adds the node to `announced`. Returns -ENOMEM on failure. */
static int cgroup_index_announce(struct cgroup_index *index, struct cgroup_node *node)
{
    if (array_grow(&index->announced, index->n_announced) < 0)
        return -ENOMEM;
    node->position = index->n_announced;
    index->announced[index->n_announced++] = node;
    node->announced = true;
    return 0;
}

/* Returns NULL if there is no such child. */
static struct cgroup_node *cgroup_index_child(const struct cgroup_index *index, const struct cgroup_node *parent,
                                              const char *name)
{
    struct cgroup_node *node = LIST_FIRST(name_bucket(index, parent, name));

    while (node && (node->parent != parent || !str_equal(node->name, name)))
        node = LIST_NEXT(node, of_name);
    return node;
}

/* Whether the node is below `ancestor`; also true if both are the same node. */
static bool cgroup_index_is_below(const struct cgroup_node *node, const struct cgroup_node *ancestor)
{
    while (node && node != ancestor)
        node = node->parent;
    return node;
}

/* Returns an announced node of the same directory under another path, or NULL. */
static struct cgroup_node *cgroup_index_twin(const struct cgroup_index *index, const struct cgroup_node *node)
{
    struct cgroup_node *twin = LIST_FIRST(inode_bucket(index, node->inode));

    while (twin && (twin == node || twin->inode != node->inode || !twin->announced))
        twin = LIST_NEXT(twin, of_inode);
    return twin;
}

static struct cgroup_node *cgroup_index_of_watch(const struct cgroup_index *index, int watch)
{
    if (watch < 0 || index->n_buckets == 0)
        return NULL;
    struct cgroup_node *node = LIST_FIRST(watch_bucket(index, watch));
    while (node && node->watch != watch)
        node = LIST_NEXT(node, of_watch);
    return node;
}

/* --- tree --- */

/*
 * An event only tells which name to check: that name is compared with the current state of the directory, so that late,
 * repeated and outdated events do no harm. Directories that are found are put into a queue. Each directory in the queue
 * is announced first, so that counting starts as early as possible; then watched; then listed. A directory that is
 * created in between is therefore either listed or reported by an event. Parents come before their children, and
 * shallow directories before deep ones.
 */

/* IN_ONLYDIR: only directories report names. IN_MOVED_*: v1 cgroups can be renamed. */
#define WATCH_MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)
/*
 * Maximum number of bytes that are read in one call: some 100 names. An endless stream of cgroups must not block the
 * event loop. The descriptor stays readable if there is more.
 */
#define EVENTS_SIZE (4 * 1024)

enum limitation { NO_INOTIFY, NO_WATCHES_LEFT, NOT_WATCHED, NOT_READ, N_LIMITATIONS };

static const char *const limitations[N_LIMITATIONS] = {
    [NO_INOTIFY] =
        "inotify is not available: the limit of inotify instances (fs.inotify.max_user_instances) or of open files is "
        "reached; raise it and restart; until then new and removed cgroups are noticed only by rescans",
    [NO_WATCHES_LEFT] = "the limit of inotify watches is reached (fs.inotify.max_user_watches); raise it; until then "
                        "some new and removed cgroups are noticed only by rescans",
    [NOT_WATCHED] =
        "some cgroup directories cannot be watched by inotify; check that /proc is mounted; until then some "
        "new and removed cgroups are noticed only by rescans",
    [NOT_READ] = "some cgroup directories could not be read: descriptors (LimitNOFILE=) or memory ran out, or "
                 "permission was denied; the next rescan will retry",
};

struct cgroup_tree {
    struct cgroup_root root;
    int inotify_fd;
    struct cgroup_listener listener;
    struct cgroup_index index;
    struct cgroup_queue pending;
    bool limited[N_LIMITATIONS];
    bool overflow;
    unsigned scan; /* number of the last listing; a node with an older number was not in it */
};

int cgroup_tree_open(const struct cgroup_tree *tree, const struct cgroup_node *node)
{
    return cgroup_directory_open(&tree->root, node->path, node->inode);
}

static void tree_forget_node(struct cgroup_tree *tree, struct cgroup_node *node)
{
    if (node->pending)
        TAILQ_REMOVE(&tree->pending, node, queue);
    if (node->announced)
        tree->listener.removed(tree->listener.userdata, node);
    /* The removal of a cgroup neither removes its watch nor releases the memory that the watch pins. */
    if (node->watch >= 0)
        inotify_rm_watch(tree->inotify_fd, node->watch);
    cgroup_index_remove(&tree->index, node);
}

/* Forgets a node and everything below it, children first. */
static void tree_forget(struct cgroup_tree *tree, struct cgroup_node *top)
{
    struct cgroup_node *node = top;
    bool done;

    do {
        while (!LIST_EMPTY(&node->children))
            node = LIST_FIRST(&node->children);
        struct cgroup_node *parent = node->parent;
        done = node == top;
        tree_forget_node(tree, node);
        node = parent;
    } while (!done);
}

static void tree_enqueue(struct cgroup_tree *tree, struct cgroup_node *node)
{
    if (node->pending)
        return;
    node->pending = true;
    TAILQ_INSERT_TAIL(&tree->pending, node, queue);
}

/* Whether the directory is known under another path. */
static bool tree_has_elsewhere(struct cgroup_tree *tree, const struct cgroup_node *node)
{
    struct cgroup_node *twin = node->announced ? NULL : cgroup_index_twin(&tree->index, node);

    if (!twin)
        return false;
    _cleanup_(closep) int fd = cgroup_tree_open(tree, twin);
    if (fd < 0 && !cgroup_directory_is_gone(fd))
        tree->limited[NOT_READ] = true;
    if (!cgroup_directory_is_gone(fd) || cgroup_index_is_below(node, twin))
        return true;         /* a bind mount shows the directory at two paths */
    tree_forget(tree, twin); /* the directory was renamed, and the event that reports it has not arrived yet */
    return false;
}

static void tree_add_watch(struct cgroup_tree *tree, struct cgroup_node *node, int fd)
{
    char path[32];

    if (node->watch >= 0 || tree->inotify_fd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int watch = inotify_add_watch(tree->inotify_fd, path, WATCH_MASK);
    if (watch < 0)
        tree->limited[errno == ENOSPC ? NO_WATCHES_LEFT : NOT_WATCHED] = true;
    else
        cgroup_index_set_watch(&tree->index, node, watch);
}

static int tree_announce(struct cgroup_tree *tree, struct cgroup_node *node, int fd)
{
    if (node->announced)
        return 0;
    int r = cgroup_index_announce(&tree->index, node);
    if (r == 0)
        tree->listener.added(tree->listener.userdata, node, fd);
    return r;
}

/*
 * Whether the tree needs the directory. Also true if its path cannot be built: adding the directory then returns the
 * error.
 */
static bool tree_seeks(const struct cgroup_tree *tree, const struct cgroup_node *parent, const char *name)
{
    const struct cgroup_listener *listener = &tree->listener;
    _cleanup_(freep) char *path = NULL;

    return cgroup_index_path(parent, name, &path) < 0 || listener->wants(listener->userdata, path) ||
           listener->wants_below(listener->userdata, path);
}

/* Called when `name` in `parent` is a directory with this inode. */
static void tree_found(struct cgroup_tree *tree, struct cgroup_node *parent, const char *name, uint64_t inode)
{
    struct cgroup_node *node = cgroup_index_child(&tree->index, parent, name);

    if (node && node->inode != inode) {
        tree_forget(tree, node);
        node = NULL;
    }
    if (!node) {
        int r = cgroup_index_add(&tree->index, parent, name, inode, &node);
        if (r < 0) {
            tree->limited[NOT_READ] |= r != -ENAMETOOLONG;
            return;
        }
    }
    node->seen_in = tree->scan;
    tree_enqueue(tree, node);
}

struct directory_listing {
    struct cgroup_tree *tree;
    struct cgroup_node *parent;
};

static void tree_on_found(void *userdata, const char *name, uint64_t inode)
{
    const struct directory_listing *listing = userdata;

    if (tree_seeks(listing->tree, listing->parent, name))
        tree_found(listing->tree, listing->parent, name, inode);
}

static void tree_forget_unseen(struct cgroup_tree *tree, const struct cgroup_node *parent)
{
    struct cgroup_node *next;

    for (struct cgroup_node *node = LIST_FIRST(&parent->children); node; node = next) {
        next = LIST_NEXT(node, siblings);
        if (node->seen_in != tree->scan)
            tree_forget(tree, node);
    }
}

/* Lists a directory, which must be watched already. Closes `*fd`. */
static void tree_list(struct cgroup_tree *tree, struct cgroup_node *node, int *fd)
{
    struct directory_listing listing = {.tree = tree, .parent = node};

    tree->scan++;
    if (cgroup_directory_list(&tree->root, fd, tree_on_found, &listing) < 0)
        tree->limited[NOT_READ] = true;
    else
        tree_forget_unseen(tree, node);
}

/* Forgets all nodes below, because none of them is wanted any more. */
static void tree_leave(struct cgroup_tree *tree, struct cgroup_node *node)
{
    while (!LIST_EMPTY(&node->children))
        tree_forget(tree, LIST_FIRST(&node->children));
    if (node->watch >= 0)
        inotify_rm_watch(tree->inotify_fd, node->watch);
    cgroup_index_set_watch(&tree->index, node, -1);
}

/* Watches and lists a directory if something below it may be wanted. May close `*fd`. */
static void tree_enter(struct cgroup_tree *tree, struct cgroup_node *node, int *fd)
{
    if (!tree->listener.wants_below(tree->listener.userdata, node->path)) {
        tree_leave(tree, node);
        return;
    }
    tree_add_watch(tree, node, *fd);
    tree_list(tree, node, fd);
}

static void tree_visit(struct cgroup_tree *tree, struct cgroup_node *node)
{
    _cleanup_(closep) int fd = cgroup_tree_open(tree, node);
    bool stays = !cgroup_directory_is_gone(fd);

    if (fd < 0)
        tree->limited[NOT_READ] |= stays;
    else
        stays = !tree_has_elsewhere(tree, node);
    if (stays && tree_announce(tree, node, fd) < 0) {
        tree->limited[NOT_READ] = true;
        stays = false;
    }
    if (!stays && node->parent)
        tree_forget(tree, node);
    else if (fd >= 0)
        tree_enter(tree, node, &fd);
}

static void tree_visit_pending(struct cgroup_tree *tree)
{
    struct cgroup_node *node;

    while ((node = TAILQ_FIRST(&tree->pending))) {
        TAILQ_REMOVE(&tree->pending, node, queue);
        node->pending = false;
        tree_visit(tree, node);
    }
}

/* --- events --- */

/* Compares a name in `parent` with the known node. */
static void tree_compare_name(struct cgroup_tree *tree, struct cgroup_node *parent, const char *name)
{
    struct cgroup_node *known = cgroup_index_child(&tree->index, parent, name);
    uint64_t inode;

    if (!known && !tree_seeks(tree, parent, name))
        return;
    _cleanup_(closep) int fd = cgroup_tree_open(tree, parent);
    if (fd < 0) { /* if the parent itself was removed, another event reports that */
        tree->limited[NOT_READ] |= !cgroup_directory_is_gone(fd);
        return;
    }
    int r = cgroup_directory_find(&tree->root, fd, name, &inode);
    if (r < 0)
        tree->limited[NOT_READ] = true;
    else if (r == 0 && known)
        tree_forget(tree, known);
    else if (r > 0 && (!known || known->inode != inode))
        tree_found(tree, parent, name, inode);
    tree_visit_pending(tree);
}

/* Called when the kernel has removed a watch. File systems other than cgroupfs do that when a directory is removed. */
static void tree_lost_watch(struct cgroup_tree *tree, struct cgroup_node *node)
{
    struct cgroup_node *parent = node->parent;
    char name[NAME_MAX + 1];

    cgroup_index_set_watch(&tree->index, node, -1);
    if (!parent) {
        tree->limited[NOT_WATCHED] = true;
        return;
    }
    snprintf(name, sizeof(name), "%s", node->name);
    tree_forget(tree, node);
    tree_compare_name(tree, parent, name);
}

static void tree_take_event(struct cgroup_tree *tree, const struct inotify_event *event)
{
    struct cgroup_node *node = cgroup_index_of_watch(&tree->index, event->wd);

    if (event->mask & IN_Q_OVERFLOW)
        tree->overflow = true;
    else if (!node)
        return; /* the watch was removed before its event was read */
    else if (event->mask & IN_IGNORED)
        tree_lost_watch(tree, node);
    else if (event->mask & IN_ISDIR && event->len > 0)
        tree_compare_name(tree, node, event->name);
}

void cgroup_tree_dispatch(struct cgroup_tree *tree)
{
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];

    ssize_t n = tree->inotify_fd >= 0 ? read(tree->inotify_fd, events, sizeof(events)) : 0;

    for (char *at = events; at < events + n;) {
        const struct inotify_event *event = (const void *)at;
        tree_take_event(tree, event);
        at += sizeof(*event) + event->len;
    }
    if (tree->overflow)
        cgroup_tree_rescan(tree);
}

void cgroup_tree_rescan(struct cgroup_tree *tree)
{
    tree->overflow = false;
    for (size_t i = 0; i < N_LIMITATIONS; i++)
        tree->limited[i] &= i == NO_INOTIFY;
    tree_enqueue(tree, tree->index.root);
    tree_visit_pending(tree);
}

/* --- interface --- */

DEFINE_CLEANUP(struct cgroup_tree *, cgroup_tree_free);

int cgroup_tree_new(const char *root, const struct cgroup_listener *listener, struct cgroup_tree **ret,
                    struct error *error)
{
    _cleanup_(cgroup_tree_freep) struct cgroup_tree *tree = calloc(1, sizeof(*tree));
    struct cgroup_node *node;
    struct stat status;

    if (!tree)
        return error_oom(error);
    TAILQ_INIT(&tree->pending);
    tree->listener = *listener;
    tree->inotify_fd = -1;
    tree->root.fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->root.fd < 0 || fstat(tree->root.fd, &status) < 0)
        return error_of_file(error, -errno, "open", root);
    tree->root.device = status.st_dev;
    if (cgroup_index_add(&tree->index, NULL, "", status.st_ino, &node) < 0)
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

struct cgroup_node *cgroup_tree_innermost(const struct cgroup_tree *tree, const char *path)
{
    struct cgroup_node *node = tree->index.root, *found = NULL;
    char name[NAME_MAX + 1];

    while (node) {
        found = node->userdata ? node : found;
        path += *path == '/';
        size_t size = strcspn(path, "/");
        if (size == 0 || size >= sizeof(name))
            break;
        *put_bytes(name, path, size) = '\0';
        path += size;
        node = cgroup_index_child(&tree->index, node, name);
    }
    return found;
}

struct cgroup_node *cgroup_tree_node(const struct cgroup_tree *tree, size_t n)
{
    return n < tree->index.n_announced ? tree->index.announced[n] : NULL;
}

/* --- empty cgroups --- */

void empty_cgroups_done(struct empty_cgroups *empty_cgroups)
{
    closep(&empty_cgroups->fd);
}

static bool is_scope(const char *path)
{
    _cleanup_(names_done) struct names names = {0};
    const char *last = strrchr(path, '/');

    if (str_ends(path, ".scope"))
        return true;
    return last && names_from_path(&names, last) == 0 && names.texts[NAME_CONTAINER_ID];
}

/* Opened on demand: few machines have a vacant cgroup, and the others need no descriptor. */
static bool empty_cgroups_open(struct empty_cgroups *empty_cgroups)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (empty_cgroups->fd >= 0)
        return true;
    _cleanup_(closep) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || epoll_ctl(empty_cgroups->joined, EPOLL_CTL_ADD, fd, &event) < 0)
        return false;
    empty_cgroups->fd = steal_fd(&fd);
    return true;
}

/* False if cgroup.events says "populated 0": neither the cgroup nor any cgroup below it has a process. */
static bool is_populated(int events)
{
    char text[256];
    ssize_t n = pread(events, text, sizeof(text) - 1, 0);

    text[MAX(n, (ssize_t)0)] = '\0';
    return !strstr(text, "populated 0\n");
}

static void empty_cgroups_watch(struct empty_cgroups *empty_cgroups, struct cgroup_node *node, int events)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", events);
    int watch = empty_cgroups_open(empty_cgroups) ? inotify_add_watch(empty_cgroups->fd, path, IN_MODIFY) : -1;
    node->left_out = watch >= 0;
    node->empty_cgroup = MAX(watch, 0);
    if (watch >= 0 && is_populated(events)) /* a process has entered the cgroup in the meantime */
        empty_cgroups_forget(empty_cgroups, node);
}

bool empty_cgroups_find(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree, struct cgroup_node *node)
{
    if (node->looked_at || node->left_out || node->userdata || !is_scope(node->path))
        return node->left_out;
    _cleanup_(closep) int directory = cgroup_tree_open(tree, node);
    _cleanup_(closep) int events = directory < 0 ? -1 : openat(directory, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (events >= 0 && !is_populated(events))
        empty_cgroups_watch(empty_cgroups, node, events);
    node->looked_at = true;
    return node->left_out;
}

void empty_cgroups_forget(struct empty_cgroups *empty_cgroups, struct cgroup_node *node)
{
    if (node->empty_cgroup <= 0)
        return;
    inotify_rm_watch(empty_cgroups->fd, node->empty_cgroup);
    node->empty_cgroup = 0;
    node->left_out = false;
}

static bool empty_cgroups_end(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree, int watch)
{
    struct cgroup_node *node;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++)
        if (node->empty_cgroup == watch) {
            empty_cgroups_forget(empty_cgroups, node);
            return true;
        }
    return false;
}

bool empty_cgroups_dispatch(struct empty_cgroups *empty_cgroups, const struct cgroup_tree *tree)
{
    struct inotify_event event; /* an event for a file has no name */
    bool any = false;

    while (empty_cgroups->fd >= 0 && read(empty_cgroups->fd, &event, sizeof(event)) == sizeof(event))
        if (event.mask & IN_MODIFY)
            any |= empty_cgroups_end(empty_cgroups, tree, event.wd);
    return any;
}
