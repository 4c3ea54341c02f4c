/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* --- parsing --- */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

static int parse_digits(const char *text, size_t size, unsigned radix, uint64_t *ret)
{
    uint64_t value = 0;

    if (size == 0)
        return -EINVAL;
    for (size_t i = 0; i < size; i++)
        if ((unsigned)digit_value(text[i]) >= radix)
            return -EINVAL;
    for (size_t i = 0; i < size; i++)
        if (__builtin_mul_overflow(value, (uint64_t)radix, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(text[i]), &value))
            return -ERANGE;
    *ret = value;
    return 0;
}

int number_parse_u64_n(const char *text, size_t size, uint64_t *ret)
{
    if (size > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return parse_digits(text + 2, size - 2, 16, ret);
    return parse_digits(text, size, 10, ret);
}

int number_parse_u64(const char *text, uint64_t *ret)
{
    return number_parse_u64_n(text, strlen(text), ret);
}

int number_parse_hex_n(const char *text, size_t size, uint64_t *ret)
{
    return parse_digits(text, size, 16, ret);
}

int number_parse_double(const char *text, double *ret)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '.')
        return -EINVAL;
    if (strpbrk(text, "xXnN"))
        return -EINVAL;
    double value = strtod(text, &end);
    if (end == text || *end)
        return -EINVAL;
    if (!isfinite(value))
        return -ERANGE;
    *ret = value;
    return 0;
}

struct unit {
    const char *name; /* units are listed from the largest to the smallest; NULL ends the list */
    uint64_t factor;
};

static const struct unit times[] = {
    {"d", 86400 * NSEC_PER_SEC},
    {"h", 3600 * NSEC_PER_SEC},
    {"m", 60 * NSEC_PER_SEC},
    {"s", NSEC_PER_SEC},
    {"ms", NSEC_PER_MSEC},
    {"us", 1000},
    {"ns", 1},
    {NULL, 0},
};

static const struct unit sizes[] = {
    {"GiB", UINT64_C(1) << 30}, {"MiB", UINT64_C(1) << 20}, {"KiB", UINT64_C(1) << 10}, {"B", 1}, {NULL, 0},
};

/* 10^19 is the largest power of ten below 2^64. Any further digits are worth less than the smallest unit. */
#define FRACTION_DIGITS_MAX 19

/* Converts the digits after the decimal point to a part of `unit`, truncated to a multiple of the smallest unit. */
static int parse_fraction(const char *text, size_t size, uint64_t unit, uint64_t *ret)
{
    uint64_t digits, power = 1;

    if (strspn(text, "0123456789") < size)
        return -EINVAL;
    int r = parse_digits(text, MIN(size, (size_t)FRACTION_DIGITS_MAX), 10, &digits);
    if (r < 0)
        return r;
    for (size_t i = 0; i < MIN(size, (size_t)FRACTION_DIGITS_MAX); i++)
        power *= 10;
    *ret = muldiv(digits, unit, power).whole;
    return 0;
}

static int parse_quantity(const char *text, const struct unit *unit, uint64_t *ret)
{
    size_t digits = strspn(text, "0123456789."), whole = strcspn(text, ".");
    uint64_t value, fraction = 0;
    int r;

    for (; unit->name; unit++) {
        if (!str_equal(text + digits, unit->name))
            continue;
        r = parse_digits(text, MIN(whole, digits), 10, &value);
        if (r == 0 && whole < digits)
            r = parse_fraction(text + whole + 1, digits - whole - 1, unit->factor, &fraction);
        if (r < 0)
            return r;
        if (__builtin_mul_overflow(value, unit->factor, &value) || __builtin_add_overflow(value, fraction, &value))
            return -ERANGE;
        *ret = value;
        return 0;
    }
    return -EINVAL;
}

int number_parse_duration(const char *text, uint64_t *ret_ns)
{
    return parse_quantity(text, times, ret_ns);
}

int number_parse_seconds(const char *text, uint64_t *ret_ns)
{
    double seconds;

    int r = number_parse_duration(text, ret_ns);
    if (r != -EINVAL)
        return r;
    r = number_parse_double(text, &seconds);
    if (r < 0)
        return r;
    if (!(seconds >= 0))
        return -EINVAL;
    if (seconds >= (double)(UINT64_MAX / NSEC_PER_SEC))
        return -ERANGE;
    *ret_ns = (uint64_t)(seconds * (double)NSEC_PER_SEC + 0.5);
    return 0;
}

int number_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse_quantity(text, sizes, ret_bytes);
}

static void format_quantity(uint64_t value, const struct unit *unit, const char *zero, char *text)
{
    for (; value && unit->name; unit++)
        if (value % unit->factor == 0) {
            sprintf(text, "%" PRIu64 "%s", value / unit->factor, unit->name);
            return;
        }
    strcpy(text, zero);
}

void number_format_duration(uint64_t ns, char *text)
{
    format_quantity(ns, times, "0s", text);
}

void number_format_size(uint64_t bytes, char *text)
{
    format_quantity(bytes, sizes, "0B", text);
}

/* --- writing --- */

#define EIGHT_DIGITS UINT64_C(100000000)
#define SIXTEEN_DIGITS (EIGHT_DIGITS * EIGHT_DIGITS)
#define ASCII_ZEROS UINT64_C(0x3030303030303030)

/*
 * Splits a value below 10^8 into eight digits, one per byte, the most significant digit in the lowest byte. Each step
 * halves all pieces at once with one multiplication: x * 5243 >> 19 equals x / 100 for x up to 9999, and x * 103 >> 10
 * equals x / 10 for x up to 99.
 */
static inline uint64_t split_digits(uint64_t value)
{
    uint64_t fours = value / 10000 | value % 10000 << 32;
    uint64_t hundreds = fours * 5243 >> 19 & UINT64_C(0x0000007f0000007f);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f);

    return tens | (twos - 10 * tens) << 8;
}

static void store_digits(char *to, uint64_t digits)
{
    digits = htole64(digits | ASCII_ZEROS);
    memcpy(to, &digits, sizeof(digits));
}

/* Writes a value below 10^8 without leading zeros and returns the number of digits. Always stores eight bytes. */
static size_t write_head(char *to, uint64_t value)
{
    uint64_t digits = split_digits(value);
    /* The added bit makes the value 0 one digit long. */
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;

    store_digits(to, digits >> 8 * zeros);
    return 8 - zeros;
}

size_t number_write_u64(char *to, uint64_t value)
{
    size_t size;

    if (value < EIGHT_DIGITS)
        return write_head(to, value);
    if (value < SIXTEEN_DIGITS) {
        size = write_head(to, value / EIGHT_DIGITS);
    } else {
        size = write_head(to, value / SIXTEEN_DIGITS);
        store_digits(to + size, split_digits(value / EIGHT_DIGITS % EIGHT_DIGITS));
        size += 8;
    }
    store_digits(to + size, split_digits(value % EIGHT_DIGITS));
    return size + 8;
}

uint64_t number_power_of_ten(unsigned exponent)
{
    uint64_t power = 1;

    while (exponent--)
        power *= 10;
    return power;
}

/* Writes `fraction`, which is not 0, as `n` digits without the trailing zeros. */
static size_t write_fraction(char *to, uint64_t fraction, unsigned n)
{
    char rest[8];
    size_t size = 0;

    while (n > 8) {
        uint64_t unit = number_power_of_ten(n -= 8);
        store_digits(to + size, split_digits(fraction / unit));
        fraction %= unit;
        size += 8;
    }
    store_digits(rest, split_digits(fraction * number_power_of_ten(8 - n)));
    memcpy(to + size, rest, n);
    size += n;
    while (to[size - 1] == '0')
        size--;
    return size;
}

/* Handles the common case of nine decimals, which needs only divisions by constants. */
static size_t write_nanoseconds(char *to, uint64_t value)
{
    size_t size = number_write_u64(to, value / NSEC_PER_SEC);
    uint64_t fraction = value % NSEC_PER_SEC;

    if (fraction == 0)
        return size;
    to[size++] = '.';
    uint64_t digits = split_digits(fraction / 10), last = fraction % 10;
    store_digits(to + size, digits);
    to[size + 8] = (char)('0' + last);
    /* If `last` is 0, `digits` is not 0, because `fraction` is not 0; so the count of leading zeros is defined. */
    return size + (last ? 9 : 8 - (unsigned)__builtin_clzll(digits) / 8);
}

size_t number_write_fixed(char *to, uint64_t value, unsigned decimals)
{
    if (decimals == 9)
        return write_nanoseconds(to, value);
    uint64_t unit = number_power_of_ten(decimals);
    size_t size = number_write_u64(to, value / unit);
    if (value % unit == 0)
        return size;
    to[size++] = '.';
    return size + write_fraction(to + size, value % unit, decimals);
}

size_t number_write_real(char *to, double value)
{
    char text[NUMBER_SIZE_MAX + 8];

    if (isnan(value))
        strcpy(text, "NaN");
    else if (isinf(value))
        strcpy(text, value > 0 ? "+Inf" : "-Inf");
    else
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
    size_t size = strlen(text);
    memcpy(to, text, size);
    return size;
}

/* --- multiply and divide --- */

struct wide {
    uint64_t high, low;
};

static struct wide multiply(uint64_t a, uint64_t b)
{
    uint64_t a_high = a >> 32, a_low = (uint32_t)a, b_high = b >> 32, b_low = (uint32_t)b;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32), middle2 = a_low * b_high + (uint32_t)middle;

    return (struct wide){
        .high = a_high * b_high + (middle >> 32) + (middle2 >> 32),
        .low = (middle2 << 32) | (uint32_t)low,
    };
}

/*
 * Divides a 128-bit number by a 64-bit number, one bit at a time. dividend.high must be below the divisor, so that the
 * quotient fits.
 */
static uint64_t divide(struct wide dividend, uint64_t divisor, uint64_t *ret_remainder)
{
    uint64_t quotient = 0, remainder = dividend.high;

    for (int bit = 63; bit >= 0; bit--) {
        bool carry = remainder >> 63;
        remainder = (remainder << 1) | ((dividend.low >> bit) & 1);
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    *ret_remainder = remainder;
    return quotient;
}

struct fixed muldiv_portable(uint64_t a, uint64_t b, uint64_t divisor)
{
    struct wide product = multiply(a, b);
    struct fixed result;
    uint64_t remainder;

    if (product.high >= divisor)
        return (struct fixed){.whole = UINT64_MAX};
    result.whole = divide(product, divisor, &remainder);
    result.fraction = divide((struct wide){.high = remainder}, divisor, &remainder);
    return result;
}

#ifdef __SIZEOF_INT128__

typedef unsigned __int128 u128;

struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor)
{
    u128 product = (u128)a * b, quotient = product / divisor;

    if (quotient > UINT64_MAX)
        return (struct fixed){.whole = UINT64_MAX};
    uint64_t remainder = (uint64_t)(product % divisor);
    return (struct fixed){
        .whole = (uint64_t)quotient,
        .fraction = (uint64_t)(((u128)remainder << 64) / divisor),
    };
}

#else

struct fixed muldiv(uint64_t a, uint64_t b, uint64_t divisor)
{
    return muldiv_portable(a, b, divisor);
}

#endif
