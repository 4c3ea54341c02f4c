/* SPDX-License-Identifier: Apache-2.0 */
/* CPU sets: parsing and formatting the kernel's list format, its errors, and the set operations. */
#include "base/cleanup.h"
#include "perf/cpuset.h"
#include "tests/unit/test.h"

static void assert_set(const struct cpuset *set, const char *expected)
{
    _cleanup_(freep) char *text = cpuset_format(set);
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static struct cpuset parse(const char *text)
{
    struct cpuset set = {0};
    assert_int_equal(cpuset_parse(text, &set, NULL), 0);
    return set;
}

TEST(test_parse)
{
    static const struct {
        const char *in, *out;
        size_t out_count;
    } cases[] = {
        {"", "", 0},     {"0", "0", 1},         {"0-3,6", "0-3,6", 5}, {"1,2,3,3", "1-3", 3}, {"0-127", "0-127", 128},
        {"007", "7", 1}, {"16383", "16383", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(cpuset_done) struct cpuset set = parse(cases[i].in);
        assert_set(&set, cases[i].out);
        assert_int_equal(cpuset_count(&set), cases[i].out_count);
        int last = -1;
        CPUSET_FOREACH (cpu, &set)
            last = cpu;
        assert_int_equal(cpuset_end(&set), last + 1);
    }
}

TEST(test_parse_errors)
{
    static const struct {
        const char *in;
        int out;
        size_t out_offset;
    } cases[] = {
        {"x", -EINVAL, 0},     {"0,", -EINVAL, 2},    {"0,,1", -EINVAL, 2},
        {"0-", -EINVAL, 2},    {"-1", -EINVAL, 0},    {"0-3:1/2", -EINVAL, 3},
        {"1,3-2", -EINVAL, 2}, {"16384", -ERANGE, 0}, {"1,0-16384", -ERANGE, 4},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cpuset untouched = {.n_words = 77};
        struct error error = {0};
        assert_int_equal(cpuset_parse(cases[i].in, &untouched, &error), cases[i].out);
        assert_int_equal(error.offset, cases[i].out_offset);
        assert_true(error.message[0] != '\0');
        assert_int_equal(untouched.n_words, 77);
    }
}

TEST(test_operations)
{
    static const struct {
        const char *in_a, *in_b, *out_intersection, *out_difference;
        bool out_equal;
    } cases[] = {
        {"0-7", "4-9", "4-7", "0-3", false}, {"0-7", "", "", "0-7", false},  {"", "0-7", "", "", false},
        {"0,200", "0", "0", "200", false},   {"0", "0,200", "0", "", false}, {"3,70", "3,70", "3,70", "", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(cpuset_done) struct cpuset both = parse(cases[i].in_a), b = parse(cases[i].in_b);
        _cleanup_(cpuset_done) struct cpuset only = {0};
        assert_int_equal(cpuset_equal(&both, &b), cases[i].out_equal);
        assert_int_equal(cpuset_copy(&both, &only), 0);
        assert_true(cpuset_equal(&both, &only));
        cpuset_intersect(&both, &b);
        cpuset_subtract(&only, &b);
        assert_set(&both, cases[i].out_intersection);
        assert_set(&only, cases[i].out_difference);
    }
}

TEST(test_remove)
{
    _cleanup_(cpuset_done) struct cpuset set = parse("1,63-65"), left = parse("1,63,65");

    cpuset_remove(&set, 64);
    cpuset_remove(&set, 2);
    cpuset_remove(&set, 5000);
    assert_true(cpuset_equal(&set, &left));
}

TEST(test_members)
{
    _cleanup_(cpuset_done) struct cpuset set = {0};
    int expected[] = {0, 63, 64, 300}, n = 0;

    assert_int_equal(cpuset_next(&set, -1), -1);
    for (size_t i = ARRAY_SIZE(expected); i-- > 0;)
        assert_int_equal(cpuset_add(&set, (unsigned)expected[i]), 0);
    assert_int_equal(cpuset_add(&set, CPUSET_MAX), -ERANGE);
    CPUSET_FOREACH (cpu, &set) {
        assert_int_equal(cpu, expected[n++]);
    }
    assert_int_equal(n, ARRAY_SIZE(expected));
    assert_true(cpuset_has(&set, 64));
    assert_false(cpuset_has(&set, 65));
    assert_false(cpuset_has(&set, 100000));
}

TEST_MAIN(NULL, NULL)
