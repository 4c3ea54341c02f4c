/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a sticky error: callers append without checking, then look at `failed` once.
 *
 * A zeroed struct is an empty buffer. The content is not NUL-terminated; buffer_string() adds the NUL.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <string.h>

#include "base/util.h"

struct buffer {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory; later appends are ignored */
};

void buffer_done(struct buffer *buffer);
/* Drops the content and the error, but keeps the memory. */
void buffer_clear(struct buffer *buffer);

/* Frees the memory that the content does not use. Does nothing if the buffer is empty or reallocation fails. */
void buffer_trim(struct buffer *buffer);

/*
 * Returns room for `n` more bytes, or NULL when out of memory or after an earlier failure. The caller writes the bytes
 * and then calls buffer_advance(). The pointer is valid until the next append or reservation.
 */
char *buffer_reserve(struct buffer *buffer, size_t n);
static inline void buffer_advance(struct buffer *buffer, size_t n)
{
    buffer->size += n;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_char(struct buffer *buffer, char c);
void buffer_appendf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

/* Returns the content as a string that the caller frees, or NULL if any append failed. Empties the buffer. */
char *buffer_string(struct buffer *buffer);

/*
 * put_bytes() and put_text() copy into memory that the caller has reserved. Both functions return the end of the copy,
 * where the next piece goes.
 */
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
