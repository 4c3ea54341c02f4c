/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel and its modules are, as perf wants to be told of them. */
#ifndef SYMBOLS_KERNEL_MAP_H
#define SYMBOLS_KERNEL_MAP_H

#include "perf/sys.h"

/* Kernels are smaller, and nothing but modules is mapped so near behind them. */
#define KERNEL_MAP_SIZE ((uint64_t)64 * 1024 * 1024)

struct kernel_map {
    uint64_t start, end;
    const char *name; /* "[kernel.kallsyms]_text": the symbol that is at the start; of a module, "[ext4]" */
};

/*
 * Calls `visit` for the kernel, then for each module. `name` is borrowed until it returns. Not at all where the kernel
 * hides its addresses from this process (kernel.kptr_restrict).
 */
void kernel_map_each(struct sys *sys, void (*visit)(void *userdata, const struct kernel_map *map), void *userdata);

/*
 * Whether this process itself is shown where the kernel is: an opener that `sys` may have is not asked.
 */
bool kernel_map_is_shown(struct sys *sys);

#endif
