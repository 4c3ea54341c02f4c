/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of Protocol Buffers: see protobuf.h. */
#include "formats/protobuf.h"

#define VARINT_SIZE_MAX 10

enum wire_type { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

/* Seven bits a byte, the lowest first; the highest bit says that another byte follows. Returns the number of bytes. */
static size_t encode_varint(char *to, uint64_t value)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (char)(value | 0x80);
    to[n++] = (char)value;
    return n;
}

static void write_varint(struct buffer *out, uint64_t value)
{
    char *room = buffer_reserve(out, VARINT_SIZE_MAX);

    if (room)
        buffer_advance(out, encode_varint(room, value));
}

static void write_tag(struct buffer *out, unsigned field, enum wire_type type)
{
    write_varint(out, (uint64_t)field << 3 | type);
}

void protobuf_write_u64(struct buffer *out, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    write_tag(out, field, WIRE_VARINT);
    write_varint(out, value);
}

void protobuf_write_text(struct buffer *out, unsigned field, const char *text)
{
    size_t size = strlen(text);

    write_tag(out, field, WIRE_LENGTH);
    write_varint(out, size);
    buffer_append(out, text, size);
}

void protobuf_write_packed(struct buffer *out, unsigned field, const uint64_t *values, size_t n)
{
    if (n == 0)
        return;
    size_t start = protobuf_begin_message(out, field);
    for (size_t i = 0; i < n; i++)
        write_varint(out, values[i]);
    protobuf_end_message(out, start);
}

size_t protobuf_begin_message(struct buffer *out, unsigned field)
{
    write_tag(out, field, WIRE_LENGTH);
    return out->size;
}

/* The length goes in front of the fields, which move. */
void protobuf_end_message(struct buffer *out, size_t start)
{
    char length[VARINT_SIZE_MAX];

    if (out->failed)
        return;
    size_t size = out->size - start, n = encode_varint(length, size);
    if (!buffer_reserve(out, n))
        return;
    memmove(out->data + start + n, out->data + start, size);
    memcpy(out->data + start, length, n);
    buffer_advance(out, n);
}
