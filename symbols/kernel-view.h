/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's addresses as clients may see them. An opener may have told this process where the kernel is, which the
 * kernel itself would not (kernel.kptr_restrict): what it hides from this process stays hidden from clients. Functions
 * keep their names, and their offsets in the kernel or in their module; the kernel is where it could be linked to, the
 * modules stand behind it one after the other, and all else is at one address.
 */
#ifndef SYMBOLS_KERNEL_VIEW_H
#define SYMBOLS_KERNEL_VIEW_H

#include "symbols/kernel-map.h"

struct kernel_view {
    struct sys *sys;
    bool open;   /* addresses are shown as they are */
    bool loaded; /* the parts are */
    struct kernel_view_part {
        uint64_t start, end; /* where it is */
        uint64_t nominal;    /* where its start is shown */
        char *name;
    } * parts; /* the kernel first, then its modules */
    size_t n;
};

/* Of an address of the kernel that is in none of the parts, on machines of 64 and 32 bits. */
#define KERNEL_VIEW_UNKNOWN UINT64_C(0xffffffff80000000)
#define KERNEL_VIEW_UNKNOWN_32 UINT64_C(0xc0000000)

/* Looks what /proc/kallsyms shows to this process by itself, without asking an opener. A view of zeros hides all. */
void kernel_view_init(struct kernel_view *view, struct sys *sys);
void kernel_view_done(struct kernel_view *view);

/*
 * Whether an address has to be hidden. `kernel`: it is one of the kernel's, or of a guest's or a hypervisor's. On
 * machines of 64 bits one in the kernel's half is hidden whatever it is said to be, other than that of the vsyscall
 * page, which is the same everywhere. `view` may be NULL, which hides.
 */
bool kernel_view_hides(const struct kernel_view *view, bool kernel, uint64_t address);
/* What to show in its place; itself where it is not hidden. */
uint64_t kernel_view_address(struct kernel_view *view, bool kernel, uint64_t address);
/* kernel_map_each(), as far as it may be shown. `view` may not be NULL. */
void kernel_view_each(struct kernel_view *view, void (*visit)(void *userdata, const struct kernel_map *map),
                      void *userdata);

#endif
