/* SPDX-License-Identifier: Apache-2.0 */
/* JSON written by hand: see json-text.h. */
#include "base/json-text.h"

#include "base/escape.h"
#include "base/number.h"

void json_write_u64(struct buffer *out, uint64_t value)
{
    char *room = buffer_reserve(out, NUMBER_SIZE_MAX);

    if (room)
        buffer_advance(out, number_write_u64(room, value));
}

void json_write_i64(struct buffer *out, int64_t value)
{
    if (value < 0)
        buffer_append_char(out, '-');
    json_write_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_write_hex(struct buffer *out, uint64_t value)
{
    unsigned digits = (unsigned)(67 - __builtin_clzll(value | 1)) / 4;
    char *room = buffer_reserve(out, digits + 4);

    if (!room)
        return;
    memcpy(room, "\"0x", 3);
    for (unsigned i = digits; i > 0; i--, value >>= 4)
        room[2 + i] = "0123456789abcdef"[value & 15];
    room[3 + digits] = '"';
    buffer_advance(out, digits + 4);
}

void json_write_seconds(struct buffer *out, uint64_t ns)
{
    char *room = buffer_reserve(out, NUMBER_SIZE_MAX + 10);

    if (!room)
        return;
    size_t size = number_write_u64(room, ns / NSEC_PER_SEC);
    room[size] = '.';
    uint64_t fraction = ns % NSEC_PER_SEC;
    for (unsigned i = 9; i > 0; i--, fraction /= 10)
        room[size + i] = (char)('0' + fraction % 10);
    buffer_advance(out, size + 10);
}

void json_write_bool(struct buffer *out, bool value)
{
    buffer_append_text(out, value ? "true" : "false");
}

/* How many bytes from the start stand for themselves: of names, nearly always all. */
static size_t plain_prefix(const char *text)
{
    size_t n = 0;

    for (unsigned char c; (c = (unsigned char)text[n]) >= 0x20 && c < 0x7f && c != '"' && c != '\\';)
        n++;
    return n;
}

void json_write_string(struct buffer *out, const char *text)
{
    if (!text) {
        json_write_raw(out, "null");
        return;
    }
    size_t plain = plain_prefix(text);
    char *room = buffer_reserve(out, plain + 2);
    if (!room)
        return;
    room[0] = '"';
    memcpy(room + 1, text, plain);
    buffer_advance(out, plain + 1);
    if (text[plain])
        escape_append(out, text + plain, ESCAPE_JSON);
    buffer_append_char(out, '"');
}
