/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each held once: see string-table.h. */
#include "base/string-table.h"

#include "base/escape.h"

int string_table_init(struct string_table *strings, size_t max, size_t bytes_max)
{
    uint32_t empty;

    *strings = (struct string_table){.max = max, .bytes_max = bytes_max};
    return string_table_add(strings, "", &empty);
}

void string_table_done(struct string_table *strings)
{
    buffer_done(&strings->bytes);
    free(strings->offsets);
    hash_index_done(&strings->index);
    *strings = (struct string_table){0};
}

static uint32_t hash_of_text(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash_fold(hash);
}

static int keep_or_find(struct string_table *strings, size_t start, uint32_t *ret)
{
    const char *text = strings->bytes.data + start;
    uint32_t hash = hash_of_text(text), found;

    for (size_t at = 0; (found = hash_index_next(&strings->index, hash, &at)) != HASH_INDEX_NONE;)
        if (str_equal(string_table_text(strings, found), text)) {
            strings->bytes.size = start;
            *ret = found;
            return 0;
        }
    if (strings->n >= strings->max || strings->bytes.size > strings->bytes_max)
        return -ENOSPC;
    if (array_grow(&strings->offsets, strings->n) < 0 ||
        hash_index_add(&strings->index, hash, (uint32_t)strings->n) < 0)
        return -ENOMEM;
    strings->offsets[strings->n] = (uint32_t)start;
    *ret = (uint32_t)strings->n++;
    return 0;
}

int string_table_add_appended(struct string_table *strings, size_t start, uint32_t *ret)
{
    buffer_append_char(&strings->bytes, '\0');
    int r = strings->bytes.failed ? -ENOMEM : keep_or_find(strings, start, ret);
    if (r < 0) {
        strings->bytes.size = start;
        strings->bytes.failed = false;
    }
    return r;
}

int string_table_add(struct string_table *strings, const char *text, uint32_t *ret)
{
    size_t start = strings->bytes.size;

    escape_append(&strings->bytes, text, ESCAPE_NOTHING);
    return string_table_add_appended(strings, start, ret);
}
