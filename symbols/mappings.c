/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped: see mappings.h. */
#include "symbols/mappings.h"

void mappings_done(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->n; i++)
        image_unref(mappings->places[i].image);
    free(mappings->places);
    *mappings = (struct mappings){0};
}

/* The first that ends behind the address. */
static size_t place_at(const struct mappings *mappings, uint64_t address)
{
    return array_search(mappings->n, i, mappings->places[i].mapping.end <= address);
}

static bool covers(const struct place *place, uint64_t address)
{
    return address >= place->mapping.start && address < place->mapping.end;
}

struct place *mappings_find(struct mappings *mappings, uint64_t address)
{
    if (mappings->last < mappings->n && covers(&mappings->places[mappings->last], address))
        return &mappings->places[mappings->last];
    size_t at = place_at(mappings, address);
    if (at == mappings->n || !covers(&mappings->places[at], address))
        return NULL;
    mappings->last = at;
    return &mappings->places[at];
}

static int insert(struct mappings *mappings, size_t at, struct place place)
{
    if (mappings->n >= MAPPINGS_MAX)
        return -ENOSPC;
    if (array_grow(&mappings->places, mappings->n) < 0)
        return -ENOMEM;
    memmove(&mappings->places[at + 1], &mappings->places[at], (mappings->n++ - at) * sizeof(mappings->places[0]));
    mappings->places[at] = place;
    return 0;
}

static void remove_places(struct mappings *mappings, size_t at, size_t n)
{
    if (n == 0)
        return;
    for (size_t i = at; i < at + n; i++)
        image_unref(mappings->places[i].image);
    memmove(&mappings->places[at], &mappings->places[at + n], (mappings->n - at - n) * sizeof(mappings->places[0]));
    mappings->n -= n;
}

static void move_start(struct place *place, uint64_t start)
{
    place->mapping.offset += start - place->mapping.start;
    place->mapping.start = start;
    place->mapping.number = image_number(place->image, place->mapping.offset);
}

/* The place that begins before `start` and reaches behind it ends there, and goes on behind `end`. */
static void cut_within(struct mappings *mappings, size_t at, uint64_t start, uint64_t end)
{
    struct place rest = mappings->places[at];

    mappings->places[at].mapping.end = start;
    if (rest.mapping.end <= end)
        return;
    move_start(&rest, end);
    if (insert(mappings, at + 1, rest) == 0)
        image_ref(rest.image);
}

void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end)
{
    size_t at = place_at(mappings, start);

    if (at < mappings->n && mappings->places[at].mapping.start < start)
        cut_within(mappings, at++, start, end);
    size_t stop = at;
    while (stop < mappings->n && mappings->places[stop].mapping.end <= end)
        stop++;
    if (stop < mappings->n && mappings->places[stop].mapping.start < end)
        move_start(&mappings->places[stop], end);
    remove_places(mappings, at, stop - at);
}

void mappings_put(struct mappings *mappings, const struct mapping *mapping, struct image *image)
{
    struct place place = {.mapping = *mapping, .image = image};

    place.mapping.file = image->file;
    place.mapping.build_id = image->build_id;
    place.mapping.build_id_size = image->build_id_size;
    if (image->jit_pid) /* as the kernel's records have it; /proc says 0, and numbers would be the same */
        place.mapping.offset = mapping->start;
    place.mapping.number = image_number(image, place.mapping.offset);
    if (insert(mappings, place_at(mappings, mapping->start), place) < 0)
        image_unref(image);
}

void mappings_copy(const struct mappings *from, struct mappings *to)
{
    for (size_t i = 0; i < from->n && insert(to, i, from->places[i]) == 0; i++)
        image_ref(to->places[i].image);
}

size_t mappings_bytes(const struct mappings *mappings)
{
    return array_bytes(mappings->n, sizeof(mappings->places[0]));
}
