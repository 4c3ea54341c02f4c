/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, written directly into a buffer or built as a jansson tree.
 *
 * Integers are written exactly. Strings are escaped, and each byte that is not part of a printable character becomes
 * U+FFFD. Errors are sticky: see base/buffer.h.
 *
 * json_write_*() are for lines that are written too often to build a tree of objects for each one. struct json_document
 * writes indented documents for people. jansson accepts only UTF-8 and writes DEL and C1 controls unescaped, so
 * json_text() replaces unprintable bytes first.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/buffer.h"

/* Appends a string literal, whose length is a compile-time constant. */
#define json_write_raw(out, text) buffer_append((out), "" text, sizeof(text) - 1)

/* Appends `,"name":`, for a member that is not the first of its object. */
#define json_write_key(out, name) json_write_raw((out), ",\"" name "\":")

/* Appends a key and a value. `kind` is the suffix of a function below: json_write_member(out, "pid", u64, pid). */
#define json_write_member(out, name, kind, value)                                                                      \
    do {                                                                                                               \
        json_write_key((out), name);                                                                                   \
        json_write_##kind((out), (value));                                                                             \
    } while (0)

/*
 * Appends a comma before every element but the first. *filled must be false before the first element; the function sets
 * it.
 */
static inline void json_write_comma(struct buffer *out, bool *filled)
{
    if (*filled)
        buffer_append_char(out, ',');
    *filled = true;
}

void json_write_u64(struct buffer *out, uint64_t value);
void json_write_i64(struct buffer *out, int64_t value);
/*
 * Writes up to 15 significant digits, always with a decimal point or an exponent, or null if the value is not finite.
 */
void json_write_real(struct buffer *out, double value);
/* Writes a string such as "0x1f": many JSON readers store numbers as doubles, with 53 bits of precision. */
void json_write_hex(struct buffer *out, uint64_t value);
/* Writes nanoseconds as seconds with nine decimals. */
void json_write_seconds(struct buffer *out, uint64_t ns);
void json_write_bool(struct buffer *out, bool value);
/* Writes the quotes too. NULL becomes null. */
void json_write_string(struct buffer *out, const char *text);
/*
 * Writes a string, which must not be NULL, to `to`. The caller has reserved JSON_ESCAPED_MAX bytes for each byte of the
 * string, and two for the quotes. Returns the end of the written text.
 */
#define JSON_ESCAPED_MAX 3
char *json_put_string(char *to, const char *text);

/* An indented document, one member per line. Start with {.out = BUFFER}. Nests at most 32 levels deep. */
struct json_document {
    struct buffer *out;
    unsigned depth;
    uint32_t arrays; /* bit N: level N is an array */
    bool filled;     /* the innermost level already has a member */
};

/*
 * Opens an object ('{') or an array ('['). `key` is NULL inside an array and at the top level, here and in the
 * functions below.
 */
void json_document_open(struct json_document *document, const char *key, char bracket);
void json_document_close(struct json_document *document);
void json_document_add_i64(struct json_document *document, const char *key, int64_t value);
void json_document_add_real(struct json_document *document, const char *key, double value);
void json_document_add_bool(struct json_document *document, const char *key, bool value);
void json_document_add_string(struct json_document *document, const char *key, const char *value);

/* Returns a jansson string, or NULL when out of memory. */
json_t *json_text(const char *text);
/*
 * These two append a member and return the container. Both references are consumed. If either is NULL, or when out of
 * memory, both are released and NULL is returned, so that a chain of calls gives a complete document or NULL.
 */
json_t *json_array_add(json_t *array, json_t *value);
json_t *json_object_add(json_t *object, const char *key, json_t *value);

#endif
