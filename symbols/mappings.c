/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process: see mappings.h. */
#include "symbols/mappings.h"

void mappings_done(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->n; i++)
        image_unref(mappings->mappings[i].image);
    free(mappings->mappings);
    *mappings = (struct mappings){0};
}

/* The index of the first mapping that ends behind the address. */
static size_t mappings_search(const struct mappings *mappings, uint64_t address)
{
    return array_search(mappings->n, i, mappings->mappings[i].end <= address);
}

static bool mapping_covers(const struct mapping *mapping, uint64_t address)
{
    return address >= mapping->start && address < mapping->end;
}

struct mapping *mappings_find(struct mappings *mappings, uint64_t address)
{
    if (mappings->last < mappings->n && mapping_covers(&mappings->mappings[mappings->last], address))
        return &mappings->mappings[mappings->last];
    size_t at = mappings_search(mappings, address);
    if (at == mappings->n || !mapping_covers(&mappings->mappings[at], address))
        return NULL;
    mappings->last = at;
    return &mappings->mappings[at];
}

static int mappings_insert(struct mappings *mappings, size_t at, struct mapping mapping)
{
    if (mappings->n >= MAPPINGS_MAX)
        return -ENOSPC;
    if (array_grow(&mappings->mappings, mappings->n) < 0)
        return -ENOMEM;
    memmove(&mappings->mappings[at + 1], &mappings->mappings[at], (mappings->n++ - at) * sizeof(mapping));
    mappings->mappings[at] = mapping;
    return 0;
}

static void mappings_remove(struct mappings *mappings, size_t at, size_t n)
{
    if (n == 0)
        return;
    for (size_t i = at; i < at + n; i++)
        image_unref(mappings->mappings[i].image);
    memmove(&mappings->mappings[at], &mappings->mappings[at + n],
            (mappings->n - at - n) * sizeof(mappings->mappings[0]));
    mappings->n -= n;
}

static void mapping_move_start(struct mapping *mapping, uint64_t start)
{
    mapping->offset += start - mapping->start;
    mapping->start = start;
    mapping->number = image_number(mapping->image, mapping->offset);
}

/* The mapping that begins before `start` and reaches behind it ends there, and goes on behind `end`. */
static void cut_within(struct mappings *mappings, size_t at, uint64_t start, uint64_t end)
{
    struct mapping rest = mappings->mappings[at];

    mappings->mappings[at].end = start;
    if (rest.end <= end)
        return;
    mapping_move_start(&rest, end);
    if (mappings_insert(mappings, at + 1, rest) == 0)
        image_ref(rest.image);
}

void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end)
{
    size_t at = mappings_search(mappings, start);

    if (at < mappings->n && mappings->mappings[at].start < start)
        cut_within(mappings, at++, start, end);
    size_t stop = at;
    while (stop < mappings->n && mappings->mappings[stop].end <= end)
        stop++;
    if (stop < mappings->n && mappings->mappings[stop].start < end)
        mapping_move_start(&mappings->mappings[stop], end);
    mappings_remove(mappings, at, stop - at);
}

void mappings_put(struct mappings *mappings, const struct mapping *mapping, struct image *image)
{
    struct mapping put = *mapping;

    put.image = image;
    put.file = image->file;
    put.build_id = image->build_id;
    put.build_id_size = image->build_id_size;
    if (image->jit_pid) /* as in the kernel's records; /proc has the offset 0, and all numbers would be the same */
        put.offset = mapping->start;
    put.number = image_number(image, put.offset);
    if (mappings_insert(mappings, mappings_search(mappings, mapping->start), put) < 0)
        image_unref(image);
}

void mappings_copy(const struct mappings *from, struct mappings *to)
{
    for (size_t i = 0; i < from->n && mappings_insert(to, i, from->mappings[i]) == 0; i++)
        image_ref(to->mappings[i].image);
}

size_t mappings_bytes(const struct mappings *mappings)
{
    return array_bytes(mappings->n, sizeof(mappings->mappings[0]));
}
