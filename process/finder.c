/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All checks in this file must be safe against a compromised daemon that stops and continues its opener's finder at any
 * point, while an accomplice changes files and processes.
 */
#include "process/finder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/number.h"
#include "process/fdpass.h"

#ifndef SECRETMEM_MAGIC
#define SECRETMEM_MAGIC 0x5345434d
#endif

#define STATUS_SIZE ((size_t)16 * 1024)
#define NUMBERS_MAX 32             /* maximum nesting depth of PID namespaces (MAX_PID_NS_LEVEL) */
#define CHUNK ((size_t)16 * 1024)  /* read size; longer than any line of /proc/PID/maps */
#define MAPS_MAX ((size_t)8 << 20) /* maximum number of bytes of /proc/PID/maps that are searched */

/* --- processes --- */

/*
 * Opens the /proc directory of a process. All its files are opened relative to this directory. After the process has
 * been reaped, opening files relative to this descriptor fails with ESRCH or ENOENT, even if the PID is in use again
 * (fs/proc/base.c, get_proc_task()). Returns -EBADRQC if /proc is not a proc file system.
 */
static int process_open(uint32_t pid)
{
    char path[32];
    struct statfs status;

    snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
    _cleanup_(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &status) < 0 || (unsigned long)status.f_type != PROC_SUPER_MAGIC)
        return -EBADRQC;
    return steal_fd(&fd);
}

static int open_in(int directory, const char *name, int flags)
{
    int fd = openat(directory, name, flags | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/*
 * Reopens a file that was opened with O_PATH and then checked. Without this check, opening a device could have side
 * effects, and opening a pipe could block.
 */
static int reopen(int found)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    return open_in(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* --- mapped files --- */

/* Parses a line "START-END rwxp ..." of /proc/PID/maps. Returns false for a line of another form. */
static bool maps_parse_line(const char *line, size_t size, uint64_t *start, uint64_t *end, bool *executable)
{
    const char *dash = memchr(line, '-', size), *blank = memchr(line, ' ', size);

    if (!dash || !blank || dash > blank || line + size - blank < 5)
        return false;
    *executable = blank[3] == 'x';
    return number_parse_hex_n(line, (size_t)(dash - line), start) == 0 &&
           number_parse_hex_n(dash + 1, (size_t)(blank - dash - 1), end) == 0;
}

int find_in_maps(const char *lines, size_t size, uint64_t start, uint64_t end)
{
    const char *stop;

    for (size_t at = 0; at < size && (stop = memchr(lines + at, '\n', size - at)); at = (size_t)(stop - lines) + 1) {
        uint64_t line_start, line_end;
        bool executable;
        if (maps_parse_line(lines + at, (size_t)(stop - lines) - at, &line_start, &line_end, &executable) &&
            line_start == start && line_end == end)
            return executable ? 1 : -EBADRQC;
    }
    return 0;
}

/* Returns the total length of the complete lines at the start of `text`. */
static size_t whole_lines(const char *text, size_t size)
{
    const char *last = memrchr(text, '\n', size);

    return last ? (size_t)(last - text) + 1 : 0;
}

/*
 * Returns 0 if the open file /proc/PID/maps lists the range as executable, -EBADRQC if the range is not executable, and
 * -ENOENT if the range is not in the first MAPS_MAX bytes of the file or the address space is gone.
 */
static int check_range(int maps, uint64_t start, uint64_t end)
{
    char text[CHUNK];
    size_t used = 0;

    for (size_t total = 0; total < MAPS_MAX;) {
        ssize_t n = read(maps, text + used, sizeof(text) - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOENT;
        total += (size_t)n;
        used += (size_t)n;
        size_t whole = whole_lines(text, used);
        int r = find_in_maps(text, whole, start, end);
        if (r != 0)
            return MIN(r, 0);
        if (whole == 0 && used == sizeof(text))
            return -ENOENT;
        used -= whole;
        memmove(text, text + whole, used);
    }
    return -ENOENT;
}

static int stat_regular(int found, struct stat *ret)
{
    if (fstat(found, ret) < 0)
        return -errno;
    return S_ISREG(ret->st_mode) ? 0 : -EINVAL;
}

/* Returns whether the file is on a memory-backed file system, or true if that cannot be determined. */
static bool is_memory(int fd)
{
    struct statfs status;

    if (fstatfs(fd, &status) < 0)
        return true;
    switch ((unsigned long)status.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
    case SECRETMEM_MAGIC:
        return true;
    }
    return false;
}

/*
 * This check is the last line of defence if all other checks are bypassed: shared memory (memfd_create(2)) and private
 * files never pass it. The file of a program or library is on a disk or has a name, and it is executable or readable by
 * others.
 */
static int check_program(int found, const struct stat *status)
{
    if (!(status->st_mode & (S_IROTH | S_IXUSR | S_IXGRP | S_IXOTH)) || (status->st_nlink == 0 && is_memory(found)))
        return -EBADRQC;
    return 0;
}

/*
 * Finds the mapped file through /proc/PID/map_files.
 *
 * An open "maps" file shows the address space that the process had when the file was opened, and is empty once that
 * address space is gone. The link in map_files is opened between two opens of "maps", both of which must show the range
 * as executable. A process can defeat this by calling execve(2) in between while another process keeps the first
 * address space alive; even then, check_program() limits what is opened.
 */
static int find_link(int process, const struct find_request *request, struct stat *ret_status)
{
    char name[64];

    snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, request->start, request->end);
    _cleanup_(closep) int before = open_in(process, "maps", O_RDONLY);
    if (before < 0)
        return before;
    _cleanup_(closep) int found = open_in(process, name, O_PATH);
    if (found < 0)
        return found;
    _cleanup_(closep) int after = open_in(process, "maps", O_RDONLY);
    if (after < 0)
        return after;
    int r = check_range(after, request->start, request->end);
    if (r == 0)
        r = check_range(before, request->start, request->end);
    if (r == 0)
        r = stat_regular(found, ret_status);
    if (r == 0)
        r = check_program(found, ret_status);
    return r < 0 ? r : steal_fd(&found);
}

/*
 * Only inode numbers are compared, because on overlayfs, mappings show a different device from stat(2). A different
 * file with the same inode number discloses nothing, because a file that was found by its path is read with this
 * process's own privileges.
 */
static int check_inode(const struct stat *status, uint64_t inode)
{
    return inode && status->st_ino != inode ? -ESTALE : 0;
}

/*
 * Resolves the path within the root directory of the process, so that symbolic links in a container cannot lead out of
 * the container.
 */
static int find_in_root(int process, const struct find_request *request)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    _cleanup_(closep) int root = open_in(process, "root", O_PATH | O_DIRECTORY);

    if (root < 0)
        return root;
    long fd = syscall(SYS_openat2, root, request->path, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

static int reopen_file(int found, const struct stat *status, uint64_t inode, int *ret_fd)
{
    int r = check_inode(status, inode);
    int fd = r < 0 ? r : reopen(found);

    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/*
 * Opens the file of the O_PATH descriptor `found`, if it is a regular file with this inode. If `found` is negative,
 * returns it as the error.
 */
static int try_file(int found, uint64_t inode, int *ret_fd)
{
    struct stat status;
    int r = found < 0 ? found : stat_regular(found, &status);

    return r < 0 ? r : reopen_file(found, &status, inode, ret_fd);
}

/* Returns the more informative of two errors: `a` if `b` only means "not found", otherwise `b`. */
static int worse(int a, int b)
{
    return b == -ENOENT || b == -ESRCH ? a : b;
}

/* Opens the file by its path in this process's own root directory. */
static int open_here(const struct find_request *request, int *ret_fd)
{
    _cleanup_(closep) int here = open_in(AT_FDCWD, request->path, O_PATH);

    return try_file(here, request->inode, ret_fd);
}

static int open_mapped(const struct find_request *request, bool by_path, int *ret_fd)
{
    _cleanup_(closep) int process = process_open(request->pid);
    struct stat status;
    _cleanup_(closep) int link = process < 0 ? process : find_link(process, request, &status);

    int r = link < 0 ? link : reopen_file(link, &status, request->inode, ret_fd);
    if (r == 0 || !by_path || request->path[0] != '/')
        return r;
    if (process >= 0) {
        _cleanup_(closep) int there = find_in_root(process, request);
        int other = try_file(there, request->inode, ret_fd);
        if (other == 0)
            return 0;
        r = worse(r, other);
    }
    int other = open_here(request, ret_fd);
    return other == 0 ? 0 : worse(r, other);
}

/* --- JIT maps and maps --- */

/*
 * Parses the numbers of the line "KEY:\t1\t2...". Returns how many numbers the line has, or 0 if there is no line with
 * this key.
 */
static size_t numbers_of(const char *text, const char *key, uint64_t numbers[NUMBERS_MAX])
{
    const char *line = strstr(text, key);
    size_t n = 0;

    for (line = line ? line + strlen(key) : ""; n < NUMBERS_MAX; n++) {
        line += strspn(line, "\t ");
        size_t digits = strspn(line, "0123456789");
        if (number_parse_u64_n(line, digits, &numbers[n]) < 0 || numbers[n] > UINT32_MAX)
            break;
        line += digits;
    }
    return n;
}

int find_parse_status(const char *text, uint32_t pid, struct find_owner *ret)
{
    uint64_t numbers[NUMBERS_MAX];

    if (numbers_of(text, "\nUid:", numbers) < 2) /* real, effective, saved and file-system IDs */
        return -EBADMSG;
    ret->real_uid = (uint32_t)numbers[0];
    ret->uid = (uint32_t)numbers[1];
    size_t n = numbers_of(text, "\nNSpid:", numbers);
    ret->pid = n ? (uint32_t)numbers[n - 1] : pid;
    return 0;
}

/* Reads at most size - 1 bytes of the file, and appends a NUL. */
static int read_text(int directory, const char *name, char *text, size_t size)
{
    _cleanup_(closep) int fd = open_in(directory, name, O_RDONLY);
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return fd;
    while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) != 0) {
        if (n < 0 && errno != EINTR)
            return -errno;
        used += (size_t)MAX(n, 0);
    }
    text[used] = '\0';
    return 0;
}

/*
 * Returns whether users may hard-link files that they cannot write (fs.protected_hardlinks is 0). If users may do so,
 * another user may have linked a secret file of the process's user to the name of the JIT map, and the link count of
 * the secret file drops to one when its owner replaces the original. Files that everybody may read cannot be secret, so
 * they are accepted.
 */
static bool others_may_link(void)
{
    char text[16];

    return read_text(AT_FDCWD, "/proc/sys/fs/protected_hardlinks", text, sizeof(text)) < 0 || text[0] == '0';
}

static int check_jit_map(int found, uint32_t uid)
{
    struct stat status;

    if (fstat(found, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_uid != uid || status.st_nlink != 1)
        return -EPERM;
    return status.st_mode & S_IROTH || !others_may_link() ? 0 : -EPERM;
}

/*
 * The directory /tmp of the process must be opened before the user of the process is read. If that user is then root,
 * no other user can have mounted files over this /tmp, because a process in namespaces that a user created never
 * becomes root of the machine.
 */
static int open_jit_map(const struct find_request *request, int *ret_fd)
{
    char text[STATUS_SIZE], name[32];
    struct find_owner owner = {0};

    _cleanup_(closep) int process = process_open(request->pid);
    if (process < 0)
        return process;
    _cleanup_(closep) int directory = open_in(process, "root/tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (directory < 0)
        return directory;
    int r = read_text(process, "status", text, sizeof(text));
    if (r == 0)
        r = find_parse_status(text, request->pid, &owner);
    if (r < 0)
        return r;
    snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", owner.pid);
    _cleanup_(closep) int found = open_in(directory, name, O_PATH | O_NOFOLLOW);
    if (found < 0)
        return found;
    r = check_jit_map(found, owner.uid);
    int fd = r < 0 ? r : reopen(found);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/*
 * The kernel checks the privileges of the process that opens /proc/PID/maps, not those of the process that reads the
 * file (fs/proc/task_mmu.c).
 */
static int open_maps(const struct find_request *request, int *ret_fd)
{
    _cleanup_(closep) int process = process_open(request->pid);
    int fd = process < 0 ? process : open_in(process, "maps", O_RDONLY);

    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/* --- requests --- */

int find_open(const struct find_request *request, bool by_path, int *ret_fd)
{
    switch (request->find) {
    case FIND_MAPPED:
        return open_mapped(request, by_path, ret_fd);
    case FIND_JIT_MAP:
        return open_jit_map(request, ret_fd);
    case FIND_MAPS:
        return open_maps(request, ret_fd);
    case FIND_DEBUG:
        return by_path ? open_here(request, ret_fd) : -EBADRQC;
    default:
        return -EBADRQC;
    }
}

size_t find_request_size(const struct find_request *request)
{
    return sizeof(*request) + strlen(request->path) + 1;
}

int find_request_receive(int socket, union find_buffer *ret, int *ret_fd)
{
    _cleanup_(closep) int fd = -1;
    ssize_t n = fd_socket_receive_up_to(socket, ret, sizeof(ret->request) + 1, sizeof(*ret), &fd);

    if (n < 0)
        return (int)n;
    if (ret->request.magic != FIND_MAGIC || ret->bytes[n - 1] != '\0')
        return -EBADMSG;
    *ret_fd = steal_fd(&fd);
    return 0;
}

/*
 * The number of descriptors in flight is limited per user (unix(7), ETOOMANYREFS). If the descriptor cannot be sent,
 * the request is passed on without a descriptor.
 */
static int request_pass(int out, struct find_request *request, int fd)
{
    int r = fd_socket_send_one(out, request, find_request_size(request), fd);

    if (r == 0 || fd < 0 || (r != -ETOOMANYREFS && r != -ENOBUFS && r != -ENOMEM))
        return r;
    request->error = r;
    return fd_socket_send_one(out, request, find_request_size(request), -1);
}

int finder_serve(int in, int out, bool by_path)
{
    union find_buffer buffer;
    struct find_request *request = &buffer.request;

    for (;;) {
        _cleanup_(closep) int fd = -1;
        int r = find_request_receive(in, &buffer, &fd);
        if (r == 0 && fd < 0 && request->find != FIND_NOTHING)
            request->error = find_open(request, by_path, &fd);
        if (r == 0)
            r = request_pass(out, request, fd);
        if (r < 0)
            return r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
    }
}
