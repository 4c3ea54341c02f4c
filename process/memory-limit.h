/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how much memory this process may still use within the limits of its cgroups, which are set by systemd's
 * MemoryMax= or by a container runtime.
 *
 * Above a cgroup's memory limit, the kernel kills a process instead of refusing memory
 * (Documentation/admin-guide/cgroup-v2.rst, memory.max). This process therefore sets its own RLIMIT_DATA below that
 * limit, so that allocations fail with ENOMEM, which can be handled.
 */
#ifndef PROCESS_MEMORY_LIMIT_H
#define PROCESS_MEMORY_LIMIT_H

#include "base/util.h"

/* The memory cgroup of this process; zeroed if no memory hierarchy was found. */
struct memory_limit {
    char *path;        /* directory of the process's cgroup, or NULL */
    size_t mount_size; /* length of the mount point at the start of `path` */
    bool v1;           /* the cgroup is in a hierarchy of cgroup v1 */
};

/*
 * Finds the memory cgroup. `root` is the directory that contains "proc" and "sys": "" outside of tests. Returns -ENOMEM
 * on failure.
 */
int memory_limit_find(const char *root, struct memory_limit *ret);
void memory_limit_done(struct memory_limit *limit);

/*
 * Returns how many more bytes the process may allocate: the minimum, over its cgroup and all ancestors, of four fifths
 * of the limit minus the usage. The remaining fifth is reserved for kernel memory. Page cache that the kernel can
 * reclaim does not count as usage. Returns UINT64_MAX if there is no limit or if the limit cannot be read.
 */
uint64_t memory_limit_room(const struct memory_limit *limit);
/*
 * Sets the soft RLIMIT_DATA of this process to its current data size plus memory_limit_room(), or plus 1 MiB if the
 * room is smaller. Must be called again when the memory usage has changed. Returns whether there is a limit.
 */
bool memory_limit_apply(const struct memory_limit *limit);

#endif
