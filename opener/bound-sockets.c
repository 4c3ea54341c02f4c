/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/bound-sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

/*
 * Identifies a socket's file. Includes its creation time, because the inode number may be reused as soon as the file is
 * removed. st_mtim serves as this time, because chmod(2) changes st_ctim, but not st_mtim.
 */
struct bound_socket {
    dev_t device;
    ino_t inode; /* 0 if no socket was bound at the path */
    struct timespec made;
};

static struct bound_socket mark_of(const struct stat *status)
{
    if (!S_ISSOCK(status->st_mode))
        return (struct bound_socket){0};
    return (struct bound_socket){status->st_dev, status->st_ino, status->st_mtim};
}

static bool mark_equal(const struct bound_socket *a, const struct bound_socket *b)
{
    return a->inode && a->inode == b->inode && a->device == b->device && a->made.tv_sec == b->made.tv_sec &&
           a->made.tv_nsec == b->made.tv_nsec;
}

int bound_sockets_init(char *const *paths, size_t n, struct bound_sockets *ret)
{
    struct bound_sockets sockets = {.paths = paths, .n = MIN(n, (size_t)BOUND_SOCKETS_MAX)};

    for (size_t i = 0; i < BOUND_SOCKETS_MAX; i++)
        sockets.directories[i] = -1;
    if (sockets.n > 0) {
        sockets.marks =
            mmap(NULL, sockets.n * sizeof(*sockets.marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (sockets.marks == MAP_FAILED)
            return -errno;
    }
    *ret = sockets;
    return 0;
}

void bound_sockets_mark(const struct bound_sockets *sockets)
{
    struct stat status;

    for (size_t i = 0; i < sockets->n; i++)
        if (lstat(sockets->paths[i], &status) == 0)
            sockets->marks[i] = mark_of(&status);
}

void bound_sockets_done(struct bound_sockets *sockets)
{
    if (sockets->marks)
        munmap(sockets->marks, sockets->n * sizeof(*sockets->marks));
    *sockets = (struct bound_sockets){0};
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Each descriptor refers to the same directory even if the path later leads elsewhere. */
void bound_sockets_open(struct bound_sockets *sockets)
{
    char directory[PATH_MAX];

    for (size_t i = 0; i < sockets->n; i++) {
        const char *path = sockets->paths[i];
        snprintf(directory, sizeof(directory), "%.*s", (int)(name_of(path) - path), path);
        sockets->directories[i] = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
}

/*
 * If somebody replaces the file between fstatat(2) and unlinkat(2), the wrong file is removed. This race is harmless:
 * only a user who may write to the directory can replace the file, and could remove the other file anyway.
 */
void bound_sockets_remove(const struct bound_sockets *sockets)
{
    for (size_t i = 0; i < sockets->n; i++) {
        const char *name = name_of(sockets->paths[i]);
        struct stat status;
        if (sockets->directories[i] < 0 || fstatat(sockets->directories[i], name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        struct bound_socket now = mark_of(&status);
        if (mark_equal(&now, &sockets->marks[i]))
            unlinkat(sockets->directories[i], name, 0);
    }
}
