/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids, which the linker leaves in a note of ELF (NT_GNU_BUILD_ID). */
#ifndef SYMBOLS_BUILD_ID_H
#define SYMBOLS_BUILD_ID_H

#include "perf/sys.h"
#include "symbols/symbol-table.h"

/* The size of the build id among notes, 0 if there is none. `id` has room for BUILD_ID_MAX bytes. Pure. */
size_t build_id_of_notes(const void *notes, size_t size, unsigned char *id);
/* The same for the running kernel, from /sys/kernel/notes. */
size_t build_id_of_kernel(struct sys *sys, unsigned char *id);

#endif
