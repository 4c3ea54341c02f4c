/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the functions that a process compiles at run time, /tmp/perf-PID.map, which node, Java agents and .NET
 * write for perf (tools/perf/Documentation/jit-interface.txt).
 */
#ifndef PERF_FILES_JIT_MAP_H
#define PERF_FILES_JIT_MAP_H

#include "perf/sys.h"

/*
 * Opens the file in the directory /tmp that the process sees, by the process's number in its own namespace. The caller
 * closes it. -EPERM where it is not a regular file of the process's own user; errors of open(2), above all ENOENT. No
 * link is followed, and a file of root serves no other user's process (as perf allows): the directory is not trusted,
 * as another user may have mounted any file there.
 *
 * -EACCES where this process may not search the other's /tmp or read the file: jit_map_open_by_opener() may.
 */
int jit_map_open(struct sys *sys, uint32_t pid, int *ret_fd);
/*
 * The same through the opener, which checks the file before it opens it. This process opens nothing there. -EACCES
 * where `sys` has no opener.
 */
int jit_map_open_by_opener(struct sys *sys, uint32_t pid, int *ret_fd);

/* Numbers from /proc/PID/status. */
struct jit_map_owner {
    uint32_t pid; /* in the process's own namespace */
    uint32_t uid; /* effective */
};
/* -EBADMSG where the text has no user. Without PID namespaces ret->pid is `pid`. Pure. */
int jit_map_parse_status(const char *text, uint32_t pid, struct jit_map_owner *ret);

#endif
