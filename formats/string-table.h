/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each once, numbered from 0 as they come; number 0 is "". Bounded. What is no UTF-8 becomes U+FFFD. */
#ifndef FORMATS_STRING_TABLE_H
#define FORMATS_STRING_TABLE_H

#include "base/buffer.h"
#include "base/hash-index.h"

#define STRING_TABLE_MAX 24576
#define STRING_TABLE_BYTES_MAX ((size_t)512 << 10)

struct string_table {
    struct buffer bytes; /* with their NULs */
    uint32_t *offsets;
    size_t n;
    struct hash_index slots;
};

int string_table_init(struct string_table *strings);
void string_table_done(struct string_table *strings);
/* -ENOSPC where it is full. */
int string_table_add(struct string_table *strings, const char *text, uint32_t *ret);
/* Valid until the next string_table_add(). */
static inline const char *string_table_text(const struct string_table *strings, uint32_t number)
{
    return strings->bytes.data + strings->offsets[number];
}

#endif
