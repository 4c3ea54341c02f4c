/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that are known: see index.h. */
#include "cgroups/index.h"

#include "base/cleanup.h"

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

/* The kernel numbers watches one after the other, which spreads them well. */
static struct cgroup_list *watch_bucket(const struct cgroup_index *index, int watch)
{
    return &index->by_watch[(size_t)watch & (index->n_buckets - 1)];
}

/* One file system hands them out, mostly one after the other. */
static struct cgroup_list *inode_bucket(const struct cgroup_index *index, uint64_t inode)
{
    return &index->by_inode[inode & (index->n_buckets - 1)];
}

/* Moves every node of the buckets before into those of the index. */
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

void cgroup_index_done(struct cgroup_index *index)
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

/* "/" for the root, "/name" below it, "PARENT/name" elsewhere. */
int cgroup_index_path(const struct cgroup_node *parent, const char *name, char **ret)
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

int cgroup_index_add(struct cgroup_index *index, struct cgroup_node *parent, const char *name, uint64_t inode,
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

void cgroup_index_remove(struct cgroup_index *index, struct cgroup_node *node)
{
    cgroup_index_set_watch(index, node, -1);
    if (node->announced) { /* the last one takes its place */
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

void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_node *node, int watch)
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

int cgroup_index_announce(struct cgroup_index *index, struct cgroup_node *node)
{
    if (array_grow(&index->announced, index->n_announced) < 0)
        return -ENOMEM;
    node->position = index->n_announced;
    index->announced[index->n_announced++] = node;
    node->announced = true;
    return 0;
}

struct cgroup_node *cgroup_index_child(const struct cgroup_index *index, const struct cgroup_node *parent,
                                       const char *name)
{
    struct cgroup_node *node = LIST_FIRST(name_bucket(index, parent, name));

    while (node && (node->parent != parent || !str_equal(node->name, name)))
        node = LIST_NEXT(node, of_name);
    return node;
}

bool cgroup_index_is_below(const struct cgroup_node *node, const struct cgroup_node *ancestor)
{
    while (node && node != ancestor)
        node = node->parent;
    return node;
}

struct cgroup_node *cgroup_index_twin(const struct cgroup_index *index, const struct cgroup_node *node)
{
    struct cgroup_node *twin = LIST_FIRST(inode_bucket(index, node->inode));

    while (twin && (twin == node || twin->inode != node->inode || !twin->announced))
        twin = LIST_NEXT(twin, of_inode);
    return twin;
}

struct cgroup_node *cgroup_index_of_watch(const struct cgroup_index *index, int watch)
{
    if (watch < 0 || index->n_buckets == 0)
        return NULL;
    struct cgroup_node *node = LIST_FIRST(watch_bucket(index, watch));
    while (node && node->watch != watch)
        node = LIST_NEXT(node, of_watch);
    return node;
}
