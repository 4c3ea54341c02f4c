/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's addresses as clients may see them; build IDs.
 *
 * Build ids, which the linker leaves in a note of ELF (NT_GNU_BUILD_ID).
 *
 * The vdso, an ELF file that the kernel maps into each process.
 *
 * The addresses of the kernel and its modules, named as perf expects them.
 *
 * The kernel's addresses as they may be shown to others. This process may know from an opener where the kernel is,
 * while the kernel hides it from this process itself (kernel.kptr_restrict); then it stays hidden from others.
 * Functions keep their names and their offsets in the kernel or in their module. The kernel is shown at the address
 * that kernels are linked to, its modules behind it one after the other, and everything else at one address.
 */
#ifndef SYMBOLS_KERNEL_H
#define SYMBOLS_KERNEL_H

#include "perf/sys.h"

/* The size of the build id among notes, 0 if there is none. `id` has room for BUILD_ID_MAX bytes. Pure. */
size_t build_id_of_notes(const void *notes, size_t size, unsigned char *id);
/* The same for the running kernel, from /sys/kernel/notes. */
size_t build_id_of_kernel(struct sys *sys, unsigned char *id);

/* A descriptor of a copy of this process's, which the caller closes. All processes of the same kind have an equal one.
 */
int vdso_open(void);

struct kernel_map {
    uint64_t start, end;
    const char *name; /* "[kernel.kallsyms]_text", with the symbol at the start; of a module, "[ext4]" */
};

struct kernel_view {
    struct sys *sys;
    bool open;   /* addresses are shown as they are */
    bool loaded; /* `parts` are known */
    struct kernel_view_part {
        uint64_t start, end;
        uint64_t nominal; /* the address that its start is shown at */
        char *name;
    } * parts; /* the kernel first, then its modules */
    size_t n;
};

/* Shown for addresses of the kernel that are in none of the parts, on machines of 64 and 32 bits. */
#define KERNEL_VIEW_UNKNOWN UINT64_C(0xffffffff80000000)
#define KERNEL_VIEW_UNKNOWN_32 UINT64_C(0xc0000000)

/* Checks what /proc/kallsyms shows to this process, without an opener. A zeroed view hides all addresses. */
void kernel_view_init(struct kernel_view *view, struct sys *sys);
void kernel_view_done(struct kernel_view *view);

/*
 * Whether an address must be hidden. `kernel`: it is an address of the kernel, of a guest or of a hypervisor. On
 * machines of 64 bits, all addresses in the kernel's half are hidden, but for the vsyscall page, which is the same on
 * every machine. `view` NULL hides.
 */
bool kernel_view_hides(const struct kernel_view *view, bool kernel, uint64_t address);
/* The address to show: the same one, unless it is hidden. */
uint64_t kernel_view_address(struct kernel_view *view, bool kernel, uint64_t address);
/* As kernel_map_each(), with the addresses to show. `view` may not be NULL. */
void kernel_view_each(struct kernel_view *view, void (*visit)(void *userdata, const struct kernel_map *map),
                      void *userdata);

#endif
