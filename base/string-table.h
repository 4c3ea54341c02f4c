/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each held once, numbered from 0 as they come; number 0 is "". Bounded. */
#ifndef BASE_STRING_TABLE_H
#define BASE_STRING_TABLE_H

#include "base/buffer.h"
#include "base/hash-index.h"

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
