/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces symbols/symbols.c by symbols that a test defines. */
#ifndef TESTS_UNIT_FAKE_SYMBOLS_H
#define TESTS_UNIT_FAKE_SYMBOLS_H

#include "symbols/symbols.h"

struct fake_mapping {
    uint32_t pid; /* pid of the process; 0: the kernel */
    struct mapping mapping;
};

struct fake_symbol {
    const char *file, *name;
    uint64_t offset, size; /* offset in the file, and size in bytes */
};

struct symbols {
    const struct fake_mapping *mappings;
    const struct fake_symbol *symbols; /* both arrays end with a zeroed entry */
    const char *comm;
    bool known;           /* the symbol tables have been read */
    int kept;             /* number of mappings that are currently referenced */
    struct mapping found; /* the mapping that was resolved last */
    size_t asked;
};

/* Defines two processes, two files and the kernel; the tables in fake-symbols.c list them. */
void fake_symbols_init(struct symbols *symbols);

#endif
