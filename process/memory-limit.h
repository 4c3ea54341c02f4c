/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the cgroups of this process leave it: of systemd's MemoryMax=, of a container's limit, of both.
 *
 * Above that limit the kernel kills a process instead of refusing it memory (Documentation/admin-guide/cgroup-v2.rst,
 * memory.max). So the process takes the limit for its own: a request for more fails with ENOMEM, which can be answered.
 */
#ifndef PROCESS_MEMORY_LIMIT_H
#define PROCESS_MEMORY_LIMIT_H

#include "base/util.h"

/* All zero: there is none. */
struct memory_limit {
    char *path;        /* the directory of the process's cgroup; NULL: no cgroup is known that could limit memory */
    size_t mount_size; /* of the part of `path` where the hierarchy is mounted */
    bool v1;
};

/* `root`: the directory that has /proc and /sys, "" on the real machine. -ENOMEM. */
int memory_limit_find(const char *root, struct memory_limit *ret);
void memory_limit_done(struct memory_limit *limit);

/*
 * How many bytes more may be taken: what the tightest limit leaves, without a fifth of it that is kept for what the
 * kernel needs for the process. UINT64_MAX where nothing limits it, or where that cannot be read.
 */
uint64_t memory_limit_room(const struct memory_limit *limit);
/*
 * Bounds the data of this process (RLIMIT_DATA, the soft limit) by what there is room for now, and 1 MB at least.
 * Returns whether anything limits it.
 */
bool memory_limit_apply(const struct memory_limit *limit);

#endif
