/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as text, appended to a buffer. Numbers are exact digits; texts are escaped, and bytes in them that are not part
 * of a printable character become U+FFFD. Errors stick to the buffer.
 *
 * Values and keys by themselves are for lines that are too frequent for a tree of objects; struct json_document is for
 * documents that people read. Trees are made by jansson, which takes UTF-8 only, and writes DEL and C1 controls as they
 * are: json_text() makes a string of any bytes, replaced in the same way.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/buffer.h"

/* A piece of JSON, a literal whose length the compiler knows. */
#define json_write_raw(out, text) buffer_append((out), "" text, sizeof(text) - 1)

/* `,"name":`, in front of a value that is not the first of its object. */
#define json_write_key(out, name) json_write_raw((out), ",\"" name "\":")

/* The same with its value; `kind` is the end of a function below, as in json_write_member(out, "pid", u64, pid). */
#define json_write_member(out, name, kind, value)                                                                      \
    do {                                                                                                               \
        json_write_key((out), name);                                                                                   \
        json_write_##kind((out), (value));                                                                             \
    } while (0)

/* A comma if there is an element already: `filled` is false before the first element, and is set. */
static inline void json_write_comma(struct buffer *out, bool *filled)
{
    if (*filled)
        buffer_append_char(out, ',');
    *filled = true;
}

void json_write_u64(struct buffer *out, uint64_t value);
void json_write_i64(struct buffer *out, int64_t value);
/* At most 15 significant digits, always with a point or an exponent; null if it is not finite. */
void json_write_real(struct buffer *out, double value);
/* "0x1f": a text, since readers of JSON take numbers for doubles, which have 53 bits. */
void json_write_hex(struct buffer *out, uint64_t value);
/* Nanoseconds as seconds, with all nine digits. */
void json_write_seconds(struct buffer *out, uint64_t ns);
void json_write_bool(struct buffer *out, bool value);
/* With its quotes; NULL is null. */
void json_write_string(struct buffer *out, const char *text);

/* An object or an array in the making, each member on a line of its own; zeroed but for `out`. At most 32 levels deep.
 */
struct json_document {
    struct buffer *out;
    unsigned depth;
    uint32_t arrays; /* a bit for each level that is an array */
    bool filled;     /* the innermost level has a member */
};

/* `key` is NULL in an array, and for the document itself. `bracket` is '{' or '['. */
void json_document_open(struct json_document *document, const char *key, char bracket);
void json_document_close(struct json_document *document);
void json_document_add_i64(struct json_document *document, const char *key, int64_t value);
void json_document_add_real(struct json_document *document, const char *key, double value);
void json_document_add_bool(struct json_document *document, const char *key, bool value);
void json_document_add_string(struct json_document *document, const char *key, const char *value);

/* A string of jansson's. NULL when out of memory. */
json_t *json_text(const char *text);
/*
 * The array and the object with one more member. They take both; where one is NULL, or memory is short, nothing is left
 * of them and they return NULL: a document is whole, or there is none.
 */
json_t *json_array_add(json_t *array, json_t *value);
json_t *json_object_add(json_t *object, const char *key, json_t *value);

#endif
