/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a profile, each held once: not as the process has them, but as they are in the file that is mapped
 * there, so that they mean the same after the process has ended, runs another program, or another process has its
 * number. A symbol that is not known yet is asked for again. Bounded.
 */
#ifndef FORMATS_LOCATIONS_H
#define FORMATS_LOCATIONS_H

#include "base/string-table.h"
#include "perf/callchain.h"
#include "symbols/symbols.h"

#define LOCATIONS_MAX 24576
#define LOCATION_MAPPINGS_MAX 2048
#define LOCATION_STRINGS_MAX 24576
#define LOCATION_STRINGS_BYTES_MAX ((size_t)512 << 10)

struct location {
    uint64_t address; /* as if the file were at the same place in each process, the one of `mapping` */
    uint32_t mapping; /* an index of the mappings; LOCATION_UNMAPPED */
    uint32_t symbol;  /* a number of the strings; 0: not known */
};
#define LOCATION_UNMAPPED UINT32_MAX

struct locations {
    struct symbols *symbols;
    struct string_table strings;
    struct location *locations;
    size_t n;
    struct symbols_kept *mappings;
    size_t n_mappings;
    struct hash_index index, mapping_index;
    bool full;      /* nothing new is kept, as if it were at its limits */
    size_t settled; /* how far locations_settle() has come */
};

int locations_init(struct locations *locations, struct symbols *symbols);
void locations_done(struct locations *locations);

/* The index of the location of an address of process `pid`. -ENOSPC if there is no room; -ENOMEM. */
int locations_add(struct locations *locations, uint32_t pid, enum address_space space, uint64_t ip, uint32_t *ret);

/* Asks for up to `n` symbols that are not known. Returns whether it has gone through all, and no symbol is pending. */
bool locations_settle(struct locations *locations, size_t n);

bool location_is_kernel(const struct locations *locations, const struct location *location);
/* Appends the name of its function: its symbol, or its file as in "[libc.so.6]", or "[unknown]"; printable. */
void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name);

#endif
