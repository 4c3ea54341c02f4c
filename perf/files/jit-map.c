/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of functions compiled at run time: see jit-map.h. Allocates nothing, as the opener runs this too. */
#include "perf/files/jit-map.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/number.h"

#define STATUS_SIZE ((size_t)16 * 1024)
#define NUMBERS_MAX 32 /* the depth to which namespaces nest (MAX_PID_NS_LEVEL) */

/* Reads the numbers of the line "KEY:\t1\t2...". Returns how many there are, 0 where there is no line of that key. */
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

int jit_map_parse_status(const char *text, uint32_t pid, struct jit_map_owner *ret)
{
    uint64_t numbers[NUMBERS_MAX];

    if (numbers_of(text, "\nUid:", numbers) < 2) /* real, effective, saved, of files */
        return -EBADMSG;
    ret->uid = (uint32_t)numbers[1];
    size_t n = numbers_of(text, "\nNSpid:", numbers);
    ret->pid = n ? (uint32_t)numbers[n - 1] : pid;
    return 0;
}

static int read_owner(struct sys *sys, uint32_t pid, struct jit_map_owner *ret)
{
    char path[64], text[STATUS_SIZE];
    size_t size = 0;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    _cleanup_(closep) int fd = sys->open_file(sys, path, 0);
    if (fd < 0)
        return fd;
    while (size < sizeof(text) - 1 && (n = sys->read(sys, fd, text + size, sizeof(text) - 1 - size)) != 0) {
        if (n < 0)
            return (int)n;
        size += (size_t)n;
    }
    text[size] = '\0';
    return jit_map_parse_status(text, pid, ret);
}

static int jit_map_check(int fd, const struct jit_map_owner *owner)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    return S_ISREG(status.st_mode) && status.st_uid == owner->uid ? 0 : -EPERM;
}

/* Opening a device has effects, and opening a pipe may block, so the file is checked before it is opened. */
static int open_in(struct sys *sys, int directory, const struct jit_map_owner *owner)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d/perf-%u.map", directory, owner->pid);
    _cleanup_(closep) int found = sys->open_file(sys, path, O_PATH | O_NOFOLLOW);
    if (found < 0)
        return found;
    int r = jit_map_check(found, owner);
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    return sys->open_file(sys, path, O_NONBLOCK | O_NOCTTY);
}

/*
 * The directory is opened first: a process that is root afterwards was not one in whose /tmp others mount files, since
 * a process with namespaces of its own never becomes root of the machine.
 */
int jit_map_open(struct sys *sys, uint32_t pid, int *ret_fd)
{
    struct jit_map_owner owner;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/root/tmp", pid);
    _cleanup_(closep) int directory = sys->open_file(sys, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (directory < 0)
        return directory;
    int r = read_owner(sys, pid, &owner);
    int fd = r < 0 ? r : open_in(sys, directory, &owner);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/* Without an opener this process opens the file itself: that descriptor has O_PATH and cannot be read. */
int jit_map_open_by_opener(struct sys *sys, uint32_t pid, int *ret_fd)
{
    struct jit_map_owner owner;
    char path[64];

    int r = read_owner(sys, pid, &owner);
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, owner.pid);
    _cleanup_(closep) int fd = sys->open_file(sys, path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    r = jit_map_check(fd, &owner);
    if (r == 0 && fcntl(fd, F_GETFL) & O_PATH)
        r = -EACCES;
    if (r == 0)
        *ret_fd = steal_fd(&fd);
    return r;
}
