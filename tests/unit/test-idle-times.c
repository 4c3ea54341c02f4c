/* SPDX-License-Identifier: Apache-2.0 */
/* The idle time of each CPU: /proc/stat as kernels write it, and as they do not. */
#include "collectors/idle-times.h"

#include "base/cleanup.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

#define SUM "cpu  9 0 9 900 90 0 9 0 0 0\n"
#define REST "intr 123 4 5\nctxt 99\nbtime 1700000000\n"

static const struct {
    const char *in;
    int out;
    size_t n;
    struct idle_time last;
} cases[] = {
    {SUM "cpu0 1 0 2 1200 34 0 1 0 0 0\n" REST, 0, 1, {0, 12.34}},
    {SUM "cpu0 1 0 2 100 0 0\ncpu3 1 0 2 250 50 0 1 0 0 0\n" REST, 0, 2, {3, 3}},
    {SUM "cpu4095 1 0 2 18446744073709551615 0 0 1 0 0 0\n" REST, 0, 1, {4095, 184467440737095516.16}},
    {SUM "cpu0 1 0 2 100 0", 0, 1, {0, 1}},
    {SUM "cpu0 1 0 2\ncpu1 1 0 2 100 50\n" REST, 0, 1, {1, 1.5}},
    {SUM "cpux 1 0 2 100 50\n" REST, -EBADMSG, 0, {0}},
    {SUM REST, -EBADMSG, 0, {0}},
    {REST "cpu0 1 0 2 100 0 0\n", -EBADMSG, 0, {0}},
    {"", -EBADMSG, 0, {0}},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(idle_times_done) struct idle_times times = {0};
        assert_int_equal(idle_times_parse(cases[i].in, 100, &times), cases[i].out);
        assert_int_equal(times.n, cases[i].n);
        if (times.n) {
            assert_int_equal(times.items[times.n - 1].cpu, cases[i].last.cpu);
            assert_true(times.items[times.n - 1].seconds == cases[i].last.seconds);
        }
    }
}

static void test_hidden(void **state)
{
    _cleanup_(idle_times_done) struct idle_times times = {0};
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    assert_int_equal(idle_times_load(&fake->sys, &times), -ENOENT);
    assert_int_equal(times.n, 0);
    fake_sys_free(fake);
}

/* The machine that runs the test. */
static void test_here(void **state)
{
    _cleanup_(idle_times_done) struct idle_times times = {0};
    struct sys sys;

    (void)state;
    sys_init(&sys);
    assert_int_equal(idle_times_load(&sys, &times), 0);
    assert_int_equal(times.n, sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t i = 0; i < times.n; i++)
        assert_true(times.items[i].seconds >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
