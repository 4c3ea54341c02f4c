/* SPDX-License-Identifier: Apache-2.0 */
/* The indices of an array's elements by their hash. The array itself stays dense and in the order of arrival. */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include "base/util.h"

#define HASH_INDEX_NONE UINT32_MAX

struct hash_slot {
    uint32_t hash, id; /* `id` is one more than the element's index; 0: free */
};

/* Zeroed, it is empty. */
struct hash_index {
    struct hash_slot *at;
    size_t n, size; /* `size` is a power of two, or 0 */
};

void hash_index_done(struct hash_index *index);
/* Adds the element of that index. -ENOMEM, and then nothing has changed. */
int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t element);
/* The next index with this hash, HASH_INDEX_NONE past the last; `at` starts at 0. */
uint32_t hash_index_next(const struct hash_index *index, uint32_t hash, size_t *at);

/* Mixes one more word into a hash that starts at any number. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint32_t hash_fold(uint64_t hash)
{
    return (uint32_t)(hash >> 32 ^ hash);
}

#endif
