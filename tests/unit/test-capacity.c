/* SPDX-License-Identifier: Apache-2.0 */
/* How many counters the played PMUs have, and that trying leaves nothing open. */
#include "perf/capacity.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static const struct {
    struct fake_sys *(*in_machine)(void);
    const char *in_pmu;
    int out_result;
    unsigned out_counters;
} cases[] = {
    {fake_machine_one_pmu, "cpu", 0, 4},
    {fake_machine_two_counters, "cpu", 0, 2},
    {fake_machine_big_little, "armv8_cortex_a55", 0, 6},
    {fake_machine_big_little, "armv8_cortex_a76", 0, 6},
    {fake_machine_no_pmu, "cpu", -ENODATA, 0},
    {fake_machine_no_pmu, "software", -ENODATA, 0},
};

static void test_probe(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = cases[i].in_machine();
        struct machine *machine;
        unsigned counters = 0;
        assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);
        const struct pmu *pmu = machine_find_pmu(machine, cases[i].in_pmu);
        assert_non_null(pmu);
        assert_int_equal(capacity_probe(&fake->sys, pmu, &counters), cases[i].out_result);
        assert_int_equal(counters, cases[i].out_counters);
        assert_int_equal(fake->n_open, 0);
        machine_free(machine);
        fake_sys_free(fake);
    }
}

static void test_not_allowed(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct machine *machine;
    unsigned counters;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES});
    assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);
    assert_int_equal(capacity_probe(&fake->sys, machine_find_pmu(machine, "cpu"), &counters), -EACCES);
    machine_free(machine);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_probe), cmocka_unit_test(test_not_allowed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
