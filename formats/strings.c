/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, each once: see strings.h. */
#include "formats/strings.h"

#include "base/escape.h"

int strings_init(struct strings *strings)
{
    uint32_t empty;

    *strings = (struct strings){0};
    return strings_add(strings, "", &empty);
}

void strings_done(struct strings *strings)
{
    buffer_done(&strings->bytes);
    free(strings->offsets);
    slots_done(&strings->slots);
    *strings = (struct strings){0};
}

static uint32_t hash_of(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash_fold(hash);
}

/* Takes what was appended behind `size` for one that is there, or for a new one. */
static int take_last(struct strings *strings, size_t size, uint32_t *ret)
{
    const char *text = strings->bytes.data + size;
    uint32_t hash = hash_of(text), found;

    for (size_t at = 0; (found = slots_next(&strings->slots, hash, &at)) != SLOTS_NONE;)
        if (str_equal(strings_text(strings, found), text)) {
            strings->bytes.size = size;
            *ret = found;
            return 0;
        }
    if (strings->n >= STRINGS_MAX || strings->bytes.size > STRINGS_BYTES_MAX)
        return -ENOSPC;
    if (array_grow(&strings->offsets, strings->n) < 0 || slots_add(&strings->slots, hash, (uint32_t)strings->n) < 0)
        return -ENOMEM;
    strings->offsets[strings->n] = (uint32_t)size;
    *ret = (uint32_t)strings->n++;
    return 0;
}

int strings_add(struct strings *strings, const char *text, uint32_t *ret)
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
