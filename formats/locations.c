/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a profile: see locations.h. */
#include "formats/locations.h"

#include "base/escape.h"

int locations_init(struct locations *locations, struct symbols *symbols)
{
    *locations = (struct locations){.symbols = symbols};
    return string_table_init(&locations->strings, LOCATION_STRINGS_MAX, LOCATION_STRINGS_BYTES_MAX);
}

void locations_done(struct locations *locations)
{
    for (size_t i = 0; i < locations->n_mappings; i++)
        symbols_release(&locations->mappings[i]);
    free(locations->mappings);
    free(locations->locations);
    hash_index_done(&locations->index);
    hash_index_done(&locations->mapping_index);
    string_table_done(&locations->strings);
    *locations = (struct locations){0};
}

static int locations_add_mapping(struct locations *locations, uint32_t pid, const struct frame *frame, uint32_t *ret)
{
    uint32_t hash = hash_fold(hash_mix(0, frame->mapping->number)), found;

    for (size_t at = 0; (found = hash_index_next(&locations->mapping_index, hash, &at)) != HASH_INDEX_NONE;)
        if (locations->mappings[found].mapping.number == frame->mapping->number) {
            struct mapping *kept = &locations->mappings[found].mapping;
            uint64_t size = frame->mapping->end - frame->mapping->start;
            kept->end = MAX(kept->end, kept->start + size); /* another process may have more of it mapped */
            kept->build_id_size = frame->mapping->build_id_size;
            *ret = found;
            return 0;
        }
    if (locations->full || locations->n_mappings >= LOCATION_MAPPINGS_MAX)
        return -ENOSPC;
    if (array_grow(&locations->mappings, locations->n_mappings) < 0 ||
        hash_index_add(&locations->mapping_index, hash, (uint32_t)locations->n_mappings) < 0)
        return -ENOMEM;
    symbols_keep(frame, pid, &locations->mappings[locations->n_mappings]);
    *ret = (uint32_t)locations->n_mappings++;
    return 0;
}

/* Without room for the name, it stays unknown. */
static void location_set_symbol(struct locations *locations, struct location *location, const char *symbol)
{
    if (symbol && location->symbol == 0)
        string_table_add(&locations->strings, symbol, &location->symbol);
}

static int locations_keep(struct locations *locations, struct location location, uint32_t *ret)
{
    uint32_t hash = hash_fold(hash_mix(hash_mix(0, location.address), location.mapping)), found;

    for (size_t at = 0; (found = hash_index_next(&locations->index, hash, &at)) != HASH_INDEX_NONE;)
        if (locations->locations[found].address == location.address &&
            locations->locations[found].mapping == location.mapping) {
            *ret = found;
            return 0;
        }
    if (locations->full || locations->n >= LOCATIONS_MAX)
        return -ENOSPC;
    if (array_grow(&locations->locations, locations->n) < 0 ||
        hash_index_add(&locations->index, hash, (uint32_t)locations->n) < 0)
        return -ENOMEM;
    locations->locations[locations->n] = location;
    *ret = (uint32_t)locations->n++;
    return 0;
}

int locations_add(struct locations *locations, uint32_t pid, enum address_space space, uint64_t ip, uint32_t *ret)
{
    struct location location = {.address = ip, .mapping = LOCATION_UNMAPPED};
    struct frame frame = {0};
    uint32_t number;

    if (space != SPACE_OTHER)
        symbols_resolve(locations->symbols, pid, space == SPACE_KERNEL, ip, &frame);
    if (frame.mapping) {
        int r = locations_add_mapping(locations, pid, &frame, &location.mapping);
        if (r < 0)
            return r;
        location.address = ip - frame.mapping->start + locations->mappings[location.mapping].mapping.start;
    }
    int r = locations_keep(locations, location, &number);
    if (r < 0)
        return r;
    location_set_symbol(locations, &locations->locations[number], frame.symbol);
    *ret = number;
    return 0;
}

bool locations_settle(struct locations *locations, size_t n)
{
    struct frame frame;

    for (; n && locations->settled < locations->n; locations->settled++) {
        struct location *location = &locations->locations[locations->settled];
        if (location->symbol || location->mapping == LOCATION_UNMAPPED)
            continue;
        symbols_resolve_kept(locations->symbols, &locations->mappings[location->mapping], location->address, &frame);
        location_set_symbol(locations, location, frame.symbol);
        n--;
    }
    if (locations->settled < locations->n)
        return false;
    locations->settled = 0;
    return !symbols_pending(locations->symbols);
}

bool location_is_kernel(const struct locations *locations, const struct location *location)
{
    return location->mapping != LOCATION_UNMAPPED && locations->mappings[location->mapping].kernel;
}

void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name)
{
    if (location->symbol) {
        buffer_append_text(name, string_table_text(&locations->strings, location->symbol));
        return;
    }
    const char *file =
        location->mapping == LOCATION_UNMAPPED ? "" : locations->mappings[location->mapping].mapping.file;
    if (file[0] == '[') {
        escape_append(name, file, ESCAPE_NOTHING);
        return;
    }
    const char *slash = strrchr(file, '/');
    buffer_append_char(name, '[');
    escape_append(name, slash && slash[1] && file[1] != '/' ? slash + 1 : "unknown", ESCAPE_NOTHING);
    buffer_append_char(name, ']');
}
