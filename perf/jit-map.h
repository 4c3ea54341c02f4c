/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the functions that a process makes at run time, /tmp/perf-PID.map, which node, Java agents and .NET write
 * for perf (tools/perf/Documentation/jit-interface.txt).
 */
#ifndef PERF_JIT_MAP_H
#define PERF_JIT_MAP_H

#include "perf/sys.h"

/*
 * In the directory /tmp that the process sees, by the number that the process has for itself; opened for reading, the
 * caller's to close. -EPERM where it is not a regular file of the process's own user; errors of open(2), ENOENT above
 * all. No link is followed, and root's files are not taken for others' (as perf would): the directory is a stranger's,
 * who may have mounted any file there.
 *
 * -EACCES where this process may not look into the other's /tmp, or not read the file: then an opener can be asked.
 */
int jit_map_open(struct sys *sys, uint32_t pid, int *ret_fd);
/*
 * The same, by an opener, which looks at the file before it opens it; this process opens nothing there. -EACCES where
 * `sys` has no opener.
 */
int jit_map_open_by_opener(struct sys *sys, uint32_t pid, int *ret_fd);

/* What /proc/PID/status tells. */
struct jit_map_owner {
    uint32_t pid; /* in the innermost namespace */
    uint32_t uid; /* effective */
};
/* -EBADMSG where it has no user. Without namespaces of numbers ret->pid is `pid`. Pure. */
int jit_map_parse_status(const char *text, uint32_t pid, struct jit_map_owner *ret);

#endif
