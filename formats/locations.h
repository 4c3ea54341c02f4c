/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a profile, each once: not where a process has them, but where they are in the file that it has
 * mapped there, so that they mean the same after it has ended, runs another program, or its number is another's. A
 * symbol that is not known yet is asked for again. Bounded.
 */
#ifndef FORMATS_LOCATIONS_H
#define FORMATS_LOCATIONS_H

#include "formats/string-table.h"
#include "symbols/symbols.h"

#define LOCATIONS_MAX 24576
#define LOCATION_MAPPINGS_MAX 2048

struct location {
    uint64_t address; /* as if all processes had the file where its mapping says */
    uint32_t mapping; /* its index; LOCATION_UNMAPPED */
    uint32_t symbol;  /* of the strings; 0: not known */
};
#define LOCATION_UNMAPPED UINT32_MAX

struct locations {
    struct symbols *symbols;
    struct string_table strings;
    struct location *locations;
    size_t n;
    struct symbols_kept *mappings;
    size_t n_mappings;
    struct hash_index slots, mapping_slots;
    bool full;    /* nothing new is kept, as if it were at its limits */
    size_t asked; /* up to which locations_settle() has come */
};

int locations_init(struct locations *locations, struct symbols *symbols);
void locations_done(struct locations *locations);

enum location_space { LOCATION_USER, LOCATION_KERNEL, LOCATION_GUEST };
/* -ENOSPC where it is full. */
int locations_add(struct locations *locations, uint32_t pid, enum location_space space, uint64_t ip, uint32_t *ret);

/* Asks for up to `n` symbols that are not known. Whether it has been through all of them, and no table is being made.
 */
bool locations_settle(struct locations *locations, size_t n);

bool location_is_kernel(const struct locations *locations, const struct location *location);
/* What to call it: its symbol, "[libc.so.6]", "[unknown]". Valid until a location is added. */
void location_name(const struct locations *locations, const struct location *location, struct buffer *name);

#endif
