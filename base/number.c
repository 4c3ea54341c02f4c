/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, strictly: see number.h. */
#include "base/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/muldiv.h"

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

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"d", 86400 * NSEC_PER_SEC},
    {"h", 3600 * NSEC_PER_SEC},
    {"m", 60 * NSEC_PER_SEC},
    {"s", NSEC_PER_SEC},
    {"ms", NSEC_PER_MSEC},
    {"us", 1000},
    {"ns", 1},
};

/* The most digits whose power of ten is below 2^64; behind them nothing reaches a nanosecond. */
#define FRACTION_DIGITS_MAX 19

/* The digits after the point, as a part of `unit`; what is finer than a nanosecond is cut. */
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

int number_parse_duration(const char *text, uint64_t *ret_ns)
{
    size_t digits = strspn(text, "0123456789."), whole = strcspn(text, ".");
    uint64_t value, fraction = 0;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (!str_equal(text + digits, units[i].name))
            continue;
        r = parse_digits(text, MIN(whole, digits), 10, &value);
        if (r == 0 && whole < digits)
            r = parse_fraction(text + whole + 1, digits - whole - 1, units[i].ns, &fraction);
        if (r < 0)
            return r;
        if (__builtin_mul_overflow(value, units[i].ns, &value) || __builtin_add_overflow(value, fraction, &value))
            return -ERANGE;
        *ret_ns = value;
        return 0;
    }
    return -EINVAL;
}

void number_format_duration(uint64_t ns, char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (ns && ns % units[i].ns == 0) {
            sprintf(text, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
            return;
        }
    strcpy(text, "0s");
}

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

static unsigned count_digits(uint64_t value)
{
    static const uint64_t powers[] = {
        UINT64_C(0),
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    /* 1233/4096 is a little over log10(2), so this is right or one too many. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned digits = (bits * 1233) >> 12;
    return digits + (value >= powers[digits]);
}

static void write_digits(char *to, uint64_t value, unsigned digits)
{
    while (digits >= 2) {
        digits -= 2;
        memcpy(to + digits, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (digits)
        to[0] = (char)('0' + value % 10);
}

size_t number_write_u64(char *to, uint64_t value)
{
    unsigned digits = count_digits(value);

    write_digits(to, value, digits);
    return digits;
}

size_t number_write_fixed(char *to, uint64_t value, unsigned decimals)
{
    uint64_t unit = 1;

    for (unsigned i = 0; i < decimals; i++)
        unit *= 10;
    size_t size = number_write_u64(to, value / unit);
    uint64_t fraction = value % unit;
    if (fraction == 0)
        return size;
    to[size++] = '.';
    write_digits(to + size, fraction, decimals);
    size += decimals;
    while (to[size - 1] == '0')
        size--;
    return size;
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
