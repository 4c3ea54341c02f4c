/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's addresses as clients may see them, the build ID of the kernel, and the vdso.
 *
 * The opener may tell this process the kernel's addresses although the kernel hides them from this process
 * (kernel.kptr_restrict). In that case the addresses are hidden from clients as well: the kernel is shown at the
 * address at which kernels are linked, its modules follow one after the other, and every other kernel address is shown
 * as one constant. Functions keep their names and their offsets within the kernel or their module.
 */
#ifndef SYMBOLS_KERNEL_H
#define SYMBOLS_KERNEL_H

#include "perf/sys.h"

/*
 * Copies the build ID (NT_GNU_BUILD_ID) from ELF notes to `id`, which has room for BUILD_ID_MAX bytes. Returns the size
 * of the build ID, or 0 if there is none. Pure.
 */
size_t build_id_of_notes(const void *notes, size_t size, unsigned char *id);
/* Copies the build ID of the running kernel from /sys/kernel/notes. Also returns 0 if the file cannot be read. */
size_t build_id_of_kernel(struct sys *sys, unsigned char *id);

/*
 * Returns a memfd with a copy of this process's vdso, the ELF file that the kernel maps into each process; the caller
 * closes it. Processes of the same word size have the same vdso. Returns -ENOENT if the process has no vdso, -EIO if
 * the vdso is larger than 64 KiB or cannot be copied, or an error from memfd_create(2).
 */
int vdso_open(void);

struct kernel_map {
    uint64_t start, end;
    const char *name; /* the name in perf's mmap records: "[kernel.kallsyms]_text" (with the first symbol), "[ext4]" */
};

struct kernel_view {
    struct sys *sys;
    bool open;   /* the kernel shows addresses to this process, so nothing is hidden from clients */
    bool loaded; /* `parts` has been filled in */
    struct kernel_view_part {
        uint64_t start, end;
        uint64_t nominal; /* the address that is shown for `start` */
        char *name;
    } * parts; /* first the kernel, then its modules */
    size_t n;
};

/* The address that is shown for hidden addresses outside all parts, on 64-bit and on 32-bit machines. */
#define KERNEL_VIEW_UNKNOWN UINT64_C(0xffffffff80000000)
#define KERNEL_VIEW_UNKNOWN_32 UINT64_C(0xc0000000)

/*
 * Reads /proc/kallsyms without the opener, to learn whether the kernel shows addresses to this process. A zeroed view
 * hides all addresses.
 */
void kernel_view_init(struct kernel_view *view, struct sys *sys);
void kernel_view_done(struct kernel_view *view);

/*
 * Returns whether an address must be hidden from clients. `kernel` is true if the sample says that it is an address of
 * the kernel, a guest or a hypervisor. Other addresses are hidden if they are in the upper half of the 64-bit address
 * space. The vsyscall page is never hidden, since it is the same on every machine. A NULL `view` hides all addresses.
 */
bool kernel_view_hides(const struct kernel_view *view, bool kernel, uint64_t address);
/* Returns the address to show to clients: `address` itself unless it is hidden. */
uint64_t kernel_view_address(struct kernel_view *view, bool kernel, uint64_t address);
/*
 * Calls `visit` for the kernel, then for each module, with the addresses to show. `map` is borrowed until `visit`
 * returns. Does nothing if the kernel's addresses are unknown. `view` must not be NULL.
 */
void kernel_view_each(struct kernel_view *view, void (*visit)(void *userdata, const struct kernel_map *map),
                      void *userdata);

#endif
