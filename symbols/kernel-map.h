/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the kernel and its modules, named as perf expects them. */
#ifndef SYMBOLS_KERNEL_MAP_H
#define SYMBOLS_KERNEL_MAP_H

#include "perf/sys.h"

/* Kernels are smaller, and only modules are mapped this near behind them. */
#define KERNEL_MAP_SIZE ((uint64_t)64 * 1024 * 1024)

struct kernel_map {
    uint64_t start, end;
    const char *name; /* "[kernel.kallsyms]_text", with the symbol at the start; of a module, "[ext4]" */
};

/*
 * Calls `visit` for the kernel, then for each module. `name` is borrowed until it returns. Nothing is called if the
 * kernel hides its addresses from this process (kernel.kptr_restrict).
 */
void kernel_map_each(struct sys *sys, void (*visit)(void *userdata, const struct kernel_map *map), void *userdata);

/* Whether the kernel shows its addresses to this process itself, without the help of an opener. */
bool kernel_map_is_shown(struct sys *sys);

#endif
