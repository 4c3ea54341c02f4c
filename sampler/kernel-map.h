/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel and its modules are, as perf wants to be told of them. */
#ifndef SAMPLER_KERNEL_MAP_H
#define SAMPLER_KERNEL_MAP_H

#include "perf/sys.h"

struct kernel_map {
    uint64_t start, end;
    const char *name; /* "[kernel.kallsyms]_text": the symbol that is at the start; of a module, "[ext4]" */
};

/*
 * Calls `visit` for the kernel, then for each module. `name` is borrowed until it returns. Not at all where the kernel
 * hides its addresses from this process (kernel.kptr_restrict).
 */
void kernel_map_each(struct sys *sys, void (*visit)(void *userdata, const struct kernel_map *map), void *userdata);

#endif
