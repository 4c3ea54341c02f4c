/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text. Parsing is strict: the whole text is a number, or it is an error. Writing is exact.
 *
 * a * b / divisor without overflow, as 64 bits before the point and 64 behind it.
 *
 * muldiv.c uses the compiler's 128-bit integers; muldiv-portable.c works without them, for 32-bit machines. A unit test
 * compares the two.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

#include "base/util.h"

/* The most bytes that the number_write_...() functions write. */
#define NUMBER_SIZE_MAX 24

/* Decimal, or hexadecimal after 0x. -EINVAL for anything else (also signs and spaces), -ERANGE above 2^64-1. */
int number_parse_u64(const char *text, uint64_t *ret);
/* The same for the first `size` bytes of a text. */
int number_parse_u64_n(const char *text, size_t size, uint64_t *ret);
/* Hexadecimal digits without a prefix. */
int number_parse_hex_n(const char *text, size_t size, uint64_t *ret);
/* A finite decimal number of strtod() in the C locale, without spaces around it. -EINVAL, -ERANGE. */
int number_parse_double(const char *text, double *ret);
/* A number (fractions allowed) with its unit: ns, us, ms, s, m, h, d. Nanoseconds. -EINVAL, -ERANGE. */
int number_parse_duration(const char *text, uint64_t *ret_ns);
/*
 * Writes a whole number of the largest possible unit, which number_parse_duration() reads as `ns`. `text` has room for
 * NUMBER_SIZE_MAX + 3 bytes.
 */
void number_format_duration(uint64_t ns, char *text);

/* Writes the digits of `value`, without a NUL, and returns how many; `to` has room for NUMBER_SIZE_MAX bytes. */
size_t number_write_u64(char *to, uint64_t value);
/* 10 to the power of at most 19. For pow() alone, each process would have the library of mathematics. */
uint64_t number_power_of_ten(unsigned exponent);
/* Writes value / 10^decimals exactly, without trailing zeros in the fraction; `decimals` is at most 19. */
size_t number_write_fixed(char *to, uint64_t value, unsigned decimals);
/* Writes the fewest digits that read back as `value`; "NaN", "+Inf" and "-Inf" as Prometheus spells them. */
size_t number_write_real(char *to, double value);

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
