/* SPDX-License-Identifier: Apache-2.0 */
/* A hundred lines, then one a minute, and those left out are counted. */
#include "daemon/log/log.h"
#include "tests/unit/test.h"

static unsigned take(struct log_quota *quota, uint64_t now_ns, unsigned n, unsigned *ret_left_out)
{
    unsigned logged = 0;

    for (unsigned i = 0; i < n; i++)
        logged += log_quota_take(quota, now_ns, ret_left_out);
    return logged;
}

static void test_quota(void **state)
{
    struct log_quota quota = {.left_out = 0};
    uint64_t now_ns = 5 * NSEC_PER_SEC;
    unsigned left_out = 77;

    (void)state;
    assert_int_equal(take(&quota, now_ns, 100, &left_out), 100);
    assert_int_equal(left_out, 0);
    assert_int_equal(take(&quota, now_ns + 59 * NSEC_PER_SEC, 1000, &left_out), 0);
    assert_int_equal(take(&quota, now_ns + 60 * NSEC_PER_SEC, 10, &left_out), 1);
    assert_int_equal(left_out, 1000);
    assert_int_equal(take(&quota, now_ns + 180 * NSEC_PER_SEC, 10, &left_out), 2);
    assert_int_equal(left_out, 0);
    assert_int_equal(quota.left_out, 8);
    /* After a long silence it is as at first. */
    assert_int_equal(take(&quota, now_ns + 86400 * NSEC_PER_SEC, 500, &left_out), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quota)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
