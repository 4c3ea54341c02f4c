/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a * b / divisor without overflow, as 64 bits before the point and 64 behind it.
 *
 * muldiv.c uses the compiler's 128-bit integers; muldiv-portable.c works without them, for 32-bit machines. A unit test
 * compares the two.
 */
#ifndef BASE_MULDIV_H
#define BASE_MULDIV_H

#include <stdint.h>

/* A number in units of 2^-64; less than one unit is cut off. */
struct fixed {
    uint64_t whole, fraction;
};

/* `divisor` is not 0. A quotient of 2^64 or more saturates at whole = UINT64_MAX, fraction = 0. */
struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor);
/* The portable version, which all machines have, for the test that compares the two. */
struct fixed muldiv_portable(uint64_t a, uint64_t b, uint64_t divisor);

/* Adds, with the carry; saturates at whole = UINT64_MAX. */
static inline struct fixed fixed_add(struct fixed a, struct fixed b)
{
    struct fixed sum = {.fraction = a.fraction + b.fraction};

    if (__builtin_add_overflow(a.whole, b.whole, &sum.whole) ||
        __builtin_add_overflow(sum.whole, (uint64_t)(sum.fraction < a.fraction), &sum.whole))
        return (struct fixed){.whole = UINT64_MAX};
    return sum;
}

/* The nearest double. */
static inline double fixed_real(struct fixed fixed)
{
    return (double)fixed.whole + (double)fixed.fraction * 0x1p-64;
}

#endif
