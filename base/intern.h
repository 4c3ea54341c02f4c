/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets that hold each distinct string once.
 *
 * A `struct intern` returns pointers, and equal strings have equal addresses; it is a sorted array, meant for few
 * strings. A `struct string_table` has a size limit and numbers its strings; it finds them with a `struct hash_index`,
 * which can also index other arrays.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/buffer.h"
#include "base/util.h"

/* A zeroed set is empty. */
struct intern {
    char **texts; /* sorted */
    size_t n;
};

/* Returns the set's copy of `text`, valid until intern_done(), or NULL when out of memory. */
const char *intern_text(struct intern *intern, const char *text);
void intern_done(struct intern *intern);

/* The header in front of each copy of a string. */
struct intern_head {
    uint32_t size;
    bool plain;
};

static inline struct intern_head intern_head(const char *text)
{
    struct intern_head head;

    memcpy(&head, text - sizeof(head), sizeof(head));
    return head;
}

/* The length of a copy that intern_text() returned. */
static inline size_t intern_size(const char *text)
{
    return intern_head(text).size;
}

/* Whether the copy needs no escaping in any format of base/text.h except XML. */
static inline bool intern_is_plain(const char *text)
{
    return intern_head(text).plain;
}

#define HASH_INDEX_NONE UINT32_MAX

struct hash_slot {
    uint32_t hash, id; /* `id` is the element's index plus one, or 0 if the slot is free */
};

/*
 * Maps hashes to the indices of an array's elements. The array stays dense and in order of arrival. Elements cannot be
 * removed. A zeroed index is empty.
 */
struct hash_index {
    struct hash_slot *at;
    size_t n, size; /* `size` is 0 or a power of two */
};

void hash_index_done(struct hash_index *index);
/* Adds an element by its index in the array. Returns -ENOMEM on failure; the hash index is then unchanged. */
int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t element);
/*
 * Iterates over the elements with this hash: returns the next index, or HASH_INDEX_NONE past the last. `*at` starts at
 * 0. The caller compares the elements themselves.
 */
uint32_t hash_index_next(const struct hash_index *index, uint32_t hash, size_t *at);

/* Mixes a word into a hash. The initial hash can be any value. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t hash_mix_bytes(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = hash_mix(hash, ((const unsigned char *)data)[i]);
    return hash;
}

/* Includes the NUL, so that "a" and "bc" differ from "ab" and "c". NULL counts as "". */
static inline uint64_t hash_mix_text(uint64_t hash, const char *text)
{
    return text ? hash_mix_bytes(hash, text, strlen(text) + 1) : hash_mix(hash, 0);
}

static inline uint32_t hash_fold(uint64_t hash)
{
    return (uint32_t)(hash >> 32 ^ hash);
}

/* Strings numbered from 0 in order of arrival; number 0 is "". */
struct string_table {
    struct buffer bytes; /* the strings, each with its NUL */
    uint32_t *offsets;
    size_t n, max;
    size_t bytes_max;
    struct hash_index index;
};

/* The table holds at most `max` strings with `bytes_max` bytes in total, including NULs. Returns -ENOMEM on failure. */
int string_table_init(struct string_table *strings, size_t max, size_t bytes_max);
void string_table_done(struct string_table *strings);
/*
 * Finds or adds `text` and sets *ret to its number. Each byte that is not part of a printable character becomes U+FFFD.
 * Returns -ENOSPC if the table is full, or -ENOMEM.
 */
int string_table_add(struct string_table *strings, const char *text, uint32_t *ret);
/*
 * Like string_table_add(), for a string without NUL that the caller has appended to `bytes` at offset `start`. Removes
 * the string from `bytes` again on failure, or if the table already has it. Does not replace unprintable bytes.
 */
int string_table_add_appended(struct string_table *strings, size_t start, uint32_t *ret);
/* The pointer is valid until the next string is added. */
static inline const char *string_table_text(const struct string_table *strings, uint32_t number)
{
    return strings->bytes.data + strings->offsets[number];
}

#endif
