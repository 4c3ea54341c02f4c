/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"

#include "base/text.h"

/* --- sorted sets --- */

/* Returns the index of the string, or the index at which to insert it. */
static size_t intern_find(const struct intern *intern, const char *text)
{
    return array_search(intern->n, i, strcmp(intern->texts[i], text) < 0);
}

const char *intern_text(struct intern *intern, const char *text)
{
    size_t at = intern_find(intern, text);

    if (at < intern->n && str_equal(intern->texts[at], text))
        return intern->texts[at];
    if (array_grow(&intern->texts, intern->n) < 0)
        return NULL;
    size_t size = strlen(text);
    struct intern_head head = {.size = (uint32_t)size, .plain = text[escape_plain_prefix(text)] == '\0'};
    char *memory = malloc(sizeof(head) + size + 1);
    if (!memory)
        return NULL;
    memcpy(memory, &head, sizeof(head));
    char *copy = memcpy(memory + sizeof(head), text, size + 1);
    memmove(&intern->texts[at + 1], &intern->texts[at], (intern->n - at) * sizeof(intern->texts[0]));
    intern->texts[at] = copy;
    intern->n++;
    return copy;
}

void intern_done(struct intern *intern)
{
    for (size_t i = 0; i < intern->n; i++)
        free(intern->texts[i] - sizeof(struct intern_head));
    free(intern->texts);
    *intern = (struct intern){0};
}

/* --- hash index: open addressing, linear probing --- */

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

/* --- string tables --- */

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

/*
 * The string at `start` is the last one in `bytes`. A new string is kept; a string that the table already contains is
 * removed.
 */
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
