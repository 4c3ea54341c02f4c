/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that this process may still use within its cgroups' limits, set by systemd's MemoryMax= or by a container.
 *
 * Above such a limit the kernel kills a process instead of refusing memory (Documentation/admin-guide/cgroup-v2.rst,
 * memory.max). The process therefore sets its own RLIMIT_DATA below it, so that allocations fail with ENOMEM, which can
 * be handled.
 */
#ifndef PROCESS_MEMORY_LIMIT_H
#define PROCESS_MEMORY_LIMIT_H

#include "base/util.h"

/* All zero: no limit. */
struct memory_limit {
    char *path;        /* directory of the process's cgroup; NULL: no memory hierarchy was found */
    size_t mount_size; /* length of the mount point at the start of `path` */
    bool v1;           /* cgroup version 1 */
};

/* `root` is the directory that has /proc and /sys: "" on the real machine. Returns -ENOMEM on failure. */
int memory_limit_find(const char *root, struct memory_limit *ret);
void memory_limit_done(struct memory_limit *limit);

/*
 * How many more bytes the process may allocate: four fifths of a cgroup's limit minus its usage, and the least of these
 * for the cgroup and its ancestors. A fifth is reserved for kernel memory. Page cache that the kernel can reclaim does
 * not count as usage. UINT64_MAX if there is no limit or it cannot be read.
 */
uint64_t memory_limit_room(const struct memory_limit *limit);
/*
 * Sets the soft RLIMIT_DATA of this process to its current data plus memory_limit_room(), or plus 1 MiB if that is
 * more. Call it again when the usage has changed. Returns whether there is a limit.
 */
bool memory_limit_apply(const struct memory_limit *limit);

#endif
