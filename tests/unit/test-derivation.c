/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "derived/derivation.h"
#include "tests/unit/test.h"

/* The value of a metric; NAN where it is absent. */
static double metric_value(const struct derivation *derivation, const char *name, const double *rates,
                           struct derivation_times times)
{
    for (size_t i = 0; i < derivation_count(derivation); i++)
        if (str_equal(derivation_metric(derivation, i)->name, name))
            return derivation_value(derivation, i, rates, &times);
    return NAN;
}

static const struct {
    const char *what;
    enum derived_target in_target;
    const char *in_events[4];
    double in_rates[4];
    double in_running, in_enabled;
    const char *metric;
    double out;
} cases[] = {
    {"both events", DERIVED_CPU, {"cycles", "instructions"}, {4, 2}, 1, 1, "ipc", 0.5},
    {"in any order", DERIVED_CGROUP, {"instructions", "cycles"}, {2, 4}, 1, 1, "ipc", 0.5},
    {"as Arm names them", DERIVED_CPU, {"inst_retired", "cpu_cycles"}, {2, 4}, 1, 1, "ipc", 0.5},
    {"one event is missing", DERIVED_CPU, {"cycles"}, {4}, 1, 1, "ipc", NAN},
    {"the events are of user mode", DERIVED_CPU, {"cycles_user", "instructions_user"}, {4, 2}, 1, 1, "ipc", NAN},
    {"of user mode", DERIVED_CPU, {"cycles_user", "instructions_user"}, {4, 2}, 1, 1, "ipc_user", 0.5},
    {"nothing was counted", DERIVED_CPU, {"cycles", "instructions"}, {0, 0}, 1, 1, "ipc", NAN},
    {"a rate is not known", DERIVED_CPU, {"cycles", "instructions"}, {4, NAN}, 1, 1, "ipc", NAN},
    {"counted for a part of the time", DERIVED_PMU, {"cycles"}, {4}, 1, 4, "running_ratio", 0.25},
    {"never counted", DERIVED_CPU, {"cycles"}, {NAN}, 0, 4, "running_ratio", 0},
    {"not enabled", DERIVED_CPU, {"cycles"}, {0}, 0, 0, "running_ratio", NAN},
    {"a cgroup's clock", DERIVED_CGROUP, {"task_clock"}, {1.5}, 1, 1, "cpu_utilization", 1.5},
    {"a CPU's clock runs always", DERIVED_CPU, {"task_clock"}, {1}, 1, 1, "cpu_utilization", NAN},
};

static size_t count_texts(const char *const *texts, size_t max)
{
    size_t n = 0;

    while (n < max && texts[n])
        n++;
    return n;
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct derivation_events events = {
            .target = cases[i].in_target,
            .pmu = "cpu",
            .events = cases[i].in_events,
            .n = count_texts(cases[i].in_events, ARRAY_SIZE(cases[i].in_events)),
        };
        struct derivation *derivation = derivation_new(&events);
        print_message("%s\n", cases[i].what);
        double value = metric_value(derivation, cases[i].metric, cases[i].in_rates,
                                    (struct derivation_times){cases[i].in_running, cases[i].in_enabled});
        assert_int_equal(isnan(value), isnan(cases[i].out));
        assert_true(isnan(value) || fabs(value - cases[i].out) < 1e-12);
        assert_null(derivation_free(derivation));
    }
}

static void test_is_of(void **state)
{
    const char *const one[] = {"cycles", "instructions"}, *const other[] = {"cycles", "branches"};
    const struct derivation_events events = {DERIVED_CPU, "cpu", 0, one, 2};
    struct derivation_events changed[] = {events, events, events, events, events};
    struct derivation *derivation = derivation_new(&events);

    (void)state;
    changed[0].target = DERIVED_CGROUP;
    changed[1].pmu = "cpu_atom";
    changed[2].slots = 4;
    changed[3].n = 1;
    changed[4].events = other;
    assert_true(derivation_is_of(derivation, &events));
    for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
        assert_false(derivation_is_of(derivation, &changed[i]));
    derivation_free(derivation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_is_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
