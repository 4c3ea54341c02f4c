/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"

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

void json_write_real(struct buffer *out, double value)
{
    char text[NUMBER_SIZE_MAX + 8];

    if (!isfinite(value)) {
        json_write_raw(out, "null");
        return;
    }
    snprintf(text, sizeof(text), "%.15g", value);
    char *exponent = strchr(text, 'e');
    if (!exponent) {
        buffer_appendf(out, "%s%s", text, strchr(text, '.') ? "" : ".0");
        return;
    }
    *exponent = '\0';
    buffer_appendf(out, "%se%d", text, atoi(exponent + 1));
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

void json_write_string(struct buffer *out, const char *text)
{
    if (!text) {
        json_write_raw(out, "null");
        return;
    }
    size_t plain = escape_plain_prefix(text); /* the plain prefix is nearly always the whole string */
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

char *json_put_string(char *to, const char *text)
{
    size_t plain = escape_plain_prefix(text);

    *to++ = '"';
    to = put_bytes(to, text, plain);
    if (text[plain]) {
        struct buffer room = {.data = to, .capacity = JSON_ESCAPED_MAX * strlen(text + plain)};
        escape_append(&room, text + plain, ESCAPE_JSON);
        to += room.size;
    }
    *to++ = '"';
    return to;
}

static void document_begin_line(struct json_document *document)
{
    buffer_append_char(document->out, '\n');
    for (unsigned i = 0; i < document->depth; i++)
        json_write_raw(document->out, "  ");
}

/* Writes a member up to its value: comma, line break, indentation and key. */
static void document_begin_member(struct json_document *document, const char *key)
{
    if (document->depth == 0)
        return;
    json_write_comma(document->out, &document->filled);
    document_begin_line(document);
    if (key) {
        json_write_string(document->out, key);
        json_write_raw(document->out, ": ");
    }
}

void json_document_open(struct json_document *document, const char *key, char bracket)
{
    uint32_t level = UINT32_C(1) << document->depth;

    document_begin_member(document, key);
    buffer_append_char(document->out, bracket);
    document->arrays = bracket == '[' ? document->arrays | level : document->arrays & ~level;
    document->depth++;
    document->filled = false;
}

void json_document_close(struct json_document *document)
{
    document->depth--;
    if (document->filled)
        document_begin_line(document);
    buffer_append_char(document->out, document->arrays >> document->depth & 1 ? ']' : '}');
    document->filled = true;
}

void json_document_add_i64(struct json_document *document, const char *key, int64_t value)
{
    document_begin_member(document, key);
    json_write_i64(document->out, value);
}

void json_document_add_real(struct json_document *document, const char *key, double value)
{
    document_begin_member(document, key);
    json_write_real(document->out, value);
}

void json_document_add_bool(struct json_document *document, const char *key, bool value)
{
    document_begin_member(document, key);
    json_write_bool(document->out, value);
}

void json_document_add_string(struct json_document *document, const char *key, const char *value)
{
    document_begin_member(document, key);
    json_write_string(document->out, value);
}

json_t *json_text(const char *text)
{
    _cleanup_(buffer_done) struct buffer valid = {0};

    escape_append(&valid, text, ESCAPE_NOTHING);
    return valid.failed ? NULL : json_stringn(valid.data ? valid.data : "", valid.size);
}

/* Returns the container, or releases it if jansson's result `r` is an error. */
static json_t *json_whole(json_t *container, int r)
{
    if (r == 0)
        return container;
    json_decref(container);
    return NULL;
}

json_t *json_array_add(json_t *array, json_t *value)
{
    return json_whole(array, json_array_append_new(array, value));
}

json_t *json_object_add(json_t *object, const char *key, json_t *value)
{
    return json_whole(object, json_object_set_new(object, key, value));
}
