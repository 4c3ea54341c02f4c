/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing bytes, with an error that stays until the end.
 *
 * A growing byte buffer with a sticky error: append without checking, then ask once whether it failed.
 * The content is not NUL-terminated; buffer_string() makes it so.
 *
 * Bytes put one behind the other into memory that was reserved for all of them. Returns the place for the next ones.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <string.h>

#include "base/util.h"

struct buffer {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory; later appends are lost */
};

void buffer_done(struct buffer *buffer);
/* Keeps the memory, drops the content and the error. */
void buffer_clear(struct buffer *buffer);

/* Gives back the memory that the content does not need. */
void buffer_trim(struct buffer *buffer);

/* Room for `n` more bytes, which the caller writes and then counts by buffer_advance(); NULL when out of memory. */
char *buffer_reserve(struct buffer *buffer, size_t n);
static inline void buffer_advance(struct buffer *buffer, size_t n)
{
    buffer->size += n;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_char(struct buffer *buffer, char c);
void buffer_appendf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

/* The content as a string that the caller frees; the buffer is empty afterwards. NULL if anything failed. */
char *buffer_string(struct buffer *buffer);

static inline char *put_bytes(char *to, const void *data, size_t size)
{
    memcpy(to, data, size);
    return to + size;
}

static inline char *put_text(char *to, const char *text)
{
    return put_bytes(to, text, strlen(text));
}

#endif
