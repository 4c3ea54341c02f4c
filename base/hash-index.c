/* SPDX-License-Identifier: Apache-2.0 */
/* The indices of an array's elements by their hash, with open addressing: see hash-index.h. */
#include "base/hash-index.h"

#define SIZE_FIRST 64

void hash_index_done(struct hash_index *index)
{
    free(index->at);
    *index = (struct hash_index){0};
}

static void hash_index_put(struct hash_index *index, struct hash_slot slot)
{
    size_t mask = index->size - 1, at = slot.hash & mask;

    while (index->at[at].id)
        at = (at + 1) & mask;
    index->at[at] = slot;
}

static int hash_index_grow(struct hash_index *index)
{
    size_t size = index->size ? 2 * index->size : SIZE_FIRST;
    struct hash_index larger = {.at = calloc(size, sizeof(*larger.at)), .n = index->n, .size = size};

    if (!larger.at)
        return -ENOMEM;
    for (size_t i = 0; i < index->size; i++)
        if (index->at[i].id)
            hash_index_put(&larger, index->at[i]);
    free(index->at);
    *index = larger;
    return 0;
}

int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t element)
{
    if (4 * (index->n + 1) > 3 * index->size && hash_index_grow(index) < 0)
        return -ENOMEM;
    hash_index_put(index, (struct hash_slot){.hash = hash, .id = element + 1});
    index->n++;
    return 0;
}

uint32_t hash_index_next(const struct hash_index *index, uint32_t hash, size_t *at)
{
    size_t mask = index->size - 1;

    while (index->size) {
        const struct hash_slot *slot = &index->at[(hash + (*at)++) & mask];
        if (!slot->id)
            break;
        if (slot->hash == hash)
            return slot->id - 1;
    }
    return HASH_INDEX_NONE;
}
