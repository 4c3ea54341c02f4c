/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over the words of a record. It may be asked for more words than there are, and remembers that: so a decoder
 * is a list of the fields in the kernel's order, and checks once, at the end, whether all of them were there.
 */
#ifndef PERF_RECORD_CURSOR_H
#define PERF_RECORD_CURSOR_H

#include "base/util.h"

#define WORD sizeof(uint64_t)

struct record_cursor {
    const uint64_t *at, *end;
    bool bad; /* more was asked for than there is; from then on every word is 0 */
};

static inline uint64_t take_word(struct record_cursor *cursor)
{
    if (cursor->at == cursor->end) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

/* NULL where fewer than `n` are left. */
static inline const void *take_words(struct record_cursor *cursor, uint64_t n)
{
    const uint64_t *words = cursor->at;

    if (n > (uint64_t)(cursor->end - words)) {
        cursor->bad = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += n;
    return words;
}

/* Two fields of 32 bits in one word. */
static inline void take_pair(struct record_cursor *cursor, uint32_t *ret_first, uint32_t *ret_second)
{
    uint64_t word = take_word(cursor);
    uint32_t pair[2];

    memcpy(pair, &word, sizeof(pair));
    *ret_first = pair[0];
    *ret_second = pair[1];
}

/* The first of two such fields. */
static inline uint32_t take_half(struct record_cursor *cursor)
{
    uint32_t first, second;

    take_pair(cursor, &first, &second);
    return first;
}

/* `n` elements of `width` words each, and their number; NULL and 0 where they are not all there. */
static inline const uint64_t *take_array(struct record_cursor *cursor, uint64_t n, size_t width, size_t *ret_n)
{
    const uint64_t *words = take_words(cursor, n > UINT16_MAX ? UINT64_MAX : n * width);

    *ret_n = words ? n : 0;
    return words;
}

/* `size` bytes, which the kernel pads to whole words. */
static inline const void *take_bytes(struct record_cursor *cursor, uint64_t size)
{
    if (size % WORD != 0)
        cursor->bad = true;
    return take_words(cursor, size / WORD);
}

/* The rest of the record as a text; "" where the text does not end. */
static inline const char *take_text(struct record_cursor *cursor)
{
    const char *text = (const char *)cursor->at;
    size_t size = (size_t)(cursor->end - cursor->at) * WORD;

    cursor->at = cursor->end;
    if (memchr(text, '\0', size))
        return text;
    cursor->bad = true;
    return "";
}

#endif
