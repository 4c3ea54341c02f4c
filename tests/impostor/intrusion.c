/* SPDX-License-Identifier: Apache-2.0 */
/* Things that one process can do to another: see helper.h. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/newer.h"
#include "base/util.h"
#include "tests/impostor/helper.h"

#define FDS_TRIED 16

static long open_of(pid_t pid, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    _cleanup_(closep) int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

/* Opening may be allowed where reading is not. */
static long read_of(pid_t pid, const char *name)
{
    char path[64], bytes[16];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    return n > 0 ? 0 : n < 0 ? -errno : -EACCES;
}

static long list_files(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return -errno;
    closedir(directory);
    return 0;
}

/* Of an address where nothing is, so that nothing is hurt: the kernel asks for permission first. */
static long move_memory(pid_t pid, bool write)
{
    unsigned char byte = 0;
    struct iovec ours = {.iov_base = &byte, .iov_len = 1};
    struct iovec theirs = {.iov_base = (void *)(uintptr_t)8, .iov_len = 1};
    ssize_t n =
        write ? process_vm_writev(pid, &ours, 1, &theirs, 1, 0) : process_vm_readv(pid, &ours, 1, &theirs, 1, 0);

    return n >= 0 || errno == EFAULT ? 0 : -errno;
}

/* A process that was stopped goes on. */
static long trace(pid_t pid, int request)
{
    if (ptrace(request, pid, NULL, NULL) < 0)
        return -errno;
    if (request == PTRACE_SEIZE)
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 0;
}

static long take_file(pid_t pid)
{
    _cleanup_(closep) int process = (int)syscall(SYS_pidfd_open, pid, 0);
    long got = -EBADF;

    if (process < 0)
        return -errno;
    for (int i = 0; i < FDS_TRIED && got == -EBADF; i++) {
        int fd = (int)syscall(SYS_pidfd_getfd, process, i, 0);
        got = fd < 0 ? -errno : 0;
        if (fd >= 0)
            close(fd);
    }
    return got;
}

static long limit(pid_t pid)
{
    struct rlimit limits;

    return prlimit(pid, RLIMIT_NOFILE, NULL, &limits) < 0 ? -errno : 0;
}

long intrusion_try(enum intrusion intrusion, pid_t pid)
{
    switch (intrusion) {
    case INTRUSION_READ_MEMORY:
        return move_memory(pid, false);
    case INTRUSION_WRITE_MEMORY:
        return move_memory(pid, true);
    case INTRUSION_OPEN_MEMORY:
        return open_of(pid, "mem", O_RDWR);
    case INTRUSION_OPEN_ENVIRON:
        return read_of(pid, "environ");
    case INTRUSION_OPEN_MAPS:
        return read_of(pid, "maps");
    case INTRUSION_LIST_FILES:
        return list_files(pid);
    case INTRUSION_OPEN_ROOT:
        return open_of(pid, "root/etc/shadow", O_RDONLY);
    case INTRUSION_TRACE:
        return trace(pid, PTRACE_SEIZE);
    case INTRUSION_ATTACH:
        return trace(pid, PTRACE_ATTACH);
    case INTRUSION_TAKE_FILE:
        return take_file(pid);
    case INTRUSION_SIGNAL:
        return kill(pid, 0) < 0 ? -errno : 0;
    case INTRUSION_LIMIT:
        return limit(pid);
    case N_INTRUSIONS:
        break;
    }
    return -EINVAL;
}

const char *intrusion_name(enum intrusion intrusion)
{
    static const char *const names[N_INTRUSIONS] = {
        [INTRUSION_READ_MEMORY] = "process_vm_readv",
        [INTRUSION_WRITE_MEMORY] = "process_vm_writev",
        [INTRUSION_OPEN_MEMORY] = "opening mem",
        [INTRUSION_OPEN_ENVIRON] = "reading environ",
        [INTRUSION_OPEN_MAPS] = "reading maps",
        [INTRUSION_LIST_FILES] = "listing fd",
        [INTRUSION_OPEN_ROOT] = "opening root/etc/shadow",
        [INTRUSION_TRACE] = "PTRACE_SEIZE",
        [INTRUSION_ATTACH] = "PTRACE_ATTACH",
        [INTRUSION_TAKE_FILE] = "pidfd_getfd",
        [INTRUSION_SIGNAL] = "kill",
        [INTRUSION_LIMIT] = "prlimit",
    };

    return names[intrusion];
}
