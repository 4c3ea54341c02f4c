/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a cgroup hierarchy as the kernel shows it now: opened at any depth, and the cgroups that are in it. */
#ifndef CGROUPS_DIRECTORY_H
#define CGROUPS_DIRECTORY_H

#include <sys/types.h>

#include "base/util.h"

/* The topmost directory, and its file system: a file system that is mounted below has no cgroups. */
struct cgroup_root {
    int fd;
    dev_t device;
};

/*
 * `path` begins with "/" and may be longer than the kernel takes at once. Returns a descriptor; errors of openat(2);
 * -ESTALE where another directory than that of this inode is there now.
 */
int cgroup_directory_open(const struct cgroup_root *root, const char *path, uint64_t inode);
/* Whether an error of cgroup_directory_open() says that the cgroup is not there any more. */
bool cgroup_directory_is_gone(int error);

/* 1: `name` in the directory `fd` is a cgroup; 0: it is none, or gone. Errors of fstatat(2): nobody knows. */
int cgroup_directory_find(const struct cgroup_root *root, int fd, const char *name, uint64_t *ret_inode);
/*
 * Calls `found` with each cgroup in the directory, and closes `*fd`. Errors of readdir(3), and of fstatat(2) where it
 * is not known of all what they are; both also behind some calls.
 */
int cgroup_directory_list(const struct cgroup_root *root, int *fd,
                          void (*found)(void *userdata, const char *name, uint64_t inode), void *userdata);

#endif
