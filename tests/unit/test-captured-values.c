/* SPDX-License-Identifier: Apache-2.0 */
/* Counters on machines as their /sys shows them: values, CPUs that go offline, and events that the file may not have.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/registry.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"

static struct config *parse_config(const char *text)
{
    struct config *config = NULL;
    struct error error;

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

static const struct series *find_series(const struct snapshot *snapshot, const char *text)
{
    for (size_t i = 0; i < snapshot->metrics.n; i++)
        for (size_t k = 0; k < snapshot->metrics.families[i]->n; k++) {
            const struct series *series = snapshot->metrics.families[i]->series[k];
            if (series->visible && series_is(snapshot->metrics.families[i], series, text))
                return series;
        }
    fail_msg("%s is not there", text);
    return NULL;
}

/* Scale and unit are applied, each PMU of a kind has its own series, and a reload keeps all totals. */
static void test_values(void **state)
{
    static const char before[] = "{collectors: {cpu: {enabled: false}, self: {enabled: false}, pmu: {groups: ["
                                 "{name: p, events: energy-pkg}, {name: r, events: uncore_imc/event=1/}]}}}";
    static const char after[] = "{collectors: {cpu: {enabled: false}, self: {enabled: false}, pmu: {groups: ["
                                "{name: r, events: uncore_imc/event=1/}, {name: p, events: energy-pkg}]}}}";
    struct fake_sys *fake = captured_intel_hybrid();
    struct machine *machine = fake_load_machine(fake);
    struct config *first = parse_config(before), *second = parse_config(after);
    struct reload_outcome outcome = {0};
    struct registry *registry;

    (void)state;
    assert_int_equal(registry_new(&fake->sys, &outcome, &registry), 0);
    assert_int_equal(registry_configure(registry, machine, first, NULL, NULL), 0);
    fake_rate(fake, (struct fake_rate){.type = 21, .config = 1, .count = 3, .ns = 1});
    fake_advance(fake, 1 << 20);
    assert_int_equal(registry_configure(registry, machine, second, NULL, NULL), 0);
    fake_advance(fake, 1 << 20);
    const struct snapshot *snapshot = registry_read(registry, UINT32_MAX, 0);
    const struct series *joules =
        find_series(snapshot, "perf_pmu_energy_pkg_joules_total{cpu=\"0\",pmu=\"power\",group=\"p\"}");
    assert_int_equal(joules->decimals, SERIES_REAL);
    assert_true(series_real(joules) == 0x1p-11);
    assert_int_equal(find_series(snapshot, "perf_pmu_event_1_total{cpu=\"0\",pmu=\"uncore_imc_0\",group=\"r\"}")->value,
                     2 << 20);
    assert_int_equal(find_series(snapshot, "perf_pmu_event_1_total{cpu=\"0\",pmu=\"uncore_imc_1\",group=\"r\"}")->value,
                     6 << 20);
    assert_int_equal(
        find_series(snapshot, "perf_pmu_group_enabled_seconds_total{cpu=\"0\",pmu=\"power\",group=\"p\"}")->value,
        2 << 20);
    assert_int_equal(
        find_series(snapshot, "perf_pmu_group_running_seconds_total{cpu=\"0\",pmu=\"power\",group=\"p\"}")->value,
        2 << 20);
    assert_int_equal(find_series(snapshot, "perfcountd_groups{collector=\"pmu\",state=\"counting\"}")->value, 3);
    assert_int_equal(fake->n_open, 3);
    registry_free(registry);
    config_free(first);
    config_free(second);
    machine_free(machine);
    fake_sys_free(fake);
}

/* The PMU is read on another CPU while its own is offline; its totals continue when that is back. */
static void test_cpumask_moves(void **state)
{
    static const char on_0[] = "perf_pmu_cycles_total{cpu=\"0\",pmu=\"arm_dsu_0\",group=\"d\"}";
    static const char on_1[] = "perf_pmu_cycles_total{cpu=\"1\",pmu=\"arm_dsu_0\",group=\"d\"}";
    static const struct {
        const char *in_cpumask;
        bool in_online; /* CPU 0 */
        const char *out;
        uint64_t out_value;
    } steps[] = {{"0", true, on_0, 100}, {"1", false, on_1, 100}, {"1", true, on_1, 200}, {"0", true, on_0, 200}};
    struct fake_sys *fake = captured_rk3588_6_1();
    struct config *config = parse_config("{collectors: {cpu: {enabled: false}, self: {enabled: false}, pmu: {groups: ["
                                         "{name: d, events: arm_dsu/cycles/}]}}}");
    struct reload_outcome outcome = {0};
    struct machine *machine = NULL;
    struct registry *registry;

    (void)state;
    assert_int_equal(cpuset_add(&fake_find_pmu(fake, "arm_dsu_0")->cpus, 1), 0);
    assert_int_equal(registry_new(&fake->sys, &outcome, &registry), 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        fake_set_online(fake, 0, steps[i].in_online);
        fake_pmu_file(fake, "arm_dsu_0", "cpumask", steps[i].in_cpumask);
        struct machine *next = fake_load_machine(fake);
        assert_int_equal(registry_configure(registry, next, config, NULL, NULL), 0);
        machine_free(machine);
        machine = next;
        assert_int_equal(fake->n_open, 1);
        fake_advance(fake, 100);
        assert_int_equal(find_series(registry_read(registry, UINT32_MAX, 0), steps[i].out)->value, steps[i].out_value);
        assert_int_equal(registry_failures(registry)->n, 0);
    }
    registry_free(registry);
    config_free(config);
    machine_free(machine);
    fake_sys_free(fake);
}

/* Events that no machine could count are an error in the file; events that only this machine does not have are not. */
static void test_check_events(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycles", "\"cycles\" is counted on each CPU: it belongs to collectors.cpu"},
        {"energy-pkg,r11", "\"r11\" is counted on each CPU: it belongs to collectors.cpu"},
        {"sched:sched_switch", "it belongs to collectors.cpu"},
        {"mem:0x1000:w", "it belongs to collectors.cpu"},
        {"energy-pgk", "there is no event \"energy-pgk\"; did you mean \"energy-pkg\""},
        {"energy-pkg", NULL},
        {"amd_l3/event=1/", NULL},
    };
    struct fake_sys *fake = captured_intel_hybrid();
    struct machine *machine = fake_load_machine(fake);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        char text[256];
        snprintf(text, sizeof(text), "collectors:\n  pmu:\n    groups:\n    - {name: a, events: '%s'}\n", cases[i].in);
        struct config *config = parse_config(text);
        assert_int_equal(config_check_events(config, &fake->sys, machine, &error), cases[i].out ? -EINVAL : 0);
        if (cases[i].out && (error.line != 4 || !strstr(error.message, cases[i].out)))
            fail_msg("line %u: %s", error.line, error.message);
        config_free(config);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_cpumask_moves),
        cmocka_unit_test(test_check_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
