/* SPDX-License-Identifier: Apache-2.0 */
/* Metric names and help texts of events, and events by number. */
#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "tests/unit/parse-event.h"
#include "tests/unit/test.h"

/* Metric names and help texts of events */

TEST(test_metric_name)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycles", "cycles"},
        {"L1-dcache-loads", "l1_dcache_loads"},
        {"a--b..c", "a_b_c"},
        {"0x3c", "event_0x3c"},
        {"", "event"},
        {"\xc3\xa4"
         "b",
         "b"},
        {"-1", "event_1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *name = event_metric_name(cases[i].in);
        assert_string_equal(name, cases[i].out);
    }
}

TEST(test_set_metric)
{
    static const char *const bad[] = {"", "1a", "a-b", "a b", "\xc3\xa4"};
    _cleanup_(event_done) struct event event = {0};
    struct error error = {0};

    assert_int_equal(event_parse("r11:u", &event, NULL), 0);
    assert_int_equal(event_set_metric(&event, "Cpu_cycles9", NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(event_set_metric(&event, bad[i], &error), -EINVAL);
    assert_string_equal(event.metric, "Cpu_cycles9");
}

TEST(test_help)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cpu-cycles", "CPU cycles."},
        {"task-clock:hGp", "Time that tasks ran."},
        {"cycles:uk", "CPU cycles, in user mode and the kernel."},
        {"r11", "Raw event r11."},
        {"l1d-loads", "Cache event L1-dcache-loads."},
        {"sched:sched_switch", "Hits of the tracepoint sched:sched_switch."},
        {"armv8_cortex_a76/cpu_cycles/", "Event cpu_cycles, as its PMU defines it."},
        {"cpu/event=0x3c,umask=1/", "Event event=0x3c,umask=1, as its PMU defines it."},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        _cleanup_(freep) char *help = event_help(&event);
        assert_string_equal(help, cases[i].out);
    }
}

/* Events by the kernel's numbers: equal to those with names, or refused with the reason */

TEST(test_same_as_name)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"0:0", "cycles"},
        {"0:9", "ref-cycles"},
        {"1:3:u", "cs:u"},
        {"1:1:DP", "task-clock:DP"},
        {"1:1:hp", "task-clock:hp"},
        {"3:0x10000", "L1-dcache-load-misses"},
        {"4:17:k", "r11:k"},
        {"4:0xFFFFFFFFFFFFFFFF", "rffffffffffffffff"},
        {"0:1/name=insn/u", "instructions/name=insn/u"},
        {"4:0x11/config1=1/", "r11/config1=1/"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = parsed_event(cases[i].in), named = parsed_event(cases[i].out);
        assert_int_equal(event.kind, named.kind);
        assert_int_equal(event.type, named.type);
        assert_true(event.config == named.config && event.generic == named.generic);
        assert_int_equal(event.modifiers, named.modifiers);
        assert_string_equal(event.metric, named.metric);
        assert_string_equal(event.text, cases[i].in);
    }
}

TEST(test_refused)
{
    static const struct {
        const char *in;
        size_t out_offset;
        const char *out_message;
    } cases[] = {
        {"2:316", 0, "write the tracepoint's name, as in sched:sched_switch"},
        {"5:0", 0, "write it as in mem:0x1000/8:w"},
        {"6:1/config1=0x41414141/", 0, "the number 6 of a PMU may change at the next boot"},
        {"4294967296:1", 0, "the number 4294967296 of a PMU"},
        {"0:10", 2, "there is no hardware event 10; event 0 is cycles"},
        {"1:99", 2, "there is no software event 99; event 0 is cpu-clock"},
        {"3:0xffffffff", 2, "there is no cache event 0xffffffff"},
        {"4:99999999999999999999", 2, "with at most 64 bits"},
        {"99999999999999999999:1", 0, "with at most 64 bits"},
        {"1:1x", 2, "like 17 or 0x11"},
        {"1:1:u", 4, "task-clock counts time"},
        {"1:3/config1=1/", 4, "accepts no term except"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event;
        struct error error = {0};
        int r = event_parse(cases[i].in, &event, &error);
        if (r != -EINVAL || error.offset != cases[i].out_offset || !strstr(error.message, cases[i].out_message))
            fail_msg("%s: at %zu: %s", cases[i].in, error.offset, error.message);
    }
}

TEST_MAIN(NULL, NULL)
