/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process, by address; none overlap. */
#ifndef SYMBOLS_MAPPINGS_H
#define SYMBOLS_MAPPINGS_H

#include "symbols/dso.h"
#include "symbols/mapping.h"

#define MAPPINGS_MAX 1024

/* Zeroed, it is empty. */
struct mappings {
    struct mapping *mappings; /* sorted by address; each holds a reference to its image */
    size_t n;
    size_t last; /* that was found */
};

void mappings_done(struct mappings *mappings);
/* NULL if nothing is mapped there. */
struct mapping *mappings_find(struct mappings *mappings, uint64_t address);
/*
 * Removes what is mapped from `start` to `end`: the kernel reports what is mapped, and never what is unmapped. A
 * mapping that goes on behind the end is split; if there is no room for its rest, that is forgotten.
 */
void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end);
/* Adds a mapping at a range that was cut; takes the reference to its image. Without room, it is not added. */
void mappings_put(struct mappings *mappings, const struct mapping *mapping, struct image *image);
/* Copies into `to`, which is empty, as far as there is memory. */
void mappings_copy(const struct mappings *from, struct mappings *to);
/* Of memory. */
size_t mappings_bytes(const struct mappings *mappings);

#endif
