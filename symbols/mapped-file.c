/* SPDX-License-Identifier: Apache-2.0 */
/* Files that processes have mapped: see mapped-file.h. */
#include "symbols/mapped-file.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/newer.h"

#define VDSO_SIZE_MAX (64 * 1024)

/*
 * A descriptor that cannot be read, since opening a device may have effects: the file is checked first. A descriptor
 * from an opener can be read, and was checked.
 */
static int find_link(struct sys *sys, uint32_t pid, const struct mapping *mapping)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start, mapping->end);
    return sys->open_file(sys, path, O_PATH);
}

/* As the process sees it: in a container, a link to "/etc" does not lead to the /etc of this process. */
static int find_in_root(struct sys *sys, uint32_t pid, const struct mapping *mapping)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/proc/%u/root", sys->root, pid);
    _cleanup_(closep) int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    long fd = syscall(SYS_openat2, root, mapping->file, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

static int find_here(struct sys *sys, uint32_t pid, const struct mapping *mapping)
{
    char path[PATH_MAX];

    (void)pid;
    if (snprintf(path, sizeof(path), "%s%s", sys->root, mapping->file) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool can_be_read(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && !(flags & O_PATH);
}

static int reopen(int found)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    int fd = can_be_read(found) ? fcntl(found, F_DUPFD_CLOEXEC, 0)
                                : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/*
 * Compares only the inode: overlay file systems show different devices in mappings and in stat(2). If the inode is not
 * known, the build id of the mapping is compared with that of the table (image.c).
 */
static int open_found(int found, const struct mapping *mapping, int *ret_fd)
{
    struct stat status;

    if (fstat(found, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    if (mapping->inode && status.st_ino != mapping->inode)
        return -ESTALE;
    int fd = reopen(found);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

int mapped_file_open(struct sys *sys, uint32_t pid, const struct mapping *mapping, int *ret_fd)
{
    static int (*const ways[])(struct sys * sys, uint32_t pid,
                               const struct mapping *mapping) = {find_link, find_in_root, find_here};
    int error = -ENOENT;

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        _cleanup_(closep) int found = ways[i](sys, pid, mapping);
        int r = found < 0 ? found : open_found(found, mapping, ret_fd);
        if (r == 0)
            return 0;
        if (r != -ENOENT) /* the more helpful error */
            error = r;
    }
    return error;
}

/* The size that its headers give. */
static size_t vdso_size(const ElfW(Ehdr) * header)
{
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)((const char *)header + header->e_phoff);

    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD)
            size = MAX(size, segments[i].p_offset + segments[i].p_filesz);
    return size;
}

int mapped_file_open_vdso(int *ret_fd)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);

    if (!header)
        return -ENOENT;
    size_t size = vdso_size(header);
    _cleanup_(closep) int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (size > VDSO_SIZE_MAX || write(fd, header, size) != (ssize_t)size)
        return -EIO;
    *ret_fd = steal_fd(&fd);
    return 0;
}
