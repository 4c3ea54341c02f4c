/* SPDX-License-Identifier: Apache-2.0 */
/* What a few files looked like: see file-versions.h. */
#include "http/auth/file-versions.h"

#include <assert.h>

#include "base/cleanup.h"

static int look_at(const struct file_opener *opener, const char *path, struct stat *ret)
{
    if (stat(path, ret) == 0)
        return 0;
    if (errno != EACCES || !opener)
        return -errno;
    _cleanup_(closep) int fd = file_open(opener, path);
    return fd < 0 ? fd : fstat(fd, ret) < 0 ? -errno : 0;
}

static struct file_version stamp_now(const struct file_opener *opener, char *path)
{
    struct file_version stamp = {.path = path};
    struct stat status;

    int r = look_at(opener, path, &status);
    if (r < 0) {
        stamp.error = -r;
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

static bool same(const struct file_version *a, const struct file_version *b)
{
    return a->error == b->error && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

int file_versions_add(struct file_versions *stamps, const char *path)
{
    if (!path)
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    assert(stamps->n < FILE_VERSIONS_MAX);
    stamps->items[stamps->n++] = stamp_now(stamps->opener, copy);
    return 0;
}

bool file_versions_changed(const struct file_versions *stamps)
{
    for (size_t i = 0; i < stamps->n; i++) {
        struct file_version now = stamp_now(stamps->opener, stamps->items[i].path);
        if (!same(&stamps->items[i], &now))
            return true;
    }
    return false;
}

void file_versions_done(struct file_versions *stamps)
{
    for (size_t i = 0; i < stamps->n; i++)
        free(stamps->items[i].path);
    *stamps = (struct file_versions){0};
}
