/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of tests/e2e/profile.proto's messages; a message that makes no sense fails the test. */
#ifndef TESTS_UNIT_READ_PPROF_H
#define TESTS_UNIT_READ_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    unsigned number;    /* 0: there is no such field */
    uint64_t value;     /* of wire type 0 */
    struct bytes bytes; /* of wire type 2 */
};

/* Take the next number or field from the front; false at the end. */
uint64_t read_varint(struct bytes *bytes);
bool read_field(struct bytes *bytes, struct field *ret);

/* The n-th field of that number, and the number that is the first. */
struct field field_at(struct bytes message, unsigned number, size_t n);
uint64_t number_of(struct bytes message, unsigned number);

#endif
