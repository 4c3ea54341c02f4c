/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply and divide: known values, and the two implementations against each other and against the definition. */
#include "base/muldiv.h"
#include "tests/unit/test.h"

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
    {1, 1, UINT64_MAX, {0, 1}}, /* 2^64 / (2^64-1) is 1 and a little */
};

static void check(uint64_t a, uint64_t b, uint64_t divisor, struct fixed out)
{
    struct fixed one = muldiv(a, b, divisor), other = muldiv_portable(a, b, divisor);

    if (one.whole != out.whole || one.fraction != out.fraction)
        fail_msg("muldiv(%#lx, %#lx, %#lx)", (long)a, (long)b, (long)divisor);
    if (other.whole != out.whole || other.fraction != out.fraction)
        fail_msg("muldiv_portable(%#lx, %#lx, %#lx)", (long)a, (long)b, (long)divisor);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(cases[i].a, cases[i].b, cases[i].divisor, cases[i].out);
}

static const uint64_t edges[] = {
    0,
    1,
    2,
    3,
    10,
    UINT64_C(0x7fffffff),
    UINT64_C(0x80000000),
    UINT64_C(0xffffffff),
    UINT64_C(0x100000000),
    UINT64_C(0x100000001),
    UINT64_C(1000000000),
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(0x8000000000000000),
    UINT64_C(0x8000000000000001),
    UINT64_C(0xfffffffffffffffe),
    UINT64_C(0xffffffffffffffff),
};

static void test_edges(void **state)
{
    (void)state;
    const size_t n = sizeof(edges) / sizeof(edges[0]);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t l = 1; l < n; l++)
                check(edges[i], edges[k], edges[l], muldiv(edges[i], edges[k], edges[l]));
}

/* splitmix64, so that every run sees the same numbers; shifted, so that all magnitudes come. */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t next_number(uint64_t *seed)
{
    uint64_t value = next_random(seed);

    return value >> (next_random(seed) % 64);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = 1;

    for (unsigned i = 0; i < 300000; i++) {
        uint64_t a = next_number(&seed), b = next_number(&seed), divisor = next_number(&seed);
        if (divisor)
            check(a, b, divisor, muldiv(a, b, divisor));
    }
}

/* q * divisor + r == a * b with r below the divisor, where all fits in 64 bits. */
static void test_definition(void **state)
{
    (void)state;
    uint64_t seed = 2;

    for (unsigned i = 0; i < 100000; i++) {
        uint64_t a = next_random(&seed) >> 32, b = next_random(&seed) >> 32, divisor = (next_random(&seed) >> 33) + 1;
        struct fixed result = muldiv_portable(a, b, divisor);
        assert_true(result.whole == a * b / divisor);
        /* fraction = remainder * 2^64 / divisor, so it times the divisor is just below the remainder. */
        uint64_t remainder = a * b % divisor;
        assert_true(muldiv_portable(result.fraction, divisor, UINT64_MAX).whole <= remainder);
        assert_true((remainder == 0) == (result.fraction == 0));
        assert_true(result.fraction >> 32 == (remainder << 32) / divisor);
    }
}

static void test_add(void **state)
{
    (void)state;
    struct fixed sum = fixed_add((struct fixed){1, UINT64_MAX}, (struct fixed){2, 1});
    assert_true(sum.whole == 4 && sum.fraction == 0);
    sum = fixed_add((struct fixed){1, 5}, (struct fixed){2, 6});
    assert_true(sum.whole == 3 && sum.fraction == 11);
    sum = fixed_add((struct fixed){UINT64_MAX, 1}, (struct fixed){1, 2});
    assert_true(sum.whole == UINT64_MAX && sum.fraction == 0);
    sum = fixed_add((struct fixed){UINT64_MAX, UINT64_MAX}, (struct fixed){0, 1});
    assert_true(sum.whole == UINT64_MAX && sum.fraction == 0);
    sum = fixed_add((struct fixed){UINT64_MAX - 1, UINT64_MAX}, (struct fixed){0, 1});
    assert_true(sum.whole == UINT64_MAX && sum.fraction == 0);
}

/* A third, carried a thousand times, loses nothing that a count would show. */
static void test_carry(void **state)
{
    (void)state;
    struct fixed total = {0};

    for (unsigned i = 0; i < 3000; i++)
        total = fixed_add(total, muldiv(1, 1, 3));
    assert_true(total.whole == 999 && total.fraction > UINT64_MAX - 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),      cmocka_unit_test(test_edges), cmocka_unit_test(test_random),
        cmocka_unit_test(test_definition), cmocka_unit_test(test_add),   cmocka_unit_test(test_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
