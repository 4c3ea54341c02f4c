/* SPDX-License-Identifier: Apache-2.0 */
/* Events by the kernel's numbers: the same as by their names, or refused with the reason. */
#include "base/cleanup.h"
#include "perf/event/numeric.h"
#include "tests/unit/parse-event.h"

static void test_same_as_name(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"0:0", "cycles"},
        {"0:9", "ref-cycles"},
        {"0x1:0x1", "task-clock"},
        {"1:11", "cgroup-switches"},
        {"1:3:u", "cs:u"},
        {"1:1:DP", "task-clock:DP"},
        {"3:0x10000", "L1-dcache-load-misses"},
        {"3:0", "L1-dcache-loads"},
        {"4:17:k", "r11:k"},
        {"4:0xFFFFFFFFFFFFFFFF", "rffffffffffffffff"},
        {"0:1/name=insn/u", "instructions/name=insn/u"},
        {"4:0x11/config1=1/", "r11/config1=1/"},
    };

    (void)state;
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

static void test_refused(void **state)
{
    static const struct {
        const char *in;
        size_t out_offset;
        const char *out_message;
    } cases[] = {
        {"2:316", 0, "write its name, as in sched:sched_switch"},
        {"5:0", 0, "write it as in mem:0x1000/8:w"},
        {"6:1/config1=0x41414141/", 0, "the number 6 of a PMU may be another one after the next boot"},
        {"4294967296:1", 0, "the number 4294967296 of a PMU"},
        {"0:10", 2, "there is no hardware event 10; 0 is cycles"},
        {"0:0x800000000", 2, "there is no hardware event"},
        {"1:99", 2, "there is no software event 99; 0 is cpu-clock"},
        {"3:0xffffffff", 2, "there is no cache event 0xffffffff"},
        {"3:0x101", 2, "there is no cache event 0x101"}, /* a store to the instruction cache */
        {"4:99999999999999999999", 2, "of at most 64 bits"},
        {"99999999999999999999:1", 0, "of at most 64 bits"},
        {"1:1x", 2, "one like 17 or 0x11"},
        {"1:1:u", 4, "task-clock counts time"},
        {"1:3/config1=1/", 4, "takes no term but"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event;
        struct error error = {0};
        int r = event_parse(cases[i].in, &event, &error);
        if (r != -EINVAL || error.offset != cases[i].out_offset || !strstr(error.message, cases[i].out_message))
            fail_msg("%s: at %zu: %s", cases[i].in, error.offset, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_name), cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
