/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each once: see string-table.h. */
#include "formats/string-table.h"

#include "base/escape.h"

int string_table_init(struct string_table *strings)
{
    uint32_t empty;

    *strings = (struct string_table){0};
    return string_table_add(strings, "", &empty);
}

void string_table_done(struct string_table *strings)
{
    buffer_done(&strings->bytes);
    free(strings->offsets);
    hash_index_done(&strings->slots);
    *strings = (struct string_table){0};
}

static uint32_t hash_of(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash_fold(hash);
}

/* Takes what was appended behind `size` for one that is there, or for a new one. */
static int take_last(struct string_table *strings, size_t size, uint32_t *ret)
{
    const char *text = strings->bytes.data + size;
    uint32_t hash = hash_of(text), found;

    for (size_t at = 0; (found = hash_index_next(&strings->slots, hash, &at)) != HASH_INDEX_NONE;)
        if (str_equal(string_table_text(strings, found), text)) {
            strings->bytes.size = size;
            *ret = found;
            return 0;
        }
    if (strings->n >= STRING_TABLE_MAX || strings->bytes.size > STRING_TABLE_BYTES_MAX)
        return -ENOSPC;
    if (array_grow(&strings->offsets, strings->n) < 0 ||
        hash_index_add(&strings->slots, hash, (uint32_t)strings->n) < 0)
        return -ENOMEM;
    strings->offsets[strings->n] = (uint32_t)size;
    *ret = (uint32_t)strings->n++;
    return 0;
}

int string_table_add(struct string_table *strings, const char *text, uint32_t *ret)
{
    size_t size = strings->bytes.size;

    escape_append(&strings->bytes, text, ESCAPE_NOTHING);
    buffer_append_char(&strings->bytes, '\0');
    int r = strings->bytes.failed ? -ENOMEM : take_last(strings, size, ret);
    if (r < 0) {
        strings->bytes.size = size;
        strings->bytes.failed = false;
    }
    return r;
}
