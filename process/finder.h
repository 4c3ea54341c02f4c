/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finders open the files that other processes have mapped, their lists of functions compiled at run time, and their
 * /proc/PID/maps.
 *
 * These files belong to other users. Their file system may be a FUSE server that never answers; then open(2), fstat(2),
 * read(2) and even close(2), which flushes, block, and SIGKILL does not end the process. Reading /proc/PID/maps takes
 * the process's mmap_lock, which the process may hold just as long. So no process with other work ever holds such a
 * file. A request passes through a chain of processes: from the daemon through one or two finders to the symboliser.
 * The first finder that can open the file passes its descriptor on. A chain that hangs is abandoned and replaced.
 *
 * The first finder is a child of the opener with the opener's privileges, and opens what the kernel ties to a process:
 * the request comes from a daemon that may have been taken over. The second one has the daemon's rights, and also tries
 * the path.
 */
#ifndef PROCESS_FINDER_H
#define PROCESS_FINDER_H

#include <limits.h>

#include "base/util.h"

enum find_kind {
    FIND_NOTHING, /* the request brings its descriptor */
    FIND_MAPPED,  /* the file that is mapped executable at START-END */
    FIND_JIT_MAP, /* /tmp/perf-PID.map as the process sees it, which node, Java agents and .NET write for perf
                     (tools/perf/Documentation/jit-interface.txt) */
    FIND_MAPS,    /* /proc/PID/maps */
};

#define FIND_MAGIC UINT32_C(0x31646e66)

/* A packet of the chain. Both ends are the same binary. */
struct find_request {
    uint32_t magic, find; /* enum find_kind */
    uint32_t pid;
    int32_t error;              /* -errno: why the last finder could not open it */
    uint64_t start, end, inode; /* of the mapping; inode 0: not known */
    uint32_t kind, max;         /* for the symboliser */
    uint64_t seen_inode, seen_size;
    char path[]; /* of the mapping, as the process sees it, with its NUL; "" */
};
size_t find_request_size(const struct find_request *request);

union find_buffer {
    struct find_request request;
    char bytes[sizeof(struct find_request) + PATH_MAX];
};
/* Receives a packet. -EPIPE when the other side has closed, -EBADMSG; errors of recvmsg(2). *ret_fd is -1 or owned. */
int find_request_receive(int socket, union find_buffer *ret, int *ret_fd);

/*
 * Opens what the request asks for, for reading. With `by_path` also by the path in the root of the process, and in that
 * of this process, where the inode must be that of the mapping (0: whoever reads the file compares its build id).
 *
 * -EPERM: a list of functions that is not a regular file of the process's user with one link, or could be another
 * user's secret by a hard link. -EBADRQC: a mapping that is not executable, or a file that nobody but its owner may
 * read or execute, or shared memory. -ESTALE: the path has another file. -EINVAL: no regular file. Otherwise errors of
 * open(2), above all -ENOENT and -ESRCH for a process that has ended. Allocates nothing.
 */
int find_open(const struct find_request *request, bool by_path, int *ret_fd);

/* Serves the requests of socket `in`, and sends them on over `out`, until one of them closes. Returns the exit status.
 */
int finder_serve(int in, int out, bool by_path);

/* For unit tests. Pure. */

/* Numbers from the text of /proc/PID/status: -EBADMSG where it has no user. */
struct find_owner {
    uint32_t pid;           /* in the innermost PID namespace; `pid` where there are none */
    uint32_t uid, real_uid; /* effective; real */
};
int find_parse_status(const char *text, uint32_t pid, struct find_owner *ret);
/*
 * Looks for the range START-END in whole lines of /proc/PID/maps: 1 where it is executable, -EBADRQC where it is not, 0
 * where none of the lines has it.
 */
int find_in_maps(const char *lines, size_t size, uint64_t start, uint64_t end);

#endif
