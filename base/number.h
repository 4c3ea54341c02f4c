/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts numbers to and from text, and multiplies and divides 64-bit numbers without overflow.
 *
 * Parsing is strict: it fails unless the whole string is a number. Numbers are written without loss of precision.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

#include "base/util.h"

/* No number_write_*() function touches more bytes than this. */
#define NUMBER_SIZE_MAX 24

/*
 * Parses a decimal number, or a hexadecimal one after "0x". Returns -EINVAL for anything else (including signs and
 * spaces), and -ERANGE above 2^64-1.
 */
int number_parse_u64(const char *text, uint64_t *ret);
/* Like number_parse_u64(), but parses the first `size` bytes of `text`. */
int number_parse_u64_n(const char *text, size_t size, uint64_t *ret);
/* Parses hexadecimal digits without a prefix. */
int number_parse_hex_n(const char *text, size_t size, uint64_t *ret);
/*
 * Parses a decimal number as strtod(3) does in the C locale, but without surrounding spaces. Returns -EINVAL, or
 * -ERANGE if it overflows a double.
 */
int number_parse_double(const char *text, double *ret);
/*
 * Parses a number, possibly with a fraction, and its unit: ns, us, ms, s, m, h or d. Truncates to nanoseconds. Returns
 * -EINVAL, or -ERANGE if the result exceeds 64 bits.
 */
int number_parse_duration(const char *text, uint64_t *ret_ns);
/*
 * Parses a duration in a flag or a request: a number with a unit, or a decimal number of seconds, rounded to
 * nanoseconds.
 */
int number_parse_seconds(const char *text, uint64_t *ret_ns);
/*
 * Writes the duration as a whole number of the largest unit that divides it; number_parse_duration() reads it back as
 * `ns`. `text` has room for NUMBER_SIZE_MAX + 3 bytes.
 */
void number_format_duration(uint64_t ns, char *text);
/* Parse and write a number of bytes, with the unit B, KiB, MiB or GiB. */
int number_parse_size(const char *text, uint64_t *ret_bytes);
void number_format_size(uint64_t bytes, char *text);

/* number_write_*() write no NUL and return the number of bytes. `to` has room for NUMBER_SIZE_MAX bytes. */
size_t number_write_u64(char *to, uint64_t value);
/* Returns 10^exponent for an exponent of at most 19. With pow(3), every process would have to load libm. */
uint64_t number_power_of_ten(unsigned exponent);
/* Writes value / 10^decimals exactly, without trailing zeros in the fraction. `decimals` is at most 19. */
size_t number_write_fixed(char *to, uint64_t value, unsigned decimals);
/*
 * Writes 15 to 17 significant digits, the fewest that parse back to `value`, or "NaN", "+Inf", "-Inf" for Prometheus.
 */
size_t number_write_real(char *to, double value);

/* A fixed-point number with 64 fractional bits, rounded down. */
struct fixed {
    uint64_t whole, fraction;
};

/* Computes a * b / divisor. `divisor` is not 0. A quotient of 2^64 or more saturates: whole UINT64_MAX, fraction 0. */
struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor);
/*
 * muldiv() without 128-bit integers, which 32-bit compilers lack. It is public for the test that compares it with
 * muldiv().
 */
struct fixed muldiv_portable(uint64_t a, uint64_t b, uint64_t divisor);

/* Adds two numbers. An overflow saturates: whole UINT64_MAX, fraction 0. */
static inline struct fixed fixed_add(struct fixed a, struct fixed b)
{
    struct fixed sum = {.fraction = a.fraction + b.fraction};

    if (__builtin_add_overflow(a.whole, b.whole, &sum.whole) ||
        __builtin_add_overflow(sum.whole, (uint64_t)(sum.fraction < a.fraction), &sum.whole))
        return (struct fixed){.whole = UINT64_MAX};
    return sum;
}

/* Converts to double. */
static inline double fixed_real(struct fixed fixed)
{
    return (double)fixed.whole + (double)fixed.fraction * 0x1p-64;
}

#endif
