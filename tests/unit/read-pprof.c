/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/read-pprof.h"

#include "tests/unit/test.h"

uint64_t read_varint(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(shift < 64);
        assert_true(bytes->at < bytes->end);
        value |= (uint64_t)(*bytes->at & 0x7f) << shift;
        if (*bytes->at++ < 0x80)
            return value;
    }
}

bool read_field(struct bytes *bytes, struct field *ret)
{
    *ret = (struct field){0};
    if (bytes->at == bytes->end)
        return false;
    uint64_t tag = read_varint(bytes);
    *ret = (struct field){.number = (unsigned)(tag >> 3), .value = read_varint(bytes)};
    assert_true((tag & 7) == 0 || (tag & 7) == 2);
    if ((tag & 7) == 2) {
        assert_true(ret->value <= (uint64_t)(bytes->end - bytes->at));
        ret->bytes = (struct bytes){bytes->at, bytes->at + ret->value};
        bytes->at += ret->value;
    }
    return true;
}

struct field field_at(struct bytes message, unsigned number, size_t n)
{
    struct field field;

    while (read_field(&message, &field) && (field.number != number || n-- > 0))
        continue;
    return field;
}

uint64_t number_of(struct bytes message, unsigned number)
{
    return field_at(message, number, 0).value;
}
