/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the path one name at a time with O_PATH descriptors, and resolves symbolic links by hand. Each directory, link
 * and file is checked through the descriptor from which the walk continues, so nobody can replace it after the check.
 */
#include "opener/safe-open.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINKS_MAX 16

/* The state of the walk along a path. */
struct walk {
    struct sys *sys;
    int at; /* O_PATH descriptor of the current directory; at the end of the walk, of the file */
    struct stat status;
    uid_t owner;       /* the user besides root who owns components of the path; 0 if none so far */
    const uid_t *user; /* the required owner of the file, or NULL if any single user may own it */
    unsigned links;
    /* The rest of the path. */
    char rest[PATH_MAX];
};

/* Checks the owner of the current component: only one user other than root may own any. */
static int walk_check_owner(struct walk *walk)
{
    uid_t uid = walk->status.st_uid;

    if (uid != 0 && ((walk->owner != 0 && uid != walk->owner) || (walk->user && uid != *walk->user)))
        return -EBADRQC;
    walk->owner = uid ? uid : walk->owner;
    return 0;
}

/* Continues the walk at `fd`, and takes ownership of it. */
static int walk_enter(struct walk *walk, int fd)
{
    if (fd < 0)
        return -errno;
    closep(&walk->at);
    walk->at = fd;
    return fstat(fd, &walk->status) < 0 ? -errno : walk_check_owner(walk);
}

static int walk_begin(struct walk *walk, const char *path)
{
    return walk_enter(walk, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/*
 * Moves the next component from walk->rest to `name`. Returns 1 on success, 0 at the end of the path, or -ENAMETOOLONG.
 */
static int walk_next_name(struct walk *walk, char name[NAME_MAX + 1])
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t size = strcspn(start, "/");

    if (size == 0)
        return 0;
    if (size > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, start, size);
    name[size] = '\0';
    memmove(walk->rest, start + size, strlen(start + size) + 1);
    return 1;
}

/* Inserts the target of the symbolic link before the rest of the path. */
static int walk_follow(struct walk *walk, int link)
{
    char text[PATH_MAX];
    ssize_t n = readlinkat(link, "", text, sizeof(text) - 1);

    if (n <= 0)
        return n < 0 ? -errno : -ENOENT;
    size_t left = strlen(walk->rest) + 1;
    if (++walk->links > LINKS_MAX || (size_t)n + left > sizeof(walk->rest))
        return -ELOOP;
    memmove(walk->rest + n, walk->rest, left);
    memcpy(walk->rest, text, (size_t)n);
    return text[0] == '/' ? walk_begin(walk, "/") : 0;
}

/*
 * Returns -EBADRQC if other users can write to the directory. Returns -EACCES if the user may not enter the directory:
 * the user's files cannot be in there, and a request in the user's name must not reveal what is in there.
 */
static int directory_check(const struct walk *walk)
{
    mode_t mode = walk->status.st_mode;
    bool of_user = walk->user && *walk->user != 0, is_users = of_user && walk->status.st_uid == *walk->user;

    if (of_user && !is_users && !(mode & S_IXOTH))
        return -EACCES;
    return mode & (is_users ? S_IWOTH : S_IWGRP | S_IWOTH) && !(mode & S_ISVTX) ? -EBADRQC : 0;
}

static int walk_step(struct walk *walk, const char *name)
{
    struct stat status;

    if (!S_ISDIR(walk->status.st_mode))
        return -ENOTDIR;
    int r = directory_check(walk);
    if (r < 0)
        return r;
    _cleanup_(closep) int fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISLNK(status.st_mode))
        return walk_enter(walk, steal_fd(&fd));
    struct stat parent = walk->status;
    walk->status = status;
    r = walk_check_owner(walk);
    walk->status = parent;
    return r < 0 ? r : walk_follow(walk, fd);
}

/* Checks the type and owner of the file before opening it, because opening a device can have side effects. */
static int walk_open(const struct walk *walk)
{
    char link[64];

    uid_t owner = walk->user ? *walk->user : walk->owner;
    bool is_owners = (owner == 0 && !walk->user) || walk->status.st_uid == owner;

    if (!S_ISREG(walk->status.st_mode) || !is_owners)
        return -EBADRQC;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", walk->at);
    return sys_open_file(walk->sys, link, 0);
}

static int safe_path_open(struct sys *sys, const char *path, const uid_t *user)
{
    struct walk walk = {.sys = sys, .at = -1, .user = user};
    char name[NAME_MAX + 1];

    if (strlen(path) >= sizeof(walk.rest))
        return -ENAMETOOLONG;
    strcpy(walk.rest, path);
    int r = walk_begin(&walk, path);
    while (r == 0 && (r = walk_next_name(&walk, name)) > 0)
        r = walk_step(&walk, name);
    if (r == 0)
        r = walk_open(&walk);
    closep(&walk.at);
    return r;
}

int opener_safe_path_open(struct sys *sys, const char *path)
{
    return safe_path_open(sys, path, NULL);
}

int opener_safe_path_open_of(struct sys *sys, const char *path, uid_t user)
{
    return safe_path_open(sys, path, &user);
}
