/* SPDX-License-Identifier: Apache-2.0 */
/* The collector self: the process, and what the daemon costs in hardware events, on machines that tests play. */
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CYCLES "perfcountd_self_cycles_total"
#define INSTRUCTIONS "perfcountd_self_instructions_total"
#define SELF_ALONE "collectors: {cpu: {enabled: false}}"
#define UNAVAILABLE                                                                                                    \
    "perfcountd_events_unavailable{collector=\"self\",group=\"self\",event=\"%s\",pmu=\"cpu\",reason=\"%s\"}"

static uint64_t self_value(struct rig *rig, const char *name)
{
    return series_value(rig_read(rig), "%s", name);
}

static void test_self(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "{}");
    assert_in_range(self_value(&rig, "process_open_fds"), 3, 1000);
    assert_in_range(self_value(&rig, "process_resident_memory_bytes"), 100000, UINT64_C(1) << 50);
    assert_in_range(self_value(&rig, "process_start_time_seconds"), UINT64_C(150000000000), UINT64_C(500000000000));
    assert_int_equal(self_value(&rig, "perfcountd_config_last_reload_successful"), 0);
    rig_done(&rig);
}

static void test_self_cost(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), SELF_ALONE);
    assert_int_equal(rig.fake->n_open, 2);
    fake_advance(rig.fake, 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, INSTRUCTIONS), 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, "perfcountd_self_user_reads"), 0);
    assert_int_equal(self_value(&rig, "perfcountd_self_kernel_counted"), 1);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    /* Another configuration: the totals go on. */
    rig_configure(&rig, "collectors: {cpu: {groups: []}}");
    fake_advance(rig.fake, 50 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 150 * NSEC_PER_SEC);
    /* Starved: left out, then made up for. */
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_advance(rig.fake, 50 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), NOT_SHOWN);
    fake_find_pmu(rig.fake, "cpu")->counters = 4;
    fake_advance(rig.fake, 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 300 * NSEC_PER_SEC);
    rig_configure(&rig, CPU_GROUPS("[]"));
    assert_null(find_series(rig_read(&rig), CYCLES));
    assert_int_equal(rig.fake->n_open, 0);
    rig_done(&rig);
}

/* An event that is refused does not take the other along, and is tried again. */
static void test_self_cost_in_part(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                          .error = EBUSY,
                                          .times = 1,
                                          .on_event = true,
                                          .type = PERF_TYPE_HARDWARE,
                                          .config = PERF_COUNT_HW_INSTRUCTIONS});
    rig_init(&rig, fake, SELF_ALONE);
    fake_advance(fake, 10 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 10 * NSEC_PER_SEC);
    assert_null(find_series(rig_read(&rig), INSTRUCTIONS));
    assert_int_equal(series_value(rig_read(&rig), UNAVAILABLE, "instructions", "EBUSY"), 1);
    assert_int_equal(self_value(&rig, "perfcountd_collector_success{collector=\"self\"}"), 1);
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    assert_int_equal(registry_retry(rig.registry, NULL), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    fake_advance(fake, 10 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 20 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, INSTRUCTIONS), 10 * NSEC_PER_SEC);
    assert_null(find_series(rig_read(&rig), UNAVAILABLE, "instructions", "EBUSY"));
    rig_done(&rig);
}

static void assert_one_sentence(const struct rig *rig, const char *start)
{
    char **sentences;
    size_t n;

    assert_int_equal(failures_sentences(registry_failures(rig->registry), &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(str_starts(sentences[0], start));
    strings_free(sentences, n);
}

/* Without a PMU it is reported, and the log has the one sentence that the collector cpu has already. */
static void test_self_cost_no_pmu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(),
             "collectors: {cpu: {groups: [{name: a, events: 'cycles,instructions,branches,cs'}]}}");
    assert_null(find_series(rig_read(&rig), CYCLES));
    assert_null(find_series(rig_read(&rig), "perfcountd_self_user_reads"));
    assert_int_equal(series_value(rig_read(&rig), UNAVAILABLE, "cycles", "ENOENT"), 1);
    assert_one_sentence(&rig, "cpu 0-1 cycles, instructions, branches: this machine offers no hardware PMU");
    rig_configure(&rig, SELF_ALONE);
    assert_one_sentence(&rig, "own task cycles, instructions: this machine offers no hardware PMU (ENOENT): ");
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_self_cost),
        cmocka_unit_test(test_self_cost_in_part),
        cmocka_unit_test(test_self_cost_no_pmu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
