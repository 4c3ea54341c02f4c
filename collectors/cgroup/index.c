/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that are known: see index.h. */
#include "collectors/cgroup/index.h"

#include "base/cleanup.h"

#define BUCKETS_MIN 64

/* FNV-1a. */
static size_t hash_name(const struct cgroup_index_entry *parent, const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uintptr_t)parent;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(hash ^ hash >> 32);
}

static struct cgroup_list *name_bucket(const struct cgroup_index *index, const struct cgroup_index_entry *parent,
                                       const char *name)
{
    return &index->by_name[hash_name(parent, name) & (index->n_buckets - 1)];
}

/* The kernel numbers watches one after the other, which spreads them well. */
static struct cgroup_list *watch_bucket(const struct cgroup_index *index, int watch)
{
    return &index->by_watch[(size_t)watch & (index->n_buckets - 1)];
}

/* Moves every entry into the new buckets. */
static void refill(struct cgroup_index *index, const struct cgroup_list *by_name, const struct cgroup_list *by_watch,
                   size_t n_buckets)
{
    for (size_t i = 0; i < n_buckets; i++) {
        struct cgroup_index_entry *entry = LIST_FIRST(&by_name[i]), *next;
        for (; entry; entry = next) {
            next = LIST_NEXT(entry, of_name);
            LIST_INSERT_HEAD(name_bucket(index, entry->parent, entry->name), entry, of_name);
        }
        for (entry = LIST_FIRST(&by_watch[i]); entry; entry = next) {
            next = LIST_NEXT(entry, of_watch);
            LIST_INSERT_HEAD(watch_bucket(index, entry->watch), entry, of_watch);
        }
    }
}

static int make_room(struct cgroup_index *index)
{
    if (index->n < index->n_buckets)
        return 0;
    size_t n_buckets = MAX(2 * index->n_buckets, (size_t)BUCKETS_MIN);
    _cleanup_(freep) struct cgroup_list *by_name = calloc(n_buckets, sizeof(*by_name));
    _cleanup_(freep) struct cgroup_list *by_watch = calloc(n_buckets, sizeof(*by_watch));
    if (!by_name || !by_watch)
        return -ENOMEM;
    _cleanup_(freep) struct cgroup_list *old_by_name = index->by_name;
    _cleanup_(freep) struct cgroup_list *old_by_watch = index->by_watch;
    size_t n_old = index->n_buckets;
    index->by_name = steal(by_name);
    index->by_watch = steal(by_watch);
    index->n_buckets = n_buckets;
    refill(index, old_by_name, old_by_watch, n_old);
    return 0;
}

static struct cgroup_index_entry *entry_free(struct cgroup_index_entry *entry)
{
    if (entry)
        free(entry->node.path);
    free(entry);
    return NULL;
}
DEFINE_CLEANUP(struct cgroup_index_entry *, entry_free);

void cgroup_index_done(struct cgroup_index *index)
{
    for (size_t i = 0; i < index->n_buckets; i++) {
        struct cgroup_index_entry *next;
        for (struct cgroup_index_entry *entry = LIST_FIRST(&index->by_name[i]); entry; entry = next) {
            next = LIST_NEXT(entry, of_name);
            entry_free(entry);
        }
    }
    free(index->announced);
    free(index->by_name);
    free(index->by_watch);
    *index = (struct cgroup_index){0};
}

/* "/" for the root, "/name" below it, "PARENT/name" elsewhere. */
static int set_path(struct cgroup_index_entry *entry)
{
    const struct cgroup_index_entry *parent = entry->parent;
    const char *before = parent && parent->parent ? parent->node.path : "";
    size_t length = strlen(before), name_length = strlen(entry->name);

    if (length + name_length + 2 > CGROUP_PATH_MAX)
        return -ENAMETOOLONG;
    char *path = malloc(length + name_length + 2);
    if (!path)
        return -ENOMEM;
    memcpy(path, before, length);
    path[length] = '/';
    memcpy(path + length + 1, entry->name, name_length + 1);
    entry->node.path = path;
    entry->name = path + length + 1;
    return 0;
}

int cgroup_index_add(struct cgroup_index *index, struct cgroup_index_entry *parent, const char *name, uint64_t inode,
                     struct cgroup_index_entry **ret)
{
    _cleanup_(entry_freep) struct cgroup_index_entry *entry = calloc(1, sizeof(*entry));

    if (!entry || make_room(index) < 0)
        return -ENOMEM;
    entry->name = name;
    entry->parent = parent;
    entry->watch = -1;
    entry->node.inode = inode;
    entry->node.depth = parent ? parent->node.depth + 1 : 0;
    int r = set_path(entry);
    if (r < 0)
        return r;
    LIST_INSERT_HEAD(name_bucket(index, parent, entry->name), entry, of_name);
    if (parent)
        LIST_INSERT_HEAD(&parent->children, entry, siblings);
    else
        index->root = entry;
    index->n++;
    *ret = steal(entry);
    return 0;
}

void cgroup_index_remove(struct cgroup_index *index, struct cgroup_index_entry *entry)
{
    cgroup_index_set_watch(index, entry, -1);
    if (entry->announced) { /* the last one takes its place */
        struct cgroup_index_entry *last = index->announced[--index->n_announced];
        index->announced[entry->position] = last;
        last->position = entry->position;
    }
    LIST_REMOVE(entry, of_name);
    LIST_REMOVE(entry, siblings);
    index->n--;
    entry_free(entry);
}

void cgroup_index_set_watch(struct cgroup_index *index, struct cgroup_index_entry *entry, int watch)
{
    if (entry->watch >= 0) {
        LIST_REMOVE(entry, of_watch);
        index->n_watches--;
    }
    entry->watch = watch;
    if (watch >= 0) {
        LIST_INSERT_HEAD(watch_bucket(index, watch), entry, of_watch);
        index->n_watches++;
    }
}

int cgroup_index_announce(struct cgroup_index *index, struct cgroup_index_entry *entry)
{
    if (array_grow(&index->announced, index->n_announced) < 0)
        return -ENOMEM;
    entry->position = index->n_announced;
    index->announced[index->n_announced++] = entry;
    entry->announced = true;
    return 0;
}

struct cgroup_index_entry *cgroup_index_child(const struct cgroup_index *index, const struct cgroup_index_entry *parent,
                                              const char *name)
{
    struct cgroup_index_entry *entry = LIST_FIRST(name_bucket(index, parent, name));

    while (entry && (entry->parent != parent || !str_equal(entry->name, name)))
        entry = LIST_NEXT(entry, of_name);
    return entry;
}

struct cgroup_index_entry *cgroup_index_of_watch(const struct cgroup_index *index, int watch)
{
    if (watch < 0 || index->n_buckets == 0)
        return NULL;
    struct cgroup_index_entry *entry = LIST_FIRST(watch_bucket(index, watch));
    while (entry && entry->watch != watch)
        entry = LIST_NEXT(entry, of_watch);
    return entry;
}
