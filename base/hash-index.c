/* SPDX-License-Identifier: Apache-2.0 */
/* The hashes of an array's elements, with open addressing: see hash-index.h. */
#include "base/hash-index.h"

#define SIZE_FIRST 64

void hash_index_done(struct hash_index *slots)
{
    free(slots->at);
    *slots = (struct hash_index){0};
}

static void put(struct hash_index *slots, struct slot slot)
{
    size_t mask = slots->size - 1, at = slot.hash & mask;

    while (slots->at[at].id)
        at = (at + 1) & mask;
    slots->at[at] = slot;
}

static int grow(struct hash_index *slots)
{
    size_t size = slots->size ? 2 * slots->size : SIZE_FIRST;
    struct hash_index larger = {.at = calloc(size, sizeof(*larger.at)), .n = slots->n, .size = size};

    if (!larger.at)
        return -ENOMEM;
    for (size_t i = 0; i < slots->size; i++)
        if (slots->at[i].id)
            put(&larger, slots->at[i]);
    free(slots->at);
    *slots = larger;
    return 0;
}

int hash_index_add(struct hash_index *slots, uint32_t hash, uint32_t index)
{
    if (4 * (slots->n + 1) > 3 * slots->size && grow(slots) < 0)
        return -ENOMEM;
    put(slots, (struct slot){.hash = hash, .id = index + 1});
    slots->n++;
    return 0;
}

uint32_t hash_index_next(const struct hash_index *slots, uint32_t hash, size_t *at)
{
    size_t mask = slots->size - 1;

    while (slots->size) {
        const struct slot *slot = &slots->at[(hash + (*at)++) & mask];
        if (!slot->id)
            break;
        if (slot->hash == hash)
            return slot->id - 1;
    }
    return HASH_INDEX_NONE;
}
