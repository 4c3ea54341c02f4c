/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"

void buffer_done(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

/*
 * Large buffers use transparent huge pages: in bench/bench-series.c, faulting in an 8 MB document in 4 KiB pages takes
 * as long as writing it. Below HUGE_MIN, a partly used last page would waste too much memory.
 */
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_MIN (2 * HUGE_PAGE)

static char *buffer_grow(struct buffer *buffer, size_t capacity)
{
    if (capacity < HUGE_MIN)
        return realloc(buffer->data, capacity);
    capacity = (capacity + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *larger = aligned_alloc(HUGE_PAGE, capacity);
    if (!larger)
        return NULL;
    madvise(larger, capacity, MADV_HUGEPAGE);
    if (buffer->size)
        memcpy(larger, buffer->data, buffer->size);
    free(buffer->data);
    return larger;
}

/* Many buffers become strings that are kept, and most of those are short. */
#define CAPACITY_MIN 64

char *buffer_reserve(struct buffer *buffer, size_t n)
{
    size_t needed, capacity;

    if (buffer->failed || __builtin_add_overflow(buffer->size, n, &needed) || needed > SIZE_MAX / 2) {
        buffer->failed = true;
        return NULL;
    }
    if (needed <= buffer->capacity && buffer->data)
        return buffer->data + buffer->size;
    capacity = MAX(needed, MAX(buffer->capacity * 2, (size_t)CAPACITY_MIN));
    char *larger = buffer_grow(buffer, capacity);
    if (!larger) {
        buffer->failed = true;
        return NULL;
    }
    buffer->data = larger;
    buffer->capacity = capacity;
    return larger + buffer->size;
}

void buffer_trim(struct buffer *buffer)
{
    char *smaller = buffer->size ? realloc(buffer->data, buffer->size) : NULL;

    if (!smaller)
        return;
    buffer->data = smaller;
    buffer->capacity = buffer->size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    if (size == 0)
        return;
    char *room = buffer_reserve(buffer, size);
    if (!room)
        return;
    memcpy(room, data, size);
    buffer_advance(buffer, size);
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_char(struct buffer *buffer, char c)
{
    buffer_append(buffer, &c, 1);
}

void buffer_appendf(struct buffer *buffer, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *room = n < 0 ? NULL : buffer_reserve(buffer, (size_t)n + 1);
    if (!room) {
        buffer->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(room, (size_t)n + 1, format, args);
    va_end(args);
    buffer_advance(buffer, (size_t)n);
}

char *buffer_string(struct buffer *buffer)
{
    buffer_append_char(buffer, '\0');
    char *text = buffer->failed ? NULL : steal(buffer->data);
    buffer_done(buffer);
    return text;
}
