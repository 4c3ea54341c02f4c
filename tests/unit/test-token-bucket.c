/* SPDX-License-Identifier: Apache-2.0 */
/* The rate limit as a table of moments. */
#include <stdio.h>

#include "base/token-bucket.h"
#include "tests/unit/test.h"

#define NEVER UINT64_MAX

static const struct {
    const char *name;
    uint64_t in_interval, in_burst;
    struct {
        uint64_t at;
        bool out;
        uint64_t out_wait;
    } steps[8];
    size_t n;
} cases[] = {
    {"no limit", 0, 0, {{100, true, 0}, {100, true, 0}, {100, true, 0}}, 3},
    {"a burst, then one each interval",
     10,
     2,
     {{100, true, 0},
      {100, true, 0},
      {100, false, 10},
      {104, false, 6},
      {110, true, 0},
      {111, false, 9},
      {120, true, 0}},
     7},
    {"no more than the burst is saved", 10, 2, {{1000, true, 0}, {1000, true, 0}, {1000, false, 10}}, 3},
    {"parts of intervals add up", 10, 1, {{100, true, 0}, {105, false, 5}, {109, false, 1}, {110, true, 0}}, 4},
    {"no burst: nothing is let through", 10, 0, {{100, false, NEVER}, {1000, false, NEVER}}, 2},
    {"a clock that stands or goes back", 10, 1, {{100, true, 0}, {90, false, 10}, {100, false, 10}, {110, true, 0}}, 4},
    {"a burst beyond all numbers", NSEC_PER_SEC, UINT64_MAX, {{100, true, 0}, {NEVER, true, 0}}, 2},
    {"an interval beyond all numbers", UINT64_MAX, 1, {{100, true, 0}, {200, false, UINT64_MAX - 100}}, 2},
};

static void test_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct token_bucket bucket = {0};
        print_message("%s\n", cases[i].name);
        token_bucket_configure(&bucket, cases[i].in_interval, cases[i].in_burst, 50);
        for (size_t k = 0; k < cases[i].n; k++) {
            uint64_t wait = 0;
            assert_int_equal(token_bucket_take(&bucket, cases[i].steps[k].at, &wait), cases[i].steps[k].out);
            assert_int_equal(wait, cases[i].steps[k].out_wait);
        }
    }
}

static void test_reconfigured(void **state)
{
    struct token_bucket bucket = {0};
    uint64_t wait;

    (void)state;
    token_bucket_configure(&bucket, 10, 1, 0);
    assert_true(token_bucket_take(&bucket, 0, &wait));
    token_bucket_configure(&bucket, 10, 1, 1);
    assert_false(token_bucket_take(&bucket, 1, &wait));
    token_bucket_configure(&bucket, 10, 2, 2);
    assert_true(token_bucket_take(&bucket, 2, &wait));
    assert_true(token_bucket_take(&bucket, 2, &wait));
    assert_false(token_bucket_take(&bucket, 2, &wait));
    token_bucket_configure(&bucket, 0, 0, 3);
    assert_true(token_bucket_take(&bucket, 3, &wait));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_reconfigured)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
