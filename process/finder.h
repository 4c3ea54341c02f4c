/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finders are processes that open files of other processes: the files they have mapped, their JIT symbol maps, and
 * their /proc/PID/maps.
 *
 * These files belong to other users. Their file system may be a FUSE server that never answers; then open(2), fstat(2),
 * read(2) and even close(2), which flushes, block, and SIGKILL does not end the process. Reading /proc/PID/maps takes
 * the mmap_lock of the process, and blocks as long as the process holds it. So no process with other work ever holds
 * such a file. A request passes through a chain of processes: from the daemon through one or two finders to the
 * symboliser. The first finder that can open the file passes its descriptor on. A chain that hangs is abandoned and
 * replaced.
 *
 * The first finder is a child of the opener and has the opener's privileges. Since the daemon that sends the requests
 * may be compromised, it opens only what the kernel ties to a process. The second finder has the daemon's privileges
 * and also tries paths.
 */
#ifndef PROCESS_FINDER_H
#define PROCESS_FINDER_H

#include <limits.h>

#include "base/util.h"

enum find_kind {
    FIND_NOTHING, /* the request carries its descriptor */
    FIND_MAPPED,  /* the file with the executable mapping START-END */
    FIND_JIT_MAP, /* /tmp/perf-PID.map in the root and PID namespace of the process, which Node.js, Java agents and
                     .NET write for perf (tools/perf/Documentation/jit-interface.txt) */
    FIND_MAPS,    /* /proc/PID/maps */
    FIND_DEBUG,   /* the file at the path in the root of the last finder: a separate debug file */
};

#define FIND_MAGIC UINT32_C(0x31646e66)

/* A packet of the chain. All processes of the chain run the same binary, so the layout may change. */
struct find_request {
    uint32_t magic, find; /* enum find_kind */
    uint32_t pid;
    int32_t error;              /* -errno of the last finder that failed to open the file */
    uint64_t start, end, inode; /* of the mapping; inode 0: unknown */
    uint32_t kind, max;         /* for the symboliser */
    uint64_t seen_inode, seen_size;
    char path[]; /* of the mapping, as the process sees it, or of the debug file; with its NUL; may be "" */
};
/* The size of the packet in bytes, with the path and its NUL. */
size_t find_request_size(const struct find_request *request);

union find_buffer {
    struct find_request request;
    char bytes[sizeof(struct find_request) + PATH_MAX];
};
/*
 * Receives a packet. The caller owns *ret_fd, which may be -1. Returns -EPIPE when the peer has closed, -EBADMSG if the
 * packet is malformed, or an error of recvmsg(2).
 */
int find_request_receive(int socket, union find_buffer *ret, int *ret_fd);

/*
 * Opens the requested file for reading. With `by_path`, a mapped file is also tried by its path, in the root of the
 * process and in that of this process. The inode must be that of the mapping; if the request has inode 0, the reader
 * compares build ids instead. Debug files are opened only with `by_path`. Allocates nothing.
 *
 * Returns -EPERM for a JIT map that is not a regular file of the process's user with one link, or that might be a hard
 * link to another user's secret; -EBADRQC for a mapping that is not executable, for unnamed shared memory, and for a
 * file that is neither executable nor readable by others; -ESTALE if the path now names another file; -EINVAL if it is
 * not a regular file; or an error of open(2), mostly -ENOENT or -ESRCH after the process has ended.
 */
int find_open(const struct find_request *request, bool by_path, int *ret_fd);

/* Serves requests from socket `in` and forwards them to `out` until either closes. Returns the exit status. */
int finder_serve(int in, int out, bool by_path);

/* Public for unit tests. Pure. */

struct find_owner {
    uint32_t pid;           /* in the innermost PID namespace of the process */
    uint32_t uid, real_uid; /* effective; real */
};
/* Parses /proc/PID/status; `pid` is used if it has no NSpid line. Returns -EBADMSG if it has no Uid line. */
int find_parse_status(const char *text, uint32_t pid, struct find_owner *ret);
/*
 * Looks for the range START-END in whole lines of /proc/PID/maps. Returns 1 if it is executable, -EBADRQC if it is not,
 * and 0 if no line has this range.
 */
int find_in_maps(const char *lines, size_t size, uint64_t start, uint64_t end);

#endif
