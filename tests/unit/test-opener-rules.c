/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the opener: the PMUs that it finds in sysfs, and the permissions of the configuration. */
#include <unistd.h>

#include "opener/rules.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static void test_pmus(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct opener_permissions permissions = {.sampling = true};
    struct opener_rules rules;

    (void)state;
    fake_add_pmu(fake, "uprobe", 7, NULL, "0-3");
    fake_add_pmu(fake, "intel_pt", 23, NULL, "0-3");
    fake_add_pmu(fake, "arm_spe_0", 24, NULL, "0-3");
    fake_add_pmu(fake, "cs_etm", 25, NULL, "0-3");
    fake_add_pmu(fake, "hisi_ptt0_8", 26, NULL, "0-3");
    fake_add_pmu(fake, "breakpoint", PERF_TYPE_BREAKPOINT, NULL, "0-3");
    fake_add_pmu(fake, "uncore_imc_0", 28, NULL, "0-3");
    fake_pmu_file(fake, "intel_bts", "type", "none\n");
    fake_pmu_file(fake, "uncore_large", "type", "4294967296\n");
    assert_int_equal(opener_rules_init(&rules, &fake->sys, &permissions), 0);
    assert_int_equal(rules.daemon, getpid());
    assert_true(rules.permissions.sampling);
    assert_false(rules.permissions.breakpoints);
    assert_int_equal(rules.probing.n, 1);
    assert_int_equal(rules.n_cpus, 4);
    for (uint32_t type = 0; type < 30; type++) {
        bool counts = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_HW_CACHE ||
                      type == PERF_TYPE_RAW || type == 28 || opener_types_have(&rules.counting, type);
        assert_int_equal(opener_types_have(&rules.tracing, type), type >= 23 && type <= 26);
        assert_int_equal(opener_types_have(&rules.probing, type), type == 7);
        assert_int_equal(opener_rules_type_takes_filter(&rules, type), type == 7 || type == PERF_TYPE_TRACEPOINT);
        assert_int_equal(opener_types_have(&rules.counting, type), counts);
    }
    assert_false(opener_types_have(&rules.counting, PERF_TYPE_TRACEPOINT));
    assert_false(opener_types_have(&rules.counting, PERF_TYPE_BREAKPOINT));
    assert_false(opener_types_have(&rules.counting, 7));
    assert_false(opener_types_have(&rules.counting, 23));
    assert_false(opener_types_have(&rules.counting, 29));
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

static void test_no_pmus(void **state)
{
    struct fake_sys *fake = fake_sys_new();
    struct opener_permissions permissions = {0};
    struct opener_rules rules;

    (void)state;
    assert_int_equal(opener_rules_init(&rules, &fake->sys, &permissions), 0);
    assert_int_equal(rules.counting.n, 4);
    assert_int_equal(rules.probing.n, 0);
    assert_int_equal(rules.tracing.n, 0);
    opener_rules_done(&rules);
    fake_sys_free(fake);
}

/* Events that only count need no permission. */
static void test_permissions(void **state)
{
    static const struct {
        const char *pmu, *text;
        uint32_t type;
        bool granted;
    } cases[] = {
        {"software", NULL, PERF_TYPE_SOFTWARE, false},
        {"tracepoint", NULL, PERF_TYPE_TRACEPOINT, true},
        {"uprobe", "/bin/true", 7, true},
        {"kprobe", "vfs_read", 6, true},
        {"breakpoint", NULL, PERF_TYPE_BREAKPOINT, true},
        {"intel_pt", NULL, 23, false},
    };
    struct opener_permissions permissions = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pmu pmu = {.name = (char *)cases[i].pmu, .type = cases[i].type};
        const struct attr attr = {.kernel = {.type = cases[i].type}, .text = cases[i].text, .pmu = &pmu};
        size_t before = permissions.n_events;
        assert_int_equal(opener_permissions_add_event(&permissions, &attr, false), 0);
        assert_int_equal(permissions.n_events - before, cases[i].granted);
    }
    const struct pmu probe = {.name = (char *)"uprobe", .type = 7};
    const struct attr pointer = {.kernel = {.type = 7, .config1 = 0x41414141}, .pmu = &probe};
    size_t before = permissions.n_events;
    assert_int_equal(opener_permissions_add_event(&permissions, &pointer, false), 0);
    assert_int_equal(permissions.n_events, before);
    assert_int_equal(opener_permissions_add_file(&permissions, NULL), 0);
    assert_int_equal(opener_permissions_add_file(&permissions, ""), 0);
    assert_int_equal(opener_permissions_add_file(&permissions, "a"), 0);
    assert_int_equal(permissions.n_files, 1);
    opener_permissions_done(&permissions);
    assert_int_equal(permissions.n_events, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pmus),
        cmocka_unit_test(test_no_pmus),
        cmocka_unit_test(test_permissions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
