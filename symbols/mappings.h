/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped, by address; no two places overlap. */
#ifndef SYMBOLS_MAPPINGS_H
#define SYMBOLS_MAPPINGS_H

#include "symbols/image.h"
#include "symbols/symbols.h"

#define MAPPINGS_MAX 1024

/* A mapping and whose it is. */
struct place {
    struct mapping mapping;
    struct image *image; /* a reference */
};

/* Zeroed, it is empty. */
struct mappings {
    struct place *places; /* sorted by address */
    size_t n, last;
};

void mappings_done(struct mappings *mappings);
/* NULL where nothing is mapped. */
struct place *mappings_find(struct mappings *mappings, uint64_t address);
/*
 * Nothing is mapped from `start` to `end` any more: the kernel tells what is mapped, and never what is unmapped. Where
 * the mapping goes on behind the end and there is no room for that, it is forgotten.
 */
void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end);
/* At a range that was cut; takes the image's reference. Where there is no room, it is not put. */
void mappings_put(struct mappings *mappings, const struct mapping *mapping, struct image *image);
/* Into one that is empty: as far as there is memory. */
void mappings_copy(const struct mappings *from, struct mappings *to);
/* Of memory. */
size_t mappings_bytes(const struct mappings *mappings);

#endif
