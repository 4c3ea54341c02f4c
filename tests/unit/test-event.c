/* SPDX-License-Identifier: Apache-2.0 */
/* Metric names and help texts of events. */
#include "base/cleanup.h"
#include "perf/event/parse.h"
#include "tests/unit/test.h"

static void test_metric_name(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycles", "cycles"},
        {"L1-dcache-loads", "l1_dcache_loads"},
        {"a--b..c", "a_b_c"},
        {"_a_", "a"},
        {"0x3c", "event_0x3c"},
        {"", "event"},
        {"-+-", "event"},
        {"\xc3\xa4"
         "b",
         "b"},
        {"-1", "event_1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *name = event_metric_name(cases[i].in);
        assert_string_equal(name, cases[i].out);
    }
}

static void test_set_metric(void **state)
{
    static const char *const bad[] = {"", "1a", "a-b", "a b", "\xc3\xa4"};
    _cleanup_(event_done) struct event event = {0};
    struct error error = {0};

    (void)state;
    assert_int_equal(event_parse("r11:u", &event, NULL), 0);
    assert_int_equal(event_set_metric(&event, "Cpu_cycles9", NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(event_set_metric(&event, bad[i], &error), -EINVAL);
    assert_string_equal(event.metric, "Cpu_cycles9");
}

static void test_help(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cpu-cycles", "CPU cycles."},
        {"cycles:uk", "CPU cycles, in user mode and the kernel."},
        {"r11", "Raw event r11."},
        {"l1d-loads", "Cache event L1-dcache-loads."},
        {"sched:sched_switch", "Passes of the tracepoint sched:sched_switch."},
        {"armv8_cortex_a76/cpu_cycles/", "Event cpu_cycles, as its PMU defines it."},
        {"cpu_cycles", "Event cpu_cycles, as its PMU defines it."},
        {"cpu/event=0x3c,umask=1/", "Event event=0x3c,umask=1, as its PMU defines it."},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        _cleanup_(freep) char *help = event_help(&event);
        assert_string_equal(help, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric_name),
        cmocka_unit_test(test_set_metric),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
