/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, and muldiv(), which multiplies and divides without overflow or intermediate rounding. */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "tests/unit/test.h"

TEST(test_parse_u64)
{
    static const struct {
        const char *in;
        int out;
        uint64_t out_value;
    } cases[] = {
        {"0", 0, 0},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"0xfF", 0, 255},
        {"0x10000000000000000", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"0x", -EINVAL, 0},
        {"0xg", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"-1", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t value = 42;
        assert_int_equal(number_parse_u64(cases[i].in, &value), cases[i].out);
        assert_true(value == (cases[i].out == 0 ? cases[i].out_value : 42));
    }
}

TEST(test_parse_part)
{
    uint64_t value;

    assert_int_equal(number_parse_u64_n("12345", 3, &value), 0);
    assert_int_equal(value, 123);
    assert_int_equal(number_parse_u64_n("0x12", 3, &value), 0);
    assert_int_equal(value, 1);
    assert_int_equal(number_parse_u64_n("1", 0, &value), -EINVAL);
    assert_int_equal(number_parse_hex_n("1fz", 2, &value), 0);
    assert_int_equal(value, 0x1f);
    assert_int_equal(number_parse_hex_n("0x1", 3, &value), -EINVAL);
    assert_int_equal(number_parse_hex_n("11112222333344445", 17, &value), -ERANGE);
}

TEST(test_parse_double)
{
    static const struct {
        const char *in;
        int out;
        double out_value;
    } cases[] = {
        {"1", 0, 1},           {"-2.5", 0, -2.5},
        {".5", 0, 0.5},        {"2.3283064365386962890625e-10", 0, 2.3283064365386962890625e-10},
        {"1e400", -ERANGE, 0}, {"", -EINVAL, 0},
        {".", -EINVAL, 0},     {"-", -EINVAL, 0},
        {" 1", -EINVAL, 0},    {"1 ", -EINVAL, 0},
        {"+1", -EINVAL, 0},    {"inf", -EINVAL, 0},
        {"-inf", -EINVAL, 0},  {"nan", -EINVAL, 0},
        {"-nan", -EINVAL, 0},  {"0x10", -EINVAL, 0},
        {"1,5", -EINVAL, 0},   {"1.5.2", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double value = 42;
        assert_int_equal(number_parse_double(cases[i].in, &value), cases[i].out);
        assert_true(value == (cases[i].out == 0 ? cases[i].out_value : 42));
    }
}

static const struct {
    const char *in;
    int out;
    uint64_t out_ns;
} durations[] = {
    {"0s", 0, 0},
    {"1ns", 0, 1},
    {"100ms", 0, 100000000},
    {"1.5s", 0, 1500000000},
    {"0.000000001s", 0, 1},
    {"0.0000000019s", 0, 1}, /* rounded down */
    {"1d", 0, 86400 * NSEC_PER_SEC},
    {"0.0000000000019d", 0, 164}, /* 164.16 ns: rounded down once, not at each digit */
    {"213504d", -ERANGE, 0},
    {"18446744073709551615ns", 0, UINT64_MAX},
    {"", -EINVAL, 0},
    {"1", -EINVAL, 0},
    {"5.s", -EINVAL, 0},
    {"1.2.3s", -EINVAL, 0},
    {"1 s", -EINVAL, 0},
    {"1s ", -EINVAL, 0},
    {"1m30s", -EINVAL, 0},
    {"1e3s", -EINVAL, 0},
};

TEST(test_parse_duration)
{
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        uint64_t ns = 42;
        int r = number_parse_duration(durations[i].in, &ns);
        if (r != durations[i].out || ns != (r == 0 ? durations[i].out_ns : 42))
            fail_msg("\"%s\": %d, %" PRIu64, durations[i].in, r, ns);
    }
}

TEST(test_parse_seconds)
{
    static const struct {
        const char *in;
        int out;
        uint64_t out_ns;
    } cases[] = {
        {"5m", 0, 300 * NSEC_PER_SEC},
        {"0.5s", 0, NSEC_PER_SEC / 2},
        {"1", 0, NSEC_PER_SEC},
        {"0", 0, 0},
        {".5", 0, NSEC_PER_SEC / 2},
        {"0.29", 0, 290000000},
        {"1e1", 0, 10 * NSEC_PER_SEC},
        {"18446744074", -ERANGE, 0},
        {"1e300", -ERANGE, 0},
        {"213504d", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"5min", -EINVAL, 0},
        {"nan", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t ns = 42;
        int r = number_parse_seconds(cases[i].in, &ns);
        if (r != cases[i].out || ns != (r == 0 ? cases[i].out_ns : 42))
            fail_msg("\"%s\": %d, %" PRIu64, cases[i].in, r, ns);
    }
}

TEST(test_size)
{
    static const struct {
        const char *in;
        int out;
        uint64_t out_bytes;
        const char *out_text; /* the size as number_format_size() writes it; NULL: equal to `in` */
    } cases[] = {
        {"2MiB", 0, 2 << 20, NULL},
        {"1.5KiB", 0, 1536, "1536B"},
        {"64KiB", 0, 64 << 10, NULL},
        {"1GiB", 0, 1 << 30, NULL},
        {"1024B", 0, 1024, "1KiB"},
        {"0B", 0, 0, NULL},
        {"17179869184GiB", -ERANGE, 0, NULL},
        {"2MB", -EINVAL, 0, NULL},
        {"2", -EINVAL, 0, NULL},
        {"MiB", -EINVAL, 0, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[NUMBER_SIZE_MAX + 3];
        uint64_t bytes = 42;
        int r = number_parse_size(cases[i].in, &bytes);
        if (r != cases[i].out || bytes != (r == 0 ? cases[i].out_bytes : 42))
            fail_msg("\"%s\": %d, %" PRIu64, cases[i].in, r, bytes);
        if (r < 0)
            continue;
        number_format_size(bytes, text);
        assert_string_equal(text, cases[i].out_text ? cases[i].out_text : cases[i].in);
    }
}

TEST(test_format_duration)
{
    static const struct {
        uint64_t in_ns;
        const char *out;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {100000000, "100ms"},
        {1500000000, "1500ms"},
        {60 * NSEC_PER_SEC, "1m"},
        {90 * NSEC_PER_SEC, "90s"},
        {UINT64_MAX, "18446744073709551615ns"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[NUMBER_SIZE_MAX + 3];
        uint64_t ns;
        number_format_duration(cases[i].in_ns, text);
        assert_string_equal(text, cases[i].out);
        assert_int_equal(number_parse_duration(text, &ns), 0);
        assert_true(ns == cases[i].in_ns);
    }
}

static void check_u64(uint64_t value)
{
    char expected[32], text[NUMBER_SIZE_MAX + 1] = "";

    snprintf(expected, sizeof(expected), "%" PRIu64, value);
    text[number_write_u64(text, value)] = '\0';
    assert_string_equal(text, expected);
}

/* Values around every power of ten are written correctly. */
TEST(test_write_u64)
{
    for (uint64_t power = 1; power < UINT64_C(10000000000000000000); power *= 10)
        for (uint64_t value = power - 2; value != power + 2; value++)
            check_u64(value);
    check_u64(UINT64_C(10000000000000000000));
    check_u64(UINT64_MAX);
}

TEST(test_write_fixed)
{
    static const struct {
        uint64_t in;
        unsigned in_decimals;
        const char *out;
    } cases[] = {
        {0, 0, "0"},
        {5, 1, "0.5"},
        {1, 9, "0.000000001"},
        {1500000000, 9, "1.5"},
        {1000000010, 9, "1.00000001"},
        {UINT64_MAX, 0, "18446744073709551615"},
        {UINT64_MAX, 9, "18446744073.709551615"},
        {UINT64_MAX, 19, "1.8446744073709551615"},
        {1, 19, "0.0000000000000000001"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[NUMBER_SIZE_MAX + 1];
        size_t size = number_write_fixed(text, cases[i].in, cases[i].in_decimals);
        assert_true(size <= NUMBER_SIZE_MAX);
        text[size] = '\0';
        assert_string_equal(text, cases[i].out);
    }
}

/* muldiv() and muldiv_portable() return known results, and agree around powers of two. */

static const struct {
    uint64_t a, b, divisor;
    struct fixed out;
} cases[] = {
    {0, 5, 7, {0, 0}},
    {6, 7, 42, {1, 0}},
    {1, 1, 2, {0, UINT64_C(1) << 63}},
    {1, 3, 4, {0, UINT64_C(3) << 62}},
    {1, 1, 3, {0, UINT64_C(0x5555555555555555)}},
    {2, 1, 3, {0, UINT64_C(0xaaaaaaaaaaaaaaaa)}},
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, {UINT64_MAX, 0}},
    {UINT64_MAX, 1, 1, {UINT64_MAX, 0}},
    {UINT64_MAX, 2, 1, {UINT64_MAX, 0}},          /* saturates */
    {UINT64_MAX, UINT64_MAX, 1, {UINT64_MAX, 0}}, /* saturates */
    {UINT64_C(1) << 63, 2, 1, {UINT64_MAX, 0}},   /* 2^64 exactly saturates */
    {UINT64_C(1) << 63, 2, 2, {UINT64_C(1) << 63, 0}},
    {UINT64_C(864000000000000), UINT64_C(86400000000000), UINT64_C(43200000000000), {UINT64_C(1728000000000000), 0}},
    {1, 1, UINT64_MAX, {0, 1}}, /* 2^64 / (2^64 - 1) is slightly above 1 */
};

static void check(uint64_t a, uint64_t b, uint64_t divisor, struct fixed out)
{
    struct fixed one = muldiv(a, b, divisor), other = muldiv_portable(a, b, divisor);

    if (one.whole != out.whole || one.fraction != out.fraction)
        fail_msg("muldiv(%#lx, %#lx, %#lx)", (long)a, (long)b, (long)divisor);
    if (other.whole != out.whole || other.fraction != out.fraction)
        fail_msg("muldiv_portable(%#lx, %#lx, %#lx)", (long)a, (long)b, (long)divisor);
}

TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check(cases[i].a, cases[i].b, cases[i].divisor, cases[i].out);
}

/* Returns one of 15 values around 0, 2, 2^31, 2^32 and 2^63. */
static uint64_t edge(unsigned i)
{
    static const unsigned bits[] = {63, 0, 30, 31, 62};

    return (UINT64_C(2) << bits[i / 3]) + i % 3 - 1;
}

TEST(test_edges)
{
    const unsigned n = 15;

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++)
            for (unsigned l = 0; l < n; l++)
                if (edge(l) > 0)
                    check(edge(i), edge(k), edge(l), muldiv(edge(i), edge(k), edge(l)));
}

TEST(test_add)
{
    static const struct {
        struct fixed a, b, out;
    } sums[] = {
        {{1, UINT64_MAX}, {2, 1}, {4, 0}},
        {{1, 5}, {2, 6}, {3, 11}},
        {{UINT64_MAX, 1}, {1, 2}, {UINT64_MAX, 0}},
        {{UINT64_MAX, UINT64_MAX}, {0, 1}, {UINT64_MAX, 0}},
        {{UINT64_MAX - 1, UINT64_MAX}, {0, 1}, {UINT64_MAX, 0}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
        struct fixed sum = fixed_add(sums[i].a, sums[i].b);
        assert_true(sum.whole == sums[i].out.whole && sum.fraction == sums[i].out.fraction);
    }
}

TEST_MAIN(NULL, NULL)
