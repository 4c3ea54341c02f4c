/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finders are processes that open files of other processes: mapped files, JIT symbol maps, and /proc/PID/maps.
 *
 * These files may belong to other users, and be on a file system whose FUSE server never answers. For a file on such a
 * file system, open(2), fstat(2), read(2) and even close(2), which flushes, block forever, and SIGKILL does not
 * terminate the calling process. Reading /proc/PID/maps takes the mmap_lock of the process, and blocks as long as the
 * process itself holds this lock. Therefore a process that has other work never opens such files, and never receives
 * their descriptors. Instead, a request passes through a chain of processes: from the daemon through one or two finders
 * to the symboliser. The first finder that can open the file passes its descriptor on. If a chain hangs, it is
 * abandoned and replaced by a new chain.
 *
 * The first finder is a child of the opener and has the opener's privileges. Since the daemon that sends the requests
 * may be compromised, the first finder opens only files that the kernel ties to a process. The second finder has the
 * daemon's privileges and also tries paths.
 */
#ifndef PROCESS_FINDER_H
#define PROCESS_FINDER_H

#include <limits.h>

#include "base/util.h"

enum find_kind {
    FIND_NOTHING, /* the descriptor has been found and is attached to the request */
    FIND_MAPPED,  /* the file with the executable mapping START-END */
    FIND_JIT_MAP, /* /tmp/perf-PID.map in the root and PID namespace of the process, which Node.js, Java agents and
                     .NET write for perf (tools/perf/Documentation/jit-interface.txt) */
    FIND_MAPS,    /* /proc/PID/maps */
    FIND_DEBUG,   /* separate debug file; the path is relative to the root directory of the last request */
};

#define FIND_MAGIC UINT32_C(0x31646e66)

/*
 * The packet that is passed along the chain of processes. The layout of this packet may change between versions of
 * perfcountd, because all processes of the chain run the same binary.
 */
struct find_request {
    uint32_t magic, find; /* enum find_kind */
    uint32_t pid;
    int32_t error;              /* -errno of the last finder that failed to open the file */
    uint64_t start, end, inode; /* address range and inode of the mapping; inode 0: unknown */
    uint32_t kind, max;         /* only used by the symboliser */
    uint64_t seen_inode, seen_size;
    char path[]; /* path of the debug file, or of the mapped file as the process sees it; may be "" */
};
/* Returns the size of a request packet in bytes, including the path and its NUL. */
size_t find_request_size(const struct find_request *request);

union find_buffer {
    struct find_request request;
    char bytes[sizeof(struct find_request) + PATH_MAX];
};
/*
 * Receives a request packet. The caller owns *ret_fd, which may be -1. Returns -EPIPE when the peer has closed its end,
 * -EBADMSG if the packet is malformed, or an error from recvmsg(2).
 */
int find_request_receive(int socket, union find_buffer *ret, int *ret_fd);

/*
 * Opens the requested file for reading. If `by_path` is true, a mapped file is also looked up by its path, in the root
 * directory of the process and in the root directory of this finder. The file must have the inode of the mapping; if
 * the request has inode 0, the reader compares build ids instead. Debug files are opened only if `by_path` is true.
 * Allocates nothing.
 *
 * Returns -EPERM for a JIT map that is not a regular file, does not belong to the process's user, has more than one
 * link, or might be a hard link to another user's secret; -EBADRQC for a mapping that is not executable, for unnamed
 * shared memory, and for a file that is neither executable nor readable by others; -ESTALE if the path now names
 * another file; -EINVAL if the file is not a regular file; or an error from open(2), mostly -ENOENT or -ESRCH after the
 * process has exited.
 */
int find_open(const struct find_request *request, bool by_path, int *ret_fd);

/*
 * Serves requests from the socket `in` and forwards them to the socket `out` until the peer of either socket closes.
 * Returns the exit status.
 */
int finder_serve(int in, int out, bool by_path);

/* The functions below are pure, and are public only for unit tests. */

struct find_owner {
    uint32_t pid;           /* PID in the innermost PID namespace of the process */
    uint32_t uid, real_uid; /* effective and real user ID */
};
/*
 * Parses /proc/PID/status; `pid` is used if the text has no NSpid line. Returns -EBADMSG if the text has no Uid line.
 */
int find_parse_status(const char *text, uint32_t pid, struct find_owner *ret);
/*
 * Looks for the range START-END in complete lines of /proc/PID/maps. Returns 1 if the range is executable, -EBADRQC if
 * it is not, and 0 if no line has this range.
 */
int find_in_maps(const char *lines, size_t size, uint64_t start, uint64_t end);

#endif
