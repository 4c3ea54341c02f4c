/* SPDX-License-Identifier: Apache-2.0 */
/* The vdso of this process: see vdso.h. */
#include "symbols/vdso.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define VDSO_SIZE_MAX (64 * 1024)

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

int vdso_open(void)
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
    return steal_fd(&fd);
}
