/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in perf's event syntax: what each says, and where it points. */
#include "perf/event/parse.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    size_t out_offset;
    const char *out_message; /* a part of it */
} errors[] = {
    {"", 0, "an event is missing at the end"},
    {"   ", 3, "an event is missing"},
    {"{", 1, "an event is missing"},
    {"{}", 1, "an event is missing before \"}\""},
    {"{cycles", 7, "missing at the end"},
    {"{cycles,}", 8, "an event is missing"},
    {"cycles,", 7, "an event is missing"},
    {",cycles", 0, "an event is missing"},
    {"cycles}", 6, "the end is missing before \"}\""},
    {"cycles instructions", 7, "the end is missing"},
    {"{a},{b}", 4, "only one group"},
    {"{a}{b}", 3, "only one group"},
    {"a,{b}", 2, "only one group"},
    {"{a,{b}}", 3, "groups do not nest"},
    {"{a}x", 3, "the end is missing"},
    {"{a},b", 4, "or write one more entry in the list \"groups\""},
    {"{a}:u, b:k", 7, "only one group"},
    {"{a}:u,", 5, "the end is missing"},
    {"group1{a}", 0, "leave out \"group1\" before the brace"},
    {"a,b{c}", 3, "only one group"},
    {"{a}:", 4, "a modifier is missing"},
    {"{a}:x", 4, "unknown modifier \"x\""},
    {"cycles:", 7, "a modifier is missing"},
    {"cycles:,a", 7, "a modifier is missing"},
    {"cycles:ux", 8, "unknown modifier \"x\""},
    {"cycles:uu", 8, "twice"},
    {"cycles:pppp", 10, "at most 3"},
    {"cycles:\xff", 7, "unknown modifier \"0xff\""},
    {"cycles:foo", 7, "unknown modifier \"f\""},
    {"FOO:bar", 4, "unknown modifier \"b\""},
    {"FOO:BAR:x", 8, "unknown modifier \"x\""},
    {"foo:BAR", 4, "unknown modifier \"B\""},
    {"FOO:", 4, "a modifier is missing"},
    {"skl::FOO:", 9, "a modifier is missing"},
    {"\xff", 0, "byte 0xff"},
    {"cycles\x01", 6, "byte 0x01"},
    {"-a", 0, "an event is missing"},
    {"r01234567890abcdef", 0, "at most 16 digits"},
    {"r0x01234567890abcdef/name=x/", 0, "at most 16 digits"},
    {"cycles/event=1/", 7, "write the terms of a PMU behind its name, as in cpu/event=0x3c/"},
    {"cycles/config=1/", 7, "config1, config2 and config3, and not \"config\""},
    {"cycles/config1=x/", 15, "is a number"},
    {"cycles/period=3/", 7, "is for sampling"},
    {"cs/config1=1/", 3, "takes no term but \"name=\""},
    {"mem:0/config1=0xffffffff81000000/", 6, "takes no term but \"name=\""},
    {"sched:sched_switch/config1=1/", 19, "takes no term but \"name=\""},
    {"cycles/name=x", 13, "a comma or a slash"},
    {"cycles/name='x/", 12, "a second quote"},
    {"cycles/name=''/", 12, "a value in quotes has characters"},
    {"cycles//x", 8, "unknown modifier"},
    {"skl::FOO/name=x/", 8, "the end is missing"},
    {"uprobe/r41414141/", 7, "a probe takes no \"r41414141\""},
    {"cs:I", 3, "the modifier I does nothing on \"cs\""},
    {"sched:sched_switch:I", 19, "the modifier I does nothing"},
    {"mem:0:r:I", 8, "the modifier I does nothing"},
    {"{cycles,cs}:I", 12, "the modifier I does nothing on \"cs\""},
    {"task-clock:I", 11, "task-clock counts time"},
    {"cpu/", 4, "a term"},
    {"cpu//", 4, "a term"},
    {"cpu/event=0x3c", 14, "a comma or a slash is missing at the end"},
    {"mem:0x", 4, "the address is a number like 4096 or 0x1000"},
    {"mem:1/", 6, "the length is missing at the end"},
    {"mem:1/9:w", 6, "1 to 8 bytes"},
    {"mem:1:ww", 7, "the access \"w\" stands here twice"},
    {"mem:1:rq", 7, "before \"q\""},
    {"uprobe/path=/bin/bash/", 12, "write another term behind it"},
    {"uprobe/offset=1,path=/bin/bash/,cycles", 21, "write another term behind it"},
    {"uprobe/config1=0x41414141/", 7, "a probe takes no \"config1\""},
    {"uprobe/path=/bin/sh,config1=0x41414141/", 20, "a probe takes no \"config1\""},
    {"kprobe/func=f,config2=1/", 14, "a probe takes no \"config2\""},
    {"kprobe/config=1/", 7, "a probe takes no \"config\""},
    {"uprobe/path,offset=1/", 7, "the term \"path\" needs a value"},
    {"cpu/path=x/", 9, "the value of \"path\" is a number"},
    {"cpu/event=/", 10, "a value is missing"},
    {"cpu/event=a/", 10, "is a number"},
    {"cpu/event=1=2/", 11, "a comma or a slash"},
    {"cpu/event=0x1ffffffffffffffff/", 10, "more than 64 bits"},
    {"cpu/event=-1/", 10, "is a number"},
    {"cpu/a,,b/", 6, "a term"},
    {"cpu/a, period=3/", 7, "is for sampling"},
    {"cpu/freq=99/", 4, "is for sampling"},
    {"cpu/name/", 4, "needs a value"},
    {"cpu/x/y", 6, "unknown modifier \"y\""},
    {"a/b/c/d/", 4, "unknown modifier \"c\""},
    {"/x/", 0, "an event is missing"},
    {"task-clock:u", 11, "task-clock counts time"},
    {"cpu-clock:pk", 10, "cpu-clock counts time"},
    {"{cycles,task-clock}:u", 20, "task-clock counts time"},
    {"sched:", 6, "a modifier is missing"},
    {"sched:9", 6, "unknown modifier \"9\""},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct event_list untouched = {.n = 99};
        struct error error = {0};
        int r = event_list_parse(errors[i].in, &untouched, &error);
        if (r != -EINVAL || !strstr(error.message, errors[i].out_message) || error.offset != errors[i].out_offset)
            fail_msg("%s: at %zu: %s", errors[i].in, error.offset, error.message);
        assert_int_equal(untouched.n, 99);
    }
}

static void test_single_event_errors(void **state)
{
    static const struct {
        const char *in;
        size_t out_offset;
    } cases[] = {{"", 0}, {"a,b", 1}, {"{a}", 0}, {"a b", 2}, {"a}", 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event;
        struct error error = {0};
        assert_int_equal(event_parse(cases[i].in, &event, &error), -EINVAL);
        assert_int_equal(error.offset, cases[i].out_offset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_single_event_errors)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
