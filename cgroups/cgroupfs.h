/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup file system: finds the mount of the hierarchy that perf_event uses, and opens and lists its directories at
 * any depth.
 *
 * perf_event uses the cgroup v2 tree, alone or beside v1 controllers (the hybrid layout), or a v1 `perf_event`
 * hierarchy. The mount is found in /proc/self/mountinfo (proc_pid_mountinfo(5)). If a v1 perf_event hierarchy is
 * mounted, the kernel uses that one, and perf_event_open(2) refuses v2 directories with ENOENT.
 */
#ifndef CGROUPS_CGROUPFS_H
#define CGROUPS_CGROUPFS_H

#include <sys/types.h>

#include "base/util.h"
#include "perf/sys.h"

/*
 * The topmost directory of a hierarchy, and the device of its file system. Directories on another device belong to a
 * file system that is mounted inside the hierarchy, and are not cgroups.
 */
struct cgroup_root {
    int fd;
    dev_t device;
};

/*
 * Opens a directory of the hierarchy. `path` begins with "/" and may be longer than PATH_MAX. Returns a descriptor, or
 * an error of openat(2), or -ESTALE if the directory at `path` does not have this inode.
 */
int cgroup_directory_open(const struct cgroup_root *root, const char *path, uint64_t inode);
/* Whether an error of cgroup_directory_open() means that the cgroup no longer exists. */
bool cgroup_directory_is_gone(int error);

/*
 * Returns 1 if `name` in the directory `fd` is a cgroup, and 0 if it is not a cgroup or no longer exists; an error of
 * fstatat(2) if that cannot be determined.
 */
int cgroup_directory_find(const struct cgroup_root *root, int fd, const char *name, uint64_t *ret_inode);
/*
 * Calls `found` with each cgroup in the directory, and closes `*fd`. Returns an error of readdir(3), or of fstatat(2)
 * if it cannot be determined whether a name is a cgroup. `found` may have been called before either error.
 */
int cgroup_directory_list(const struct cgroup_root *root, int *fd,
                          void (*found)(void *userdata, const char *name, uint64_t inode), void *userdata);

/*
 * Calls `visit` with the cgroup of the directory `root` of a hierarchy and each cgroup below it, parents before their
 * children. `path` begins with "/". If the callback returns false for a cgroup, its descendants are not visited.
 * Cgroups that cannot be read, cgroups with paths longer than PATH_MAX, and all cgroups beyond CGROUP_WALK_MAX are left
 * out. Returns -ENOMEM, or an error of opening `root`.
 */
int cgroup_walk(const char *root, bool (*visit)(void *userdata, const char *path, uint64_t inode), void *userdata);
#define CGROUP_WALK_MAX 16384

/*
 * The part of a cgroup id that can be compared with an inode number. On 32-bit kernels the inode number is the lower
 * half of the id; the upper half counts how often inode numbers were reused.
 */
static inline uint64_t cgroup_id_key(uint64_t id)
{
    return sizeof(long) < sizeof(uint64_t) ? (uint32_t)id : id;
}

enum hierarchy_kind { HIERARCHY_V2, HIERARCHY_V1 };

struct hierarchy {
    enum hierarchy_kind kind;
    char *path;   /* the hierarchy's directory, prefixed with sys->root: "/sys/fs/cgroup", "/sys/fs/cgroup/unified" */
    bool outside; /* mounted from outside this cgroup namespace, like the host's hierarchy in a container */
    bool namespaced; /* `path` may not be the kernel's root cgroup, so there may be cgroups outside of it */
};

void hierarchy_done(struct hierarchy *hierarchy);
/*
 * Chooses a hierarchy from the text of mountinfo, without system calls; `ret->path` is the chosen mount point. Returns
 * -ENOENT, with a message, if there is no suitable mount, or -ENOMEM.
 */
int hierarchy_parse(const char *mountinfo, struct hierarchy *ret, struct error *error);
/* Like hierarchy_parse(), with this machine's mountinfo. Also returns errors of reading mountinfo. */
int hierarchy_find(struct sys *sys, struct hierarchy *ret, struct error *error);

#endif
