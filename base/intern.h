/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are held once and found by hash: as pointers, or numbered.
 *
 * A set of few texts. Equal texts are held once, for as long as the set lives.
 *
 * The indices of an array's elements by their hash. The array itself stays dense and in the order of arrival.
 *
 * Texts, each held once, numbered from 0 as they come; number 0 is "". Bounded.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/buffer.h"
#include "base/util.h"

struct intern {
    char **texts; /* sorted */
    size_t n;
};

/* The set's own copy, the same for equal texts. NULL when out of memory. */
const char *intern_text(struct intern *intern, const char *text);
void intern_done(struct intern *intern);

/* The length of a set's copy, which is stored in front of it. */
static inline size_t intern_size(const char *text)
{
    size_t size;

    memcpy(&size, text - sizeof(size), sizeof(size));
    return size;
}

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

struct string_table {
    struct buffer bytes; /* the texts with their NULs */
    uint32_t *offsets;
    size_t n, max;
    size_t bytes_max;
    struct hash_index index;
};

/* With room for `max` texts, of `bytes_max` bytes together. -ENOMEM. */
int string_table_init(struct string_table *strings, size_t max, size_t bytes_max);
void string_table_done(struct string_table *strings);
/* The number of `text`. Bytes that are not part of a printable character become U+FFFD. -ENOSPC if the table is full;
 * -ENOMEM. */
int string_table_add(struct string_table *strings, const char *text, uint32_t *ret);
/*
 * The same for the text without its NUL that the caller has appended to `bytes`, where it was `start` bytes long. It is
 * taken back if the table has the same text already, and on errors.
 */
int string_table_add_appended(struct string_table *strings, size_t start, uint32_t *ret);
/* Valid until something is added. */
static inline const char *string_table_text(const struct string_table *strings, uint32_t number)
{
    return strings->bytes.data + strings->offsets[number];
}

#endif
