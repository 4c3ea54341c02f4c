/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of a PMU's terms: their grammar, and values put into bits. */
#include "perf/pmu-format.h"
#include "tests/unit/test.h"

static void test_parse(void **state)
{
    static const struct {
        const char *in;
        unsigned out_word;
        uint64_t out_bits;
    } cases[] = {
        {"config:0-7", 0, 0xff},        {"config:63", 0, UINT64_C(1) << 63},
        {"config:0-63", 0, UINT64_MAX}, {"config1:0-7,32-35", 1, 0xf000000ff},
        {"config2:1,3,5", 2, 0x2a},     {"config3:32-35,0-7", 3, 0xf000000ff},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format format;
        assert_int_equal(pmu_format_parse(cases[i].in, &format, NULL), 0);
        assert_int_equal(format.word, cases[i].out_word);
        assert_true(format.bits == cases[i].out_bits);
        assert_null(format.name);
    }
}

static void test_parse_errors(void **state)
{
    static const struct {
        const char *in;
        size_t out_offset;
    } cases[] = {
        {"", 0},           {"config", 0},        {"config4:0", 0},
        {"konfig:0", 0},   {"config:", 7},       {"config:0-", 9},
        {"config:7-0", 7}, {"config:64", 7},     {"config:0-64", 9},
        {"config:0,", 9},  {"config:0,,1", 9},   {"config:0 ,1", 8},
        {"config:x", 7},   {"config:0-7\n", 10}, {"config:99999999999999999999", 7},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format untouched = {.word = 77};
        struct error error = {0};
        assert_int_equal(pmu_format_parse(cases[i].in, &untouched, &error), -EINVAL);
        assert_int_equal(error.offset, cases[i].out_offset);
        assert_int_equal(untouched.word, 77);
    }
}

static void test_deposit(void **state)
{
    static const struct {
        uint64_t in_bits, in_value, in_word;
        int out;
        uint64_t out_word;
    } cases[] = {
        {0xff, 0x3c, 0, 0, 0x3c},
        {0xff00, 0x3c, 0x11, 0, 0x3c11},
        {0xff00, 0x01, 0xffff, 0, 0x01ff}, /* replaces what was there */
        {0xf000000ff, 0xabc, 0, 0, 0xa000000bc},
        {0x2a, 0x5, 0, 0, 0x22},
        {UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX},
        {UINT64_C(1) << 63, 1, 0, 0, UINT64_C(1) << 63},
        {0xff, 0x100, 7, -ERANGE, 7},
        {0xf000000ff, 0x1000, 7, -ERANGE, 7},
        {1, 2, 0, -ERANGE, 0},
        {1, UINT64_MAX, 0, -ERANGE, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format format = {.bits = cases[i].in_bits};
        uint64_t word = cases[i].in_word;
        assert_int_equal(pmu_format_deposit(&format, cases[i].in_value, &word), cases[i].out);
        assert_true(word == cases[i].out_word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_errors),
        cmocka_unit_test(test_deposit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
