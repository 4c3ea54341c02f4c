/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written by hand, field behind field into a buffer, for what is too frequent for a tree of objects. Numbers are
 * digits, texts are escaped and always UTF-8. Errors stick to the buffer.
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/buffer.h"

/* A piece of JSON whose length the compiler knows. */
#define json_write_raw(out, text) buffer_append((out), "" text, sizeof(text) - 1)

/* `,"name":`, in front of a value that is no object's first. */
#define json_write_key(out, name) json_write_raw((out), ",\"" name "\":")

void json_write_u64(struct buffer *out, uint64_t value);
void json_write_i64(struct buffer *out, int64_t value);
/* "0x1f": as a text, since readers of JSON take numbers for doubles, which have 53 bits. */
void json_write_hex(struct buffer *out, uint64_t value);
/* Nanoseconds as seconds, with all nine digits. */
void json_write_seconds(struct buffer *out, uint64_t ns);
void json_write_bool(struct buffer *out, bool value);
/* With its quotes; NULL is null. */
void json_write_string(struct buffer *out, const char *text);

#endif
