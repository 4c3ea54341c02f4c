/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzzer's bytes as choices, one after another. At the end there are only zeros. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <string.h>

#include "base/util.h"

struct input {
    const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *input)
{
    return (size_t)(input->end - input->at);
}

static inline void input_copy(struct input *input, void *ret, size_t size)
{
    size_t n = MIN(size, input_left(input));

    memset(ret, 0, size);
    if (n > 0)
        memcpy(ret, input->at, n);
    input->at += n;
}

static inline uint8_t input_byte(struct input *input)
{
    uint8_t byte;

    input_copy(input, &byte, sizeof(byte));
    return byte;
}

static inline uint16_t input_half(struct input *input)
{
    uint16_t half;

    input_copy(input, &half, sizeof(half));
    return half;
}

static inline uint64_t input_word(struct input *input)
{
    uint64_t word;

    input_copy(input, &word, sizeof(word));
    return word;
}

#endif
