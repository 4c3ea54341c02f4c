/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols as a test says them, in the place of symbols/symbols.c. */
#ifndef TESTS_UNIT_FAKE_SYMBOLS_H
#define TESTS_UNIT_FAKE_SYMBOLS_H

#include "symbols/symbols.h"

struct fake_mapping {
    uint32_t pid; /* 0: the kernel */
    struct mapping mapping;
};

struct fake_symbol {
    const char *file, *name;
    uint64_t offset, size; /* in the file */
};

struct symbols {
    const struct fake_mapping *mappings;
    const struct fake_symbol *symbols; /* both end with zeros */
    const char *comm;
    bool known;           /* the tables are there */
    int kept;             /* the number of mappings that are kept now */
    struct mapping found; /* the last that was resolved */
    size_t asked;
};

/* Two processes of two files and the kernel: see the tables. */
void fake_symbols_init(struct symbols *symbols);

#endif
