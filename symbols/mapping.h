/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is mapped into a process. */
#ifndef SYMBOLS_MAPPING_H
#define SYMBOLS_MAPPING_H

#include "base/util.h"

struct image;

struct mapping {
    uint64_t start, end, offset; /* addresses; offset in the file */
    const char *file;            /* "[kernel.kallsyms]", "[vdso]" and the like for memory that is no file */
    const unsigned char *build_id;
    size_t build_id_size; /* 0: not known (yet) */
    uint32_t major, minor;
    uint64_t inode, inode_generation;
    uint32_t protection, flags; /* as mmap(2) has them */
    unsigned number;            /* small, and the same for the same file and offset: for tables */
    struct image *image;        /* of the file; NULL in a mapping that is not in `struct mappings` */
};

/*
 * Called for each name of a thread (`mapping` is NULL) and each mapping of a process that is known. All is borrowed
 * until it returns.
 */
typedef void (*process_visit)(void *userdata, uint32_t pid, uint32_t tid, const char *comm,
                              const struct mapping *mapping);

#endif
