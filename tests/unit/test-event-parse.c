/* SPDX-License-Identifier: Apache-2.0 */
/* perf's event syntax: kinds, terms, modifiers, groups, errors, and the cases of perf's own tests. */
#include <inttypes.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/attr.h"
#include "perf/event-parse.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    enum event_kind out_kind;
    uint64_t out_config;
    const char *out_name, *out_metric, *out_text;
} kinds[] = {
    {"cycles", EVENT_GENERIC, 0, "cycles", "cycles", "cycles"},
    {" cpu-cycles ", EVENT_GENERIC, 0, "cpu-cycles", "cycles", "cpu-cycles"},
    {"cs", EVENT_GENERIC, 3, "cs", "context_switches", "cs"},
    {"L1-dcache-load-misses", EVENT_GENERIC, 0x10000, "L1-dcache-load-misses", "l1_dcache_load_misses",
     "L1-dcache-load-misses"},
    {"r11", EVENT_RAW, 0x11, "r11", "r11", "r11"},
    {"r0123456789abcdef", EVENT_RAW, 0x0123456789abcdef, "r0123456789abcdef", "r0123456789abcdef", "r0123456789abcdef"},
    {"r", EVENT_NAME, 0, "r", "r", "r"},
    {"sched:sched_switch", EVENT_TRACEPOINT, 0, "sched_switch", "sched_sched_switch", "sched:sched_switch"},
    {"foo:ukp", EVENT_NAME, 0, "foo", "foo_user_kernel", "foo:ukp"},
    {"foo:uk_", EVENT_TRACEPOINT, 0, "uk_", "foo_uk", "foo:uk_"},
    {"uops_issued.any", EVENT_NAME, 0, "uops_issued.any", "uops_issued_any", "uops_issued.any"},
    {"skl::INST_RETIRED:ANY_P:u", EVENT_NAME, 0, "skl::INST_RETIRED:ANY_P", "inst_retired_any_p_user",
     "skl::INST_RETIRED:ANY_P:u"},
    {"mem:0x1000/8:w:u", EVENT_BREAKPOINT, 0, "mem:0x1000/8:w", "mem_0x1000_8_w_user", "mem:0x1000/8:w:u"},
    {"mem:load", EVENT_TRACEPOINT, 0, "load", "mem_load", "mem:load"},
    {"skl::UOPS_ISSUED:any:c=2:e=1:k", EVENT_NAME, 0, "skl::UOPS_ISSUED:any:c=2:e=1", "uops_issued_any_c_2_e_1_kernel",
     "skl::UOPS_ISSUED:any:c=2:e=1:k"},
    {"4way", EVENT_NAME, 0, "4way", "event_4way", "4way"},
    {"L2_LINES_IN:S", EVENT_NAME, 0, "L2_LINES_IN:S", "l2_lines_in_s",
     "L2_LINES_IN:S"}, /* S begins a unit mask here, not a modifier */
    {"cycles/config1=1/", EVENT_GENERIC, 0, "cycles", "cycles_config1_1", "cycles/config1=1/"},
    {"r11/config1=0x10,config2/u", EVENT_RAW, 0x11, "r11", "r11_config1_0x10_config2_user",
     "r11/config1=0x10,config2/u"},
    {"sched:sched_switch/name='a, b'/", EVENT_TRACEPOINT, 0, "sched_switch", "a_b", "sched:sched_switch/name='a, b'/"},
    {"mem:0x1000/8:w/name=x/u", EVENT_BREAKPOINT, 0, "mem:0x1000/8:w", "x", "mem:0x1000/8:w/name=x/u"},
};

TEST(test_kinds)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(kinds[i].in, &event, NULL), 0);
        assert_int_equal(event.kind, kinds[i].out_kind);
        assert_int_equal(event.config, kinds[i].out_config);
        assert_string_equal(event.name, kinds[i].out_name);
        assert_string_equal(event.metric, kinds[i].out_metric);
        assert_string_equal(event.text, kinds[i].out_text);
    }
}

/* Returns the terms and their values: "event=60 edge=1 func=f". */
static char *terms_text(const struct event *event)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < event->n_terms; i++) {
        const struct event_term *term = &event->terms[i];
        buffer_appendf(&text, "%s%s=", i ? " " : "", term->name);
        if (term->text && !term->numeric)
            buffer_append_text(&text, term->text);
        else
            buffer_appendf(&text, "%" PRIu64, term->value);
    }
    return buffer_string(&text);
}

TEST(test_pmu)
{
    static const struct {
        const char *in, *out_pmu, *out_metric, *out_terms;
        unsigned out_modifiers;
    } cases[] = {
        {"armv8_cortex_a76/l2d_cache_refill/", "armv8_cortex_a76", "l2d_cache_refill", "l2d_cache_refill=1", 0},
        {"cpu/event=0x3c,umask=1/", "cpu", "event_0x3c_umask_1", "event=60 umask=1", 0},
        {"cpu/ event=60 , edge /", "cpu", "event_60_edge", "event=60 edge=1", 0},
        {"cpu/event=1,name=My_Name/u", "cpu", "My_Name", "event=1", EVENT_USER},
        {"cpu/name=a-b,event=1/", "cpu", "a_b", "event=1", 0},
        {"cpu/name=x/", "cpu", "x", "", 0},
        {"cpu/x/:uk", "cpu", "x_user_kernel", "x=1", EVENT_USER | EVENT_KERNEL},
        {"cpu/config1=0xffffffffffffffff/", "cpu", "config1_0xffffffffffffffff", "config1=18446744073709551615", 0},
        {"kprobe/func=vfs_read.isra.0,offset=0x4,retprobe/k", "kprobe",
         "func_vfs_read_isra_0_offset_0x4_retprobe_kernel", "func=vfs_read.isra.0 offset=4 retprobe=1", EVENT_KERNEL},
        {"uprobe/path=/bin/bash,offset=0x1234,name=shells/", "uprobe", "shells", "path=/bin/bash offset=4660", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        _cleanup_(freep) char *terms = terms_text(&event);
        assert_int_equal(event.kind, EVENT_PMU);
        assert_string_equal(event.pmu, cases[i].out_pmu);
        assert_string_equal(event.metric, cases[i].out_metric);
        assert_string_equal(terms, cases[i].out_terms);
        assert_int_equal(event.modifiers, cases[i].out_modifiers);
    }
}

TEST(test_lists)
{
    static const struct {
        const char *in;
        unsigned out_modifiers;
        const char *out_metrics[4];
        size_t out_offsets[4];
    } cases[] = {
        {"cycles", 0, {"cycles"}, {0}},
        {"{cycles}", 0, {"cycles"}, {1}},
        {"a,b", 0, {"a", "b"}, {0, 2}},
        {" { a , b } ", 0, {"a", "b"}, {3, 7}},
        {"{a,b}:k", EVENT_KERNEL, {"a_kernel", "b_kernel"}, {1, 3}},
        {"{a:u,b:p}:kp", EVENT_KERNEL, {"a_user_kernel", "b_kernel"}, {1, 5}},
        {"{cpu/x,y=1/,cs}:W", EVENT_WEAK, {"x_y_1", "context_switches"}, {1, 12}},
        {"{cpu/name=n,x/}:u", EVENT_USER, {"n"}, {1}},
        {"L1-dcache-loads,sched:sched_switch,r1", 0, {"l1_dcache_loads", "sched_sched_switch", "r1"}, {0, 16, 35}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        size_t n = 0;
        assert_int_equal(event_list_parse(cases[i].in, &list, NULL), 0);
        assert_int_equal(list.modifiers, cases[i].out_modifiers);
        for (; n < ARRAY_SIZE(cases[i].out_metrics) && cases[i].out_metrics[n]; n++) {
            assert_true(n < list.n);
            assert_string_equal(list.events[n].metric, cases[i].out_metrics[n]);
            assert_int_equal(list.events[n].offset, cases[i].out_offsets[n]);
            assert_int_equal(list.events[n].modifiers & list.modifiers, list.modifiers);
        }
        assert_int_equal(list.n, n);
    }
}

/* `out` lists the groups in a text as "NAME=TEXT@OFFSET(METRIC...)", without "NAME=" if the group has no name. */
TEST(test_groups)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycles", "cycles@0(cycles)"},
        {"{a,b}", "{a,b}@0(a b)"},
        {"a , b ", "a , b@0(a b)"},
        {" {a,b} , {c,d}:k ", "{a,b}@1(a b) {c,d}:k@9(c_kernel d_kernel)"},
        {"a,b,{c}", "a,b@0(a b) {c}@4(c)"},
        {"{a},b,c,{d},e", "{a}@0(a) b,c@4(b c) {d}@8(d) e@12(e)"},
        {"core{a,b}", "core={a,b}@0(a b)"},
        {"core:{a,b}:u", "core={a,b}:u@0(a_user b_user)"},
        {"x-1:{a},cycles:{cycles:k},b:k", "x-1={a}@0(a) cycles={cycles:k}@8(cycles_kernel) b:k@26(b_kernel)"},
        {"l1{cpu/x,y=1/,cs}:W,{cpu/name=n,x/}", "l1={cpu/x,y=1/,cs}:W@0(x_y_1 context_switches) {cpu/name=n,x/}@20(n)"},
        {"a:u\n,\n{b}", "a:u@0(a_user) {b}@6(b)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_groups_done) struct event_groups groups = {0};
        _cleanup_(buffer_done) struct buffer text = {0};
        assert_int_equal(event_groups_parse(cases[i].in, &groups, NULL), 0);
        for (size_t k = 0; k < groups.n; k++) {
            const struct event_list *list = &groups.groups[k];
            buffer_appendf(&text, "%s%s%s%s@%zu(", k ? " " : "", list->name ? list->name : "", list->name ? "=" : "",
                           list->text, list->offset);
            for (size_t m = 0; m < list->n; m++)
                buffer_appendf(&text, "%s%s", m ? " " : "", list->events[m].metric);
            buffer_append_text(&text, ")");
        }
        _cleanup_(freep) char *out = buffer_string(&text);
        assert_string_equal(out, cases[i].out);
    }
}

/* The terms "period" and "freq" set the rate of the sampled event and are not terms of its PMU. */
TEST(test_rates)
{
    static const struct {
        const char *in;
        uint64_t out_period, out_frequency;
        size_t out_offset;
        const char *out_message; /* NULL: no error */
    } cases[] = {
        {"cycles/period=100000,config2/", 100000, 0, 0, NULL},
        {"{cycles/period=0x10/,instructions}:S", 16, 0, 0, NULL},
        {"cpu-clock/freq=99/u", 0, 99, 0, NULL},
        {"sched:sched_switch/period=1/", 1, 0, 0, NULL},
        {"cpu/event=1,period=9223372036854775807/", INT64_MAX, 0, 0, NULL},
        {"cycles/period/", 0, 0, 7, "the value of \"period\" must be a number from 1 to 2^63 - 1"},
        {"cycles/period=0/", 0, 0, 7, "must be a number from 1 to 2^63 - 1"},
        {"cycles/freq=9223372036854775808/", 0, 0, 7, "must be a number from 1 to 2^63 - 1"},
        {"cycles/period=fast/", 0, 0, 7, "must be a number from 1 to 2^63 - 1"},
        {"cycles/period=1,freq=1/", 0, 0, 16, "exclude each other, and each may be given once"},
        {"{cycles,cs/period=1/}", 0, 0, 11, "applies to sampling, and this event is only counted"},
        {"cycles/call-graph=fp/", 0, 0, 7, "is not supported: the key sampler.callchain"},
        {"cycles/no-inherit/", 0, 0, 7, "is not supported for per-CPU and cgroup counters"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        struct error error = {0};
        int r = event_list_parse_sampled(cases[i].in, &list, &error);
        if (r != (cases[i].out_message ? -EINVAL : 0))
            fail_msg("%s: %d: %s", cases[i].in, r, error.message);
        if (r < 0 && (!strstr(error.message, cases[i].out_message) || error.offset != cases[i].out_offset))
            fail_msg("%s: at %zu: %s", cases[i].in, error.offset, error.message);
        if (r == 0) {
            assert_int_equal(list.events[0].period, cases[i].out_period);
            assert_int_equal(list.events[0].frequency, cases[i].out_frequency);
            assert_null(strstr(list.events[0].metric, "period"));
        }
    }
}

/* A sampled clock event accepts the modifiers u and k; a clock event that is only counted in the group does not. */
TEST(test_sampled_clocks)
{
    static const struct {
        const char *in;
        unsigned out_modifiers; /* modifiers of the first event */
        size_t out_offset;
        const char *out_message; /* NULL: no error */
    } cases[] = {
        {"cpu-clock:u", EVENT_USER, 0, NULL},
        {"task-clock:k", EVENT_KERNEL, 0, NULL},
        {"{cpu-clock,context-switches}:u", EVENT_USER, 0, NULL},
        {"cpu-clock:I", EVENT_NO_IDLE, 0, NULL},
        {"{cpu-clock,context-switches}:Su", EVENT_USER | EVENT_SAMPLE_READ, 0, NULL},
        {"context-switches:I", 0, 17, "the modifier I has no effect on \"context-switches\""},
        {"{cycles:u},cs", 0, 11, "or sample the others in a separate stream"},
        {"core{cycles:u}", 0, 0, "leave out \"core\" before the brace"},
        {"cpu-clock:u,context-switches", EVENT_USER, 0, NULL},
        {"cpu-clock:h", 0, 10, "the modifiers h, G and H have no effect on cpu-clock"},
        {"context-switches,cpu-clock:u", 0, 27, "cpu-clock counts time"},
        {"{cycles,cpu-clock:u}", 0, 18, "cpu-clock counts time"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event_list list = {0};
        struct error error = {0};
        int r = event_list_parse_sampled(cases[i].in, &list, &error);
        if (r != (cases[i].out_message ? -EINVAL : 0))
            fail_msg("%s: %d: %s", cases[i].in, r, error.message);
        if (r == 0)
            assert_int_equal(list.events[0].modifiers, cases[i].out_modifiers);
        else if (!strstr(error.message, cases[i].out_message) || error.offset != cases[i].out_offset)
            fail_msg("%s: at %zu: %s", cases[i].in, error.offset, error.message);
        event_list_done(&list);
    }
}

/* The size of the result is limited, however long the input is. */
TEST(test_limits)
{
    static const struct {
        const char *in_start, *in_repeat, *in_end;
        size_t in_n;
        int out;
    } cases[] = {
        {"a", ",a", "", 63, 0},
        {"a", ",a", "", 64, -EINVAL},
        {"cpu/a", ",a", "/", 63, 0},
        {"cpu/a", ",a", "/", 64, -EINVAL},
        {"", "a", "", 65536, 0},
        {"", "a", "", 65537, -EINVAL},
        {"", "{", "", 60000, -EINVAL},
        {"{a}", ",{a}", "", 255, 0},
        {"{a}", ",{a}", "", 256, -EINVAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_groups_done) struct event_groups groups = {0};
        size_t step = strlen(cases[i].in_repeat);
        _cleanup_(freep) char *text = calloc(1, cases[i].in_n * step + 32);
        char *end = stpcpy(text, cases[i].in_start);
        for (size_t k = 0; k < cases[i].in_n; k++)
            end = stpcpy(end, cases[i].in_repeat);
        strcpy(end, cases[i].in_end);
        assert_int_equal(event_groups_parse(text, &groups, NULL), cases[i].out);
    }
}

/* Errors in perf's event syntax: each message and the offset that it points to */

static const struct {
    const char *in;
    size_t out_offset;
    const char *out_message; /* a part of the message */
} errors[] = {
    {"", 0, "an event is missing at the end"},
    {"{", 1, "an event is missing"},
    {"{}", 1, "an event is missing before \"}\""},
    {"{a}x", 3, "a comma or the end is missing"},
    {"{a} {b}", 4, "a comma or the end is missing"},
    {"core {a}", 5, "a comma or the end is missing"},
    {"core::{a}", 6, "a comma or the end is missing before \"{\""},
    {"{a}:u,", 6, "an event is missing at the end"},
    {"{a},,b", 4, "an event is missing before \",\""},
    {"FOO:", 4, "a modifier is missing"},
    {"skl::FOO:", 9, "a modifier is missing"},
    {"skl::FOO/name=x/", 8, "the end is missing"},
    {"r0x01234567890abcdef/name=x/", 0, "at most 16 digits"},
    {"cycles/name=x", 13, "a comma or a slash"},
    {"mem:0/config1=0xffffffff81000000/", 6, "accepts no term except \"name=\""},
    {"mem:1/9:w", 6, "1 to 8 bytes"},
    {"cpu/freq=99/", 4, "the term \"freq\" applies to sampling, and this event is only counted"},
    {"cpu/percore/", 4, "is not supported: add up"},
    {"cycles}", 6, "a comma or the end is missing before \"}\""},
    {"{a,{b}}", 3, "groups cannot be nested"},
    {"{a,x:{b}}", 3, "groups cannot be nested"},
    {"a,sched:*", 8, "patterns such as \"*\" are not supported in an event"},
    {"*:*", 0, "\"perfcountd list-events\" lists the full names"},
    {"sched:sched_?:u", 12, "patterns such as \"?\""},
    {"{a}:", 4, "a modifier is missing"},
    {"cycles:", 7, "a modifier is missing"},
    {"cycles:uu", 8, "twice"},
    {"cycles:pppp", 10, "at most 3"},
    {"cycles:\xff", 7, "unknown modifier \"0xff\""},
    {"FOO:BAR:x", 8, "unknown modifier \"x\""},
    {"\xff", 0, "byte 0xff"},
    {"r01234567890abcdef", 0, "at most 16 digits"},
    {"cycles/event=1/", 7, "write the terms of a PMU after its name, as in cpu/event=0x3c/"},
    {"cycles/config=1/", 7, "config1, config2 and config3, not \"config\""},
    {"cycles/period=3/", 7, "applies to sampling, and this event is only counted"},
    {"cs/config1=1/", 3, "accepts no term except \"name=\""},
    {"cycles/name='x/", 12, "a closing quote"},
    {"cycles/name=''/", 12, "expected printable ASCII"},
    {"uprobe/r41414141/", 7, "a probe takes no \"r41414141\""},
    {"cs:I", 3, "the modifier I has no effect on \"cs\""},
    {"mem:0:r:I", 8, "the modifier I has no effect"},
    {"sched:sched_switch:I", 19, "the modifier I has no effect"},
    {"-cycles", 0, "an event"},
    {".5", 0, "an event"},
    {"{cycles,cs}:I", 12, "the modifier I has no effect on \"cs\""},
    {"task-clock:I", 11, "task-clock counts time"},
    {"cpu/", 4, "a term"},
    {"cpu/event=0x3c", 14, "a comma or a slash is missing at the end"},
    {"mem:0x", 4, "the address must be a number like 4096 or 0x1000"},
    {"mem:1/", 6, "the length is missing at the end"},
    {"mem:1:ww", 7, "the access \"w\" is given twice"},
    {"mem:1:rq", 7, "before \"q\""},
    {"uprobe/path=/bin/bash/", 12, "add another term after it"},
    {"uprobe/path,offset=1/", 7, "the term \"path\" needs a value"},
    {"cpu/path=x/", 9, "the value of \"path\" must be a number"},
    {"cpu/event=/", 10, "a value is missing"},
    {"cpu/event=1=2/", 11, "a comma or a slash"},
    {"cpu/event=0x1ffffffffffffffff/", 10, "more than 64 bits"},
    {"cpu/event=-1/", 10, "must be a number"},
    {"cpu/a,,b/", 6, "a term"},
    {"cpu/name/", 4, "needs a value"},
    {"task-clock:u", 11, "task-clock counts time"},
    {"sched:", 6, "a modifier is missing"},
};

TEST(test_errors)
{
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct event_groups untouched = {.n = 99};
        struct error error = {0};
        int r = event_groups_parse(errors[i].in, &untouched, &error);
        if (r != -EINVAL || !strstr(error.message, errors[i].out_message) || error.offset != errors[i].out_offset)
            fail_msg("%s: at %zu: %s", errors[i].in, error.offset, error.message);
        assert_int_equal(untouched.n, 99);
    }
}

/* A group in braces is refused where a single event is expected. */
TEST(test_one_event)
{
    static const struct {
        const char *in, *out_message;
    } cases[] = {
        {"{a}", "a group is not allowed here: leave out the braces"},
        {"core:{a}", "a group is not allowed here: leave out the name and the braces"},
        {"a,b", "only one event is allowed here: add another entry to the list"},
        {"a}", "the end is missing before \"}\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event;
        struct error error = {0};
        assert_int_equal(event_parse(cases[i].in, &event, &error), -EINVAL);
        assert_string_equal(error.message, cases[i].out_message);
    }
}

/*
 * The events of perf's own parser test, tools/perf/tests/parse-events.c of Linux 6.1, and some that 6.12 adds. Each
 * case has the event that is opened on an x86 (a hybrid one for cpu_core), or the reason for the refusal. All are
 * parsed as counted events; those with terms for sampling are also parsed as sampled events.
 */

#define PERIOD "!the term \"period\" applies to sampling, and this event is only counted"
#define PATTERN "!patterns such as \"*\" are not supported in an event: \"perfcountd list-events\" lists the full names"

/*
 * Each event is METRIC TYPE:CONFIG, then config1=, config2= or bp=ADDRESS/LENGTH:ACCESS, excluded contexts after "-",
 * the flags p (precise_ip), D (pinned), e (exclusive), and period=. "|" separates groups, which may have NAME= in
 * front. "!" precedes the message of a refusal.
 */
static const struct {
    const char *in, *out;
} events[] = {
    /* test__events of Linux 6.1 */
    {"syscalls:sys_enter_openat", "syscalls_sys_enter_openat 2:0x26c"},
    {"syscalls:*", PATTERN},
    {"r1a", "r1a 4:0x1a"},
    {"1:1", "task_clock 1:0x1"},
    {"instructions", "instructions 0:0x1"},
    {"cycles/period=100000,config2/", PERIOD},
    {"faults", "page_faults 1:0x2"},
    {"L1-dcache-load-miss", "l1_dcache_load_misses 3:0x10000"},
    {"mem:0", "mem_0 5:0x0 bp=0/4:3"},
    {"mem:0:x", "mem_0_x 5:0x0 bp=0/8:4"},
    {"mem:0:r", "mem_0_r 5:0x0 bp=0/4:1"},
    {"mem:0:w", "mem_0_w 5:0x0 bp=0/4:2"},
    {"syscalls:sys_enter_openat:k", "syscalls_sys_enter_openat_kernel 2:0x26c -uh"},
    {"syscalls:*:u", PATTERN},
    {"r1a:kp", "r1a_kernel 4:0x1a -uh p1"},
    {"1:1:hp", "task_clock 1:0x1 -uk p1"},
    {"instructions:h", "instructions_hypervisor 0:0x1 -uk"},
    {"faults:u", "page_faults_user 1:0x2 -kh"},
    {"L1-dcache-load-miss:kp", "l1_dcache_load_misses_kernel 3:0x10000 -uh p1"},
    {"mem:0:u", "mem_0_user 5:0x0 bp=0/4:3 -kh"},
    {"mem:0:x:k", "mem_0_x_kernel 5:0x0 bp=0/8:4 -uh"},
    {"mem:0:r:hp", "mem_0_r_hypervisor 5:0x0 bp=0/4:1 -uk p1"},
    {"mem:0:w:up", "mem_0_w_user 5:0x0 bp=0/4:2 -kh p1"},
    {"r1,syscalls:sys_enter_openat:k,1:1:hp",
     "r1 4:0x1, syscalls_sys_enter_openat_kernel 2:0x26c -uh, task_clock 1:0x1 -uk p1"},
    {"instructions:G", "instructions_guest 0:0x1 -H"},
    {"instructions:H", "instructions_host 0:0x1 -G"},
    {"mem:0:rw", "mem_0_rw 5:0x0 bp=0/4:3"},
    {"mem:0:rw:kp", "mem_0_rw_kernel 5:0x0 bp=0/4:3 -uh p1"},
    {"{instructions:k,cycles:upp}", "instructions_kernel 0:0x1 -uh, cycles_user 0:0x0 -kh p2"},
    {"{faults:k,cache-references}:u,cycles:k",
     "page_faults_user_kernel 1:0x2 -h, cache_references_user 0:0x2 -kh | cycles_kernel 0:0x0 -uh"},
    {"group1{syscalls:sys_enter_openat:H,cycles:kppp},group2{cycles,1:3}:G,instructions:u",
     "group1=syscalls_sys_enter_openat_host 2:0x26c -G, cycles_kernel 0:0x0 -uh p3 | group2=cycles_guest 0:0x0 -H, "
     "context_switches_guest 1:0x3 -H | instructions_user 0:0x1 -kh"},
    {"{cycles:u,instructions:kp}:p", "cycles_user 0:0x0 -kh p1, instructions_kernel 0:0x1 -uh p2"},
    {"{cycles,instructions}:G,{cycles:G,instructions:G},cycles",
     "cycles_guest 0:0x0 -H, instructions_guest 0:0x1 -H | cycles_guest 0:0x0 -H, instructions_guest 0:0x1 -H | cycles "
     "0:0x0"},
    {"*:*", PATTERN},
    {"{cycles,cache-misses:G}:H", "cycles_host 0:0x0 -G, cache_misses_guest_host 0:0x3"},
    {"{cycles,cache-misses:H}:G", "cycles_guest 0:0x0 -H, cache_misses_guest_host 0:0x3"},
    {"{cycles:G,cache-misses:H}:u", "cycles_user_guest 0:0x0 -khH, cache_misses_user_host 0:0x3 -khG"},
    {"{cycles:G,cache-misses:H}:uG", "cycles_user_guest 0:0x0 -khH, cache_misses_user_guest_host 0:0x3 -kh"},
    {"{cycles,cache-misses,branch-misses}:S", "cycles 0:0x0, cache_misses 0:0x3, branch_misses 0:0x5"},
    {"{instructions,branch-misses}:Su", "instructions_user 0:0x1 -kh, branch_misses_user 0:0x5 -kh"},
    {"instructions:uDp", "instructions_user 0:0x1 -kh p1 D"},
    {"{cycles,cache-misses,branch-misses}:D", "cycles 0:0x0 D, cache_misses 0:0x3 D, branch_misses 0:0x5 D"},
    {"mem:0/1", "mem_0_1 5:0x0 bp=0/1:3"},
    {"mem:0/2:w", "mem_0_2_w 5:0x0 bp=0/2:2"},
    {"mem:0/4:rw:u", "mem_0_4_rw_user 5:0x0 bp=0/4:3 -kh"},
    {"kvm-s390:kvm_s390_create_vm", "!unknown modifier \"v\"; known are u, k, h, G, H, I, p, P, S, D, W and e"},
    {"instructions:I", "instructions 0:0x1 -I"},
    {"instructions:kIG", "instructions_kernel_guest 0:0x1 -uhHI"},
    {"task-clock:P,cycles", "task_clock 1:0x1 p3, cycles 0:0x0"},
    {"instructions/name=insn/", "insn 0:0x1"},
    {"r1234/name=rawpmu/", "rawpmu 4:0x1234"},
    {"4:0x6530160/name=numpmu/", "numpmu 4:0x6530160"},
    {"L1-dcache-misses/name=cachepmu/", "cachepmu 3:0x10000"},
    {"intel_pt//u", "!a term like \"event=0x11\" is missing before \"/\""},
    {"cycles/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks'/Duk",
     "complex_cycles_name_orig_cycles_desc_chip_clock_ticks 0:0x0 -h D"},
    {"cycles//u", "cycles_user 0:0x0 -kh"},
    {"cycles:k", "cycles_kernel 0:0x0 -uh"},
    {"instructions:uep", "instructions_user 0:0x1 -kh p1 e"},
    {"{cycles,cache-misses,branch-misses}:e", "cycles 0:0x0 e, cache_misses 0:0x3 e, branch_misses 0:0x5 e"},
    /* test__events_pmu of Linux 6.1 */
    {"cpu/config=10,config1,config2=3,period=1000/u", PERIOD},
    {"cpu/config=1,name=krava/u,cpu/config=2/u", "krava 4:0x1 -kh, config_2_user 4:0x2 -kh"},
    {"cpu/config=1,call-graph=fp,time,period=100000/,cpu/config=2,call-graph=no,time=0,period=2000/",
     "!the term \"call-graph\" applies to sampling, and this event is only counted"},
    {"cpu/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks',period=0x1,event=0x2/ukp", PERIOD},
    {"software/r1a/", "r1a 1:0x1a"},
    {"software/r0x1a/", "r0x1a 1:0x1a"},
    {"cpu_core/cpu-cycles/", "cpu_cycles 4:0x3c"},
    {"{cpu_core/cpu-cycles/,cpu_core/instructions/}", "cpu_cycles 4:0x3c, instructions 4:0xc0"},
    {"{cpu-clock,cpu_core/cpu-cycles/}", "cpu_clock 1:0x0, cpu_cycles 4:0x3c"},
    {"{cpu_core/cpu-cycles/,cpu-clock}", "cpu_cycles 4:0x3c, cpu_clock 1:0x0"},
    {"{cpu_core/cpu-cycles/k,cpu_core/instructions/u}", "cpu_cycles_kernel 4:0x3c -uh, instructions_user 4:0xc0 -kh"},
    {"cpu_core/r1a/", "r1a 4:0x1a"},
    {"cpu_core/config=10,config1,config2=3,period=1000/u", PERIOD},
    {"cpu_core/LLC-loads/", "llc_loads 3:0x400000002"},
    /* some that Linux 6.12 adds */
    {"{faults:k,branches}:u,cycles:k",
     "page_faults_user_kernel 1:0x2 -h, branches_user 0:0x4 -kh | cycles_kernel 0:0x0 -uh"},
    {"cycles/name=name/", "name 0:0x0"},
    {"mem:0/name=breakpoint/", "breakpoint 5:0x0 bp=0/4:3"},
    {"mem:0/1/name=breakpoint1/,mem:0/4:rw/name=breakpoint2/",
     "breakpoint1 5:0x0 bp=0/1:3, breakpoint2 5:0x0 bp=0/4:3"},
    {"9p:9p_client_req", "event_9p_9p_client_req 2:0x2bc"},
    {"cpu/L1-dcache-load-miss/", "l1_dcache_load_miss 3:0x10000"},
    {"cpu/instructions/", "instructions 4:0xc0"},
    {"{cpu/cycles/,cpu/cache-misses/,cpu/branch-misses/}:S", "cycles 0:0x0, cache_misses 0:0x3, branch_misses 0:0x5"},
    {"cpu/instructions/uDp", "instructions_user 4:0xc0 -kh p1 D"},
    {"cpu/cycles,name=name/", "name 0:0x0"},
};

/* Events with terms for sampling, parsed as sampled events. */
static const struct {
    const char *in, *out;
} sampled_events[] = {
    {"cycles/period=100000,config2/", "cycles_config2 0:0x0 config2=1 period=100000"},
    {"cpu/config=10,config1,config2=3,period=1000/u",
     "config_10_config1_config2_3_user 4:0xa config1=1 config2=3 -kh period=1000"},
    {"cpu/config=1,call-graph=fp,time,period=100000/,cpu/config=2,call-graph=no,time=0,period=2000/",
     "!the term \"call-graph\" is not supported: the key sampler.callchain turns call chains on and off"},
    {"cpu/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks',period=0x1,event=0x2/ukp",
     "complex_cycles_name_orig_cycles_desc_chip_clock_ticks 4:0x2 -h p1 period=1"},
    {"cpu_core/config=10,config1,config2=3,period=1000/u",
     "config_10_config1_config2_3_user 4:0xa config1=1 config2=3 -kh period=1000"},
};

static void describe_attr(struct buffer *text, const struct event *event, const struct perf_event_attr *attr)
{
    const struct {
        bool is;
        char letter;
    } excluded[] = {{attr->exclude_user, 'u'},  {attr->exclude_kernel, 'k'}, {attr->exclude_hv, 'h'},
                    {attr->exclude_guest, 'G'}, {attr->exclude_host, 'H'},   {attr->exclude_idle, 'I'}};
    bool breakpoint = attr->type == PERF_TYPE_BREAKPOINT, any = false;

    buffer_appendf(text, "%s %u:0x%llx", event->metric, attr->type, (unsigned long long)attr->config);
    if (breakpoint)
        buffer_appendf(text, " bp=%llu/%llu:%u", (unsigned long long)attr->bp_addr, (unsigned long long)attr->bp_len,
                       attr->bp_type);
    if (attr->config1 && !breakpoint)
        buffer_appendf(text, " config1=%llu", (unsigned long long)attr->config1);
    if (attr->config2 && !breakpoint)
        buffer_appendf(text, " config2=%llu", (unsigned long long)attr->config2);
    for (size_t i = 0; i < ARRAY_SIZE(excluded); i++)
        if (excluded[i].is) {
            buffer_appendf(text, "%s%c", any ? "" : " -", excluded[i].letter);
            any = true;
        }
    if (attr->precise_ip)
        buffer_appendf(text, " p%u", attr->precise_ip);
    buffer_append_text(text, attr->pinned ? " D" : "");
    buffer_append_text(text, attr->exclusive ? " e" : "");
    if (event->period)
        buffer_appendf(text, " period=%" PRIu64, event->period);
}

static int describe_group(struct sys *sys, const struct machine *machine, const struct event_list *list,
                          struct buffer *text, struct error *error)
{
    struct attr attr;
    int r = 0;

    buffer_appendf(text, "%s%s%s", text->size ? " | " : "", list->name ? list->name : "", list->name ? "=" : "");
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct event *event = &list->events[i];
        buffer_append_text(text, i > 0 ? ", " : "");
        r = attr_check(sys, machine, event, error);
        if (r == 0)
            r = attr_build(sys, machine, event, attr_pmu(machine, event, 0), &attr, error);
        if (r == 0)
            describe_attr(text, event, &attr.kernel);
    }
    return r;
}

static char *describe(struct sys *sys, const struct machine *machine, const char *in, bool sampled)
{
    _cleanup_(event_groups_done) struct event_groups groups = {0};
    _cleanup_(event_list_done) struct event_list list = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error = {0};

    int r = sampled ? event_list_parse_sampled(in, &list, &error) : event_groups_parse(in, &groups, &error);
    for (size_t i = 0; r == 0 && i < groups.n; i++)
        r = describe_group(sys, machine, &groups.groups[i], &text, &error);
    if (r == 0 && sampled)
        r = describe_group(sys, machine, &list, &text, &error);
    if (r < 0) {
        buffer_clear(&text);
        buffer_appendf(&text, "!%s", error.message);
    }
    return buffer_string(&text);
}

static struct fake_sys *make_machine(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_add_pmu(fake, "breakpoint", PERF_TYPE_BREAKPOINT, NULL, "0-3");
    fake_file(fake, "/sys/kernel/tracing/events/syscalls/sys_enter_openat/id", "620\n");
    fake_file(fake, "/sys/kernel/tracing/events/9p/9p_client_req/id", "700\n");
    return fake;
}

static void check_event(struct fake_sys *const fakes[2], struct machine *const machines[2], const char *in,
                        bool sampled, const char *out)
{
    bool hybrid = strstr(in, "cpu_core/");

    if (sizeof(void *) < 8 && strstr(in, "mem:")) {
        leave_out("64-bit addresses, for breakpoints");
        return;
    }
    _cleanup_(freep) char *text = describe(&fakes[hybrid]->sys, machines[hybrid], in, sampled);
    if (!str_equal(text, out))
        fail_msg("%s opens %s and not %s", in, text, out);
}

TEST(test_events)
{
    struct fake_sys *fakes[] = {make_machine(), captured_intel_hybrid()};
    struct machine *machines[] = {machine_of(&fakes[0]->sys), machine_of(&fakes[1]->sys)};

    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        check_event(fakes, machines, events[i].in, false, events[i].out);
    for (size_t i = 0; i < ARRAY_SIZE(sampled_events); i++)
        check_event(fakes, machines, sampled_events[i].in, true, sampled_events[i].out);
    for (size_t i = 0; i < ARRAY_SIZE(fakes); i++) {
        machine_free(machines[i]);
        fake_sys_free(fakes[i]);
    }
}

TEST_MAIN(NULL, NULL)
