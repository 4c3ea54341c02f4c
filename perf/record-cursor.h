/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over the words of a record that can be asked for more than there is: so each decoder is a list of the fields
 * in the kernel's order, and whether all was there is asked once, at the end.
 */
#ifndef PERF_RECORD_CURSOR_H
#define PERF_RECORD_CURSOR_H

#include "base/util.h"

#define WORD sizeof(uint64_t)

struct cursor {
    const uint64_t *at, *end;
    bool bad; /* more was asked for than there is; nothing is given from then on */
};

struct pair {
    uint32_t first, second;
};

static inline uint64_t take(struct cursor *cursor)
{
    if (cursor->at == cursor->end) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

/* NULL where fewer than `n` are left. */
static inline const void *take_words(struct cursor *cursor, uint64_t n)
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

static inline struct pair take_pair(struct cursor *cursor)
{
    uint64_t word = take(cursor);
    struct pair pair;

    memcpy(&pair, &word, sizeof(pair));
    return pair;
}

/* A count of things of `width` words each, and the things; NULL, and a count of 0, where they are not all there. */
static inline const uint64_t *take_array(struct cursor *cursor, uint64_t n, size_t width, size_t *ret_n)
{
    const uint64_t *words = take_words(cursor, n > UINT16_MAX ? UINT64_MAX : n * width);

    *ret_n = words ? n : 0;
    return words;
}

/* As many bytes as the size before them says; the kernel makes them whole words. */
static inline const void *take_bytes(struct cursor *cursor, uint64_t size)
{
    if (size % WORD != 0)
        cursor->bad = true;
    return take_words(cursor, size / WORD);
}

/* The rest as a text. */
static inline const char *take_text(struct cursor *cursor)
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
