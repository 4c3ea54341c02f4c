/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a cgroup hierarchy: see directory.h. */
#include "cgroups/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define OPEN_FLAGS (O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

/* --- opening --- */

static int directory_open_at(int dir_fd, const char *path, int flags)
{
    int fd = openat(dir_fd, path, flags | OPEN_FLAGS);
    return fd < 0 ? -errno : fd;
}

/* Opens below `root_fd`, in several steps where the path is longer than the kernel takes at once. */
static int directory_open_path(int root_fd, const char *path)
{
    _cleanup_(closep) int base = -1;
    size_t left = strlen(path);

    while (left >= PATH_MAX) {
        char piece[PATH_MAX];
        size_t length = PATH_MAX - 1;
        while (path[length] != '/')
            length--;
        memcpy(piece, path, length);
        piece[length] = '\0';
        int next = directory_open_at(base < 0 ? root_fd : base, piece, O_PATH);
        if (next < 0)
            return next;
        if (base >= 0)
            close(base);
        base = next;
        path += length + 1;
        left -= length + 1;
    }
    return directory_open_at(base < 0 ? root_fd : base, left ? path : ".", O_RDONLY);
}

int cgroup_directory_open(const struct cgroup_root *root, const char *path, uint64_t inode)
{
    _cleanup_(closep) int fd = directory_open_path(root->fd, path + 1);
    struct stat status;

    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_ino != inode || status.st_dev != root->device)
        return -ESTALE;
    return steal_fd(&fd);
}

bool cgroup_directory_is_gone(int error)
{
    return error == -ENOENT || error == -ESTALE || error == -ENOTDIR || error == -ENODEV || error == -ELOOP;
}

/* --- listing --- */

int cgroup_directory_find(const struct cgroup_root *root, int fd, const char *name, uint64_t *ret_inode)
{
    struct stat status;

    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return cgroup_directory_is_gone(-errno) ? 0 : -errno;
    if (!S_ISDIR(status.st_mode) || status.st_dev != root->device)
        return 0;
    *ret_inode = status.st_ino;
    return 1;
}

static bool is_candidate(const struct dirent *item)
{
    if (item->d_type != DT_DIR && item->d_type != DT_UNKNOWN)
        return false;
    return !str_equal(item->d_name, ".") && !str_equal(item->d_name, "..");
}

/* Two links, its name and its own ".", mean that no directory is in it; kernfs counts so, some file systems do not. */
static bool has_no_directories(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_nlink == 2;
}

int cgroup_directory_list(const struct cgroup_root *root, int *fd,
                          void (*found)(void *userdata, const char *name, uint64_t inode), void *userdata)
{
    _cleanup_(closep) int own = steal_fd(fd);
    uint64_t inode;
    int unknown = 0;

    if (has_no_directories(own))
        return 0;
    _cleanup_(closedirp) DIR *directory = fdopendir(own);
    if (!directory)
        return -errno;
    int dir_fd = steal_fd(&own);
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(directory);
        if (!item)
            return errno ? -errno : unknown;
        int r = is_candidate(item) ? cgroup_directory_find(root, dir_fd, item->d_name, &inode) : 0;
        if (r > 0)
            found(userdata, item->d_name, inode);
        else if (r < 0)
            unknown = r;
    }
}
