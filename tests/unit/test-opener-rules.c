/* SPDX-License-Identifier: Apache-2.0 */
/* What the opener finds in sysfs before it judges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "opener/opener-rules.h"
#include "tests/unit/fake-sys.h"

static bool is_trace(const struct opener_rules *rules, uint32_t type)
{
    for (size_t i = 0; i < rules->n_trace_types; i++)
        if (rules->trace_types[i] == type)
            return true;
    return false;
}

static void test_pmus(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct opener_rules rules;

    (void)state;
    fake_add_pmu(fake, "uprobe", 7, NULL, "0-3");
    fake_add_pmu(fake, "intel_pt", 23, NULL, "0-3");
    fake_add_pmu(fake, "arm_spe_0", 24, NULL, "0-3");
    fake_add_pmu(fake, "cs_etm", 25, NULL, "0-3");
    fake_add_pmu(fake, "hisi_ptt0_8", 26, NULL, "0-3");
    fake_pmu_file(fake, "intel_bts", "type", "none\n");
    assert_int_equal(opener_rules_init(&rules, &fake->sys, (struct opener_tasks){.sampling = true}), 0);
    assert_int_equal(rules.daemon, getpid());
    assert_true(rules.tasks.sampling);
    assert_false(rules.tasks.probing);
    assert_int_equal(rules.probe_types[0], -1);
    assert_int_equal(rules.probe_types[1], 7);
    assert_int_equal(rules.n_trace_types, 4);
    for (uint32_t type = 0; type < 30; type++)
        assert_int_equal(is_trace(&rules, type), type >= 23 && type <= 26);
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

static void test_no_pmus(void **state)
{
    struct fake_sys *fake = fake_sys_new();
    struct opener_rules rules;

    (void)state;
    assert_int_equal(opener_rules_init(&rules, &fake->sys, (struct opener_tasks){0}), 0);
    assert_int_equal(rules.probe_types[0], -1);
    assert_int_equal(rules.probe_types[1], -1);
    assert_int_equal(rules.n_trace_types, 0);
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pmus),
        cmocka_unit_test(test_no_pmus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
