/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: what is taken, what is refused, and that what is written is exact. */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "tests/unit/test.h"

static void test_parse_u64(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        int out;
        uint64_t out_value;
    } cases[] = {
        {"0", 0, 0},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"0x0", 0, 0},
        {"0xfF", 0, 255},
        {"0Xffffffffffffffff", 0, UINT64_MAX},
        {"0x10000000000000000", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"0x", -EINVAL, 0},
        {"x1", -EINVAL, 0},
        {"0xg", -EINVAL, 0},
        {"1a", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"99999999999999999999999x", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t value = 42;
        assert_int_equal(number_parse_u64(cases[i].in, &value), cases[i].out);
        assert_true(value == (cases[i].out == 0 ? cases[i].out_value : 42));
    }
}

static void test_parse_part(void **state)
{
    (void)state;
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

static void test_parse_double(void **state)
{
    (void)state;
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
    {"2us", 0, 2000},
    {"100ms", 0, 100000000},
    {"1s", 0, NSEC_PER_SEC},
    {"1.5s", 0, 1500000000},
    {"0.000000001s", 0, 1},
    {"0.0000000019s", 0, 1}, /* cut */
    {"1.5m", 0, 90 * NSEC_PER_SEC},
    {"2h", 0, 7200 * NSEC_PER_SEC},
    {"1d", 0, 86400 * NSEC_PER_SEC},
    {"0.0000000000019d", 0, 164}, /* 164.16 ns: not cut digit by digit */
    {"0.99999999999999999999999999s", 0, 999999999},
    {"213503d", 0, UINT64_C(213503) * 86400 * NSEC_PER_SEC},
    {"213504d", -ERANGE, 0},
    {"18446744073709551615ns", 0, UINT64_MAX},
    {"18446744073709551616ns", -ERANGE, 0},
    {"18446744073.709551616s", -ERANGE, 0},
    {"", -EINVAL, 0},
    {"1", -EINVAL, 0},
    {"s", -EINVAL, 0},
    {".5s", -EINVAL, 0},
    {"5.s", -EINVAL, 0},
    {"1.2.3s", -EINVAL, 0},
    {"1..2s", -EINVAL, 0},
    {"-1s", -EINVAL, 0},
    {"1 s", -EINVAL, 0},
    {"1S", -EINVAL, 0},
    {"1s ", -EINVAL, 0},
    {"1m30s", -EINVAL, 0},
    {"0x1s", -EINVAL, 0},
    {"1e3s", -EINVAL, 0},
};

static void test_parse_duration(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        uint64_t ns = 42;
        int r = number_parse_duration(durations[i].in, &ns);
        if (r != durations[i].out || ns != (r == 0 ? durations[i].out_ns : 42))
            fail_msg("\"%s\": %d, %" PRIu64, durations[i].in, r, ns);
    }
}

static void test_format_duration(void **state)
{
    (void)state;
    static const struct {
        uint64_t in_ns;
        const char *out;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {1000, "1us"},
        {100000000, "100ms"},
        {1500000000, "1500ms"},
        {60 * NSEC_PER_SEC, "1m"},
        {90 * NSEC_PER_SEC, "90s"},
        {86400 * NSEC_PER_SEC, "1d"},
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

/* Around every power of two and of ten. */
static void test_write_u64(void **state)
{
    (void)state;
    for (uint64_t power = 1; power; power *= 2)
        for (uint64_t value = power - 2; value != power + 2; value++)
            check_u64(value);
    for (uint64_t power = 1; power < UINT64_C(10000000000000000000); power *= 10)
        for (uint64_t value = power - 2; value != power + 2; value++)
            check_u64(value);
    check_u64(UINT64_C(10000000000000000000));
    check_u64(UINT64_MAX);
}

/* All that one piece of digits can be. */
static void test_write_pieces(void **state)
{
    (void)state;
    for (uint64_t value = 0; value < 100000; value++) {
        check_u64(value);
        check_u64(value * 997);
        check_u64(value * UINT64_C(1000000007));
        check_u64(value * UINT64_C(184467440737095));
    }
}

/* Written behind the point, the digits are those of sprintf(), up to the zeros at the end. */
static void check_fixed(uint64_t value, unsigned decimals, uint64_t unit)
{
    char expected[64], text[NUMBER_SIZE_MAX + 1];

    int n = sprintf(expected, "%" PRIu64 ".%0*" PRIu64, value / unit, (int)decimals, value % unit);
    while (expected[n - 1] == '0')
        n--;
    expected[expected[n - 1] == '.' ? n - 1 : n] = '\0';
    text[number_write_fixed(text, value, decimals)] = '\0';
    assert_string_equal(text, expected);
}

static void test_write_decimals(void **state)
{
    uint64_t unit = 1;

    (void)state;
    for (unsigned decimals = 1; decimals <= 19; decimals++) {
        unit *= 10;
        check_fixed(UINT64_MAX, decimals, unit);
        for (uint64_t value = 1; value < UINT64_MAX / 10; value *= 7) {
            check_fixed(value, decimals, unit);
            check_fixed(value / 1000 * 1000, decimals, unit);
            check_fixed(value / 1000000 * 1000000, decimals, unit);
            check_fixed(value - value % unit, decimals, unit);
        }
    }
}

static void test_write_fixed(void **state)
{
    (void)state;
    static const struct {
        uint64_t in;
        unsigned in_decimals;
        const char *out;
    } cases[] = {
        {0, 0, "0"},
        {0, 9, "0"},
        {5, 1, "0.5"},
        {10, 1, "1"},
        {1, 9, "0.000000001"},
        {1500000000, 9, "1.5"},
        {1000000000, 9, "1"},
        {1000000010, 9, "1.00000001"},
        {UINT64_MAX, 0, "18446744073709551615"},
        {UINT64_MAX, 1, "1844674407370955161.5"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_u64),       cmocka_unit_test(test_parse_part),
        cmocka_unit_test(test_parse_double),    cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_format_duration), cmocka_unit_test(test_write_u64),
        cmocka_unit_test(test_write_fixed),     cmocka_unit_test(test_write_pieces),
        cmocka_unit_test(test_write_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
