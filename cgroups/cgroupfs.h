/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the cgroup hierarchy is mounted, and its directories at any depth.
 *
 * A directory of a cgroup hierarchy as the kernel shows it now: opened at any depth, and the cgroups that are in it.
 *
 * The cgroup hierarchy in which perf counts: the cgroup v2 tree, alone or beside v1 controllers (the hybrid layout), or
 * a v1 `perf_event` hierarchy. Found in /proc/self/mountinfo (proc_pid_mountinfo(5)).
 *
 * Where a v1 perf_event hierarchy is mounted, the kernel counts in it and refuses directories of v2 with ENOENT.
 */
#ifndef CGROUPS_CGROUPFS_H
#define CGROUPS_CGROUPFS_H

#include <sys/types.h>

#include "base/util.h"
#include "perf/sys.h"

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

enum hierarchy_kind { HIERARCHY_V2, HIERARCHY_V1 };

struct hierarchy {
    enum hierarchy_kind kind;
    char *path;      /* its directory, with sys->root before it: "/sys/fs/cgroup", "/sys/fs/cgroup/unified" */
    bool namespaced; /* the mount shows only a subtree: this process is in a cgroup namespace */
};

void hierarchy_done(struct hierarchy *hierarchy);
/* Pure: chooses from the text of mountinfo; `ret->path` is the mount point there. -ENOENT with a sentence; -ENOMEM. */
int hierarchy_parse(const char *mountinfo, struct hierarchy *ret, struct error *error);
/* The same for this machine. Also errors of reading mountinfo. */
int hierarchy_find(struct sys *sys, struct hierarchy *ret, struct error *error);

#endif
