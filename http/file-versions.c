/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a few files: see file-versions.h. */
#include "http/file-versions.h"

#include <assert.h>

#include "base/cleanup.h"

static int file_status(const struct file_opener *opener, const char *path, struct stat *ret)
{
    if (stat(path, ret) == 0)
        return 0;
    if (errno != EACCES || !opener)
        return -errno;
    _cleanup_(closep) int fd = file_open(opener, path);
    return fd < 0 ? fd : fstat(fd, ret) < 0 ? -errno : 0;
}

static struct file_version file_version_now(const struct file_opener *opener, char *path)
{
    struct file_version version = {.path = path};
    struct stat status;

    int r = file_status(opener, path, &status);
    if (r < 0) {
        version.error = -r;
        return version;
    }
    version.device = status.st_dev;
    version.inode = status.st_ino;
    version.size = status.st_size;
    version.modified = status.st_mtim;
    version.changed = status.st_ctim;
    return version;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool file_version_same(const struct file_version *a, const struct file_version *b)
{
    return a->error == b->error && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

int file_versions_add(struct file_versions *versions, const char *path)
{
    if (!path)
        return 0;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    assert(versions->n < FILE_VERSIONS_MAX);
    versions->items[versions->n++] = file_version_now(versions->opener, copy);
    return 0;
}

bool file_versions_changed(const struct file_versions *versions)
{
    for (size_t i = 0; i < versions->n; i++) {
        struct file_version now = file_version_now(versions->opener, versions->items[i].path);
        if (!file_version_same(&versions->items[i], &now))
            return true;
    }
    return false;
}

void file_versions_done(struct file_versions *versions)
{
    for (size_t i = 0; i < versions->n; i++)
        free(versions->items[i].path);
    *versions = (struct file_versions){0};
}
