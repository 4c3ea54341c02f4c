/* SPDX-License-Identifier: Apache-2.0 */
/* The PMU of sysfs for each PMU of libpfm4. */
#include "perf/event/pfm-pmu.h"
#include "tests/unit/test.h"

static void test_find(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"arm_ac76", "arm_ac76"},       {"ARM_CORTEX_A76", "arm_ac76"},
        {"arm_cortex_a55", "arm_ac55"}, {"ARM_NEOVERSE_N1", "arm_n1"},
        {"adl_GLC", "adl_glc"},         {"skl", NULL},
        {"arm_ac7", "arm_ac7"},         {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pfm_pmu *pmu = pfm_pmu_find(cases[i].in, strlen(cases[i].in));
        if (cases[i].out ? !pmu || !str_equal(pmu->name, cases[i].out) : !!pmu)
            fail_msg("%s: %s", cases[i].in, pmu ? pmu->name : "none");
    }
}

static void test_counts_on(void **state)
{
    static const struct {
        const char *in_name, *in_sysfs;
        bool in_detected, in_named, out;
    } cases[] = {
        {"arm_ac76", "armv8_cortex_a76", false, false, true},
        {"arm_ac76", "armv8_cortex_a55", true, true, false},
        {"arm_ac7", "armv8_cortex_a76", true, true, false},
        {"arm_n2", "armv8_neoverse_n2", false, false, true},
        {"arm_n2", "armv9_neoverse_n2", false, false, true},
        {"arm_ac76", "armv8_pmuv3", false, false, false},
        {"arm_ac76", "armv8_pmuv3", false, true, true},
        {"arm_ac76", "armv8_pmuv3_0", true, false, true},
        {"arm_ac76", "cpu", true, true, false},
        {"skl", "cpu", true, false, true},
        {"skl", "cpu", false, true, false},
        {"skl", "cpu_core", true, true, false},
        {"skl", "armv8_pmuv3", true, true, false},
        {"adl_glc", "cpu_core", true, false, true},
        {"adl_glc", "cpu_core", false, true, false},
        {"adl_glc", "cpu_atom", true, true, false},
        {"adl_grt", "cpu_atom", true, false, true},
        {"adl_grt", "cpu", true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (pfm_pmu_counts_on(cases[i].in_name, cases[i].in_sysfs, cases[i].in_detected, cases[i].in_named) !=
            cases[i].out)
            fail_msg("%zu: %s on %s", i, cases[i].in_name, cases[i].in_sysfs);
}

static void test_common(void **state)
{
    (void)state;
    assert_true(pfm_pmu_is_common(0x17));
    assert_true(pfm_pmu_is_common(0xbf));
    assert_false(pfm_pmu_is_common(0xc0));
    assert_false(pfm_pmu_is_common(0x3fff));
    assert_true(pfm_pmu_is_common(0x4000));
}

static void test_spelled(void **state)
{
    static const struct {
        const char *in;
        bool out;
    } cases[] = {
        {"skl::inst_retired", true}, {"INST_RETIRED:ANY_P", true}, {"L2D_CACHE", true},         {"cyclse", false},
        {"L1-dcache-lods", false},   {"Mem_Loads", false},         {"l2d_cache_refill", false}, {"MEM-LOADS", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (pfm_pmu_is_name(cases[i].in) != cases[i].out)
            fail_msg("%s", cases[i].in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_counts_on),
        cmocka_unit_test(test_common),
        cmocka_unit_test(test_spelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
