/* SPDX-License-Identifier: Apache-2.0 */
/* Parses protobuf fields of the messages in tests/e2e/profile.proto. A malformed message fails the test. */
#ifndef TESTS_UNIT_READ_PPROF_H
#define TESTS_UNIT_READ_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    unsigned number;    /* number of the field; 0: there is no field */
    uint64_t value;     /* the value for wire type 0, the length for wire type 2 */
    struct bytes bytes; /* the content for wire type 2 */
};

/*
 * These functions remove what they parse from the front of `bytes`. read_field() returns false at the end of the
 * message.
 */
uint64_t read_varint(struct bytes *bytes);
bool read_field(struct bytes *bytes, struct field *ret);

/*
 * field_at() returns the n-th field with this number, counted from 0; number_of() returns the value of the first one.
 * Both functions return zero if there is no such field.
 */
struct field field_at(struct bytes message, unsigned number, size_t n);
uint64_t number_of(struct bytes message, unsigned number);

#endif
