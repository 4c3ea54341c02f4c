/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/), field by field into a buffer, whose
 * errors stick. Single fields that are 0 are left out, as proto3 has it.
 */
#ifndef FORMATS_PROTOBUF_H
#define FORMATS_PROTOBUF_H

#include "base/buffer.h"

/* uint64, bool, and int64 as its two's complement. */
void protobuf_write_u64(struct buffer *out, unsigned field, uint64_t value);
/* An element of a repeated string, even if it is "". */
void protobuf_write_text(struct buffer *out, unsigned field, const char *text);
/* All elements of a repeated number; none if `n` is 0. */
void protobuf_write_packed(struct buffer *out, unsigned field, const uint64_t *values, size_t n);

/* Begins a message inside a message. Returns the start of its fields, for protobuf_end_message(). */
size_t protobuf_begin_message(struct buffer *out, unsigned field);
void protobuf_end_message(struct buffer *out, size_t start);

#endif
