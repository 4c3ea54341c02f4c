/* SPDX-License-Identifier: Apache-2.0 */
/* What a few files looked like: see stamps.h. */
#include "http/stamps.h"

#include <assert.h>

static struct stamp stamp_now(char *path)
{
    struct stamp stamp = {.path = path};
    struct stat status;

    if (stat(path, &status) < 0) {
        stamp.error = errno;
        return stamp;
    }
    stamp.device = status.st_dev;
    stamp.inode = status.st_ino;
    stamp.size = status.st_size;
    stamp.modified = status.st_mtim;
    stamp.changed = status.st_ctim;
    return stamp;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct stamp *a, const struct stamp *b)
{
    return a->error == b->error && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

int stamps_add(struct stamps *stamps, const char *path)
{
    if (!path)
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    assert(stamps->n < STAMPS_MAX);
    stamps->items[stamps->n++] = stamp_now(copy);
    return 0;
}

bool stamps_outdated(const struct stamps *stamps)
{
    for (size_t i = 0; i < stamps->n; i++) {
        struct stamp now = stamp_now(stamps->items[i].path);
        if (!same(&stamps->items[i], &now))
            return true;
    }
    return false;
}

void stamps_done(struct stamps *stamps)
{
    for (size_t i = 0; i < stamps->n; i++)
        free(stamps->items[i].path);
    *stamps = (struct stamps){0};
}
