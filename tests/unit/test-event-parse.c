/* SPDX-License-Identifier: Apache-2.0 */
/* perf's event syntax: kinds, terms, modifiers, groups. */
#include <inttypes.h>
#include <linux/hw_breakpoint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/event/parse.h"
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
    {"ref-cycles", EVENT_GENERIC, 9, "ref-cycles", "ref_cycles", "ref-cycles"},
    {"r11", EVENT_RAW, 0x11, "r11", "r11", "r11"},
    {"rFFff", EVENT_RAW, 0xffff, "rFFff", "rffff", "rFFff"},
    {"r0123456789abcdef", EVENT_RAW, 0x0123456789abcdef, "r0123456789abcdef", "r0123456789abcdef", "r0123456789abcdef"},
    {"r", EVENT_NAME, 0, "r", "r", "r"},
    {"r11x", EVENT_NAME, 0, "r11x", "r11x", "r11x"},
    {"sched:sched_switch", EVENT_TRACEPOINT, 0, "sched_switch", "sched_sched_switch", "sched:sched_switch"},
    {"sched:sched_switch:u", EVENT_TRACEPOINT, 0, "sched_switch", "sched_sched_switch_user", "sched:sched_switch:u"},
    {"cycles:u", EVENT_GENERIC, 0, "cycles", "cycles_user", "cycles:u"},
    {"foo:u", EVENT_NAME, 0, "foo", "foo_user", "foo:u"},
    {"foo:ukp", EVENT_NAME, 0, "foo", "foo_user_kernel", "foo:ukp"},
    {"foo:uk_", EVENT_TRACEPOINT, 0, "uk_", "foo_uk", "foo:uk_"},
    {"topdown-slots", EVENT_NAME, 0, "topdown-slots", "topdown_slots", "topdown-slots"},
    {"uops_issued.any", EVENT_NAME, 0, "uops_issued.any", "uops_issued_any", "uops_issued.any"},
    {"skl::INST_RETIRED", EVENT_NAME, 0, "skl::INST_RETIRED", "inst_retired", "skl::INST_RETIRED"},
    {"skl::INST_RETIRED:ANY_P:u", EVENT_NAME, 0, "skl::INST_RETIRED:ANY_P", "inst_retired_any_p_user",
     "skl::INST_RETIRED:ANY_P:u"},
    {"mem:0x1000", EVENT_BREAKPOINT, 0, "mem:0x1000", "mem_0x1000", "mem:0x1000"},
    {"mem:0x1000/8:w:u", EVENT_BREAKPOINT, 0, "mem:0x1000/8:w", "mem_0x1000_8_w_user", "mem:0x1000/8:w:u"},
    {"mem:load", EVENT_TRACEPOINT, 0, "load", "mem_load", "mem:load"},
    {"INST_RETIRED:ANY_P:u", EVENT_NAME, 0, "INST_RETIRED:ANY_P", "inst_retired_any_p_user", "INST_RETIRED:ANY_P:u"},
    {"skl::UOPS_ISSUED:any:c=2:e=1:k", EVENT_NAME, 0, "skl::UOPS_ISSUED:any:c=2:e=1", "uops_issued_any_c_2_e_1_kernel",
     "skl::UOPS_ISSUED:any:c=2:e=1:k"},
    {"CYCLES_X:e=1:e", EVENT_NAME, 0, "CYCLES_X:e=1", "cycles_x_e_1", "CYCLES_X:e=1:e"},
    {"4way", EVENT_NAME, 0, "4way", "event_4way", "4way"},
    {"L2_LINES_IN:S", EVENT_NAME, 0, "L2_LINES_IN:S", "l2_lines_in_s", "L2_LINES_IN:S"}, /* a unit mask */
    {"snb::L2_LINES_IN:I:u", EVENT_NAME, 0, "snb::L2_LINES_IN:I", "l2_lines_in_i_user", "snb::L2_LINES_IN:I:u"},
    {"cycles:SI", EVENT_GENERIC, 0, "cycles", "cycles", "cycles:SI"},
    {"cycles//", EVENT_GENERIC, 0, "cycles", "cycles", "cycles//"},
    {"cycles/config1=1/", EVENT_GENERIC, 0, "cycles", "cycles_config1_1", "cycles/config1=1/"},
    {"r11/config1=0x10,config2/u", EVENT_RAW, 0x11, "r11", "r11_config1_0x10_config2_user",
     "r11/config1=0x10,config2/u"},
    {"r0x1A/name=raw/", EVENT_RAW, 0x1a, "r0x1A", "raw", "r0x1A/name=raw/"},
    {"cs/name=switches/u", EVENT_GENERIC, 3, "cs", "switches", "cs/name=switches/u"},
    {"sched:sched_switch/name='a, b'/", EVENT_TRACEPOINT, 0, "sched_switch", "a_b", "sched:sched_switch/name='a, b'/"},
    {"9p:9p_client_req", EVENT_TRACEPOINT, 0, "9p_client_req", "event_9p_9p_client_req", "9p:9p_client_req"},
    {"mem:0x1000/8:w/name=x/u", EVENT_BREAKPOINT, 0, "mem:0x1000/8:w", "x", "mem:0x1000/8:w/name=x/u"},
    {"mem:0x1000//", EVENT_BREAKPOINT, 0, "mem:0x1000", "mem_0x1000", "mem:0x1000//"},
};

static void test_kinds(void **state)
{
    (void)state;
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

/* "event=60 edge=1": the names and values of terms. */
static char *terms_text(const struct event *event)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < event->n_terms; i++)
        buffer_appendf(&text, "%s%s=%" PRIu64, i ? " " : "", event->terms[i].name, event->terms[i].value);
    return buffer_string(&text);
}

static void test_pmu(void **state)
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
        {"cpu/x/u", "cpu", "x_user", "x=1", EVENT_USER},
        {"cpu/x/:uk", "cpu", "x_user_kernel", "x=1", EVENT_USER | EVENT_KERNEL},
        {"cpu/config1=0xffffffffffffffff/", "cpu", "config1_0xffffffffffffffff", "config1=18446744073709551615", 0},
    };

    (void)state;
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

static void test_breakpoints(void **state)
{
    static const struct {
        const char *in;
        struct event_breakpoint out;
        unsigned out_modifiers;
    } cases[] = {
        {"mem:0x1000", {0x1000, 4, HW_BREAKPOINT_RW}, 0},
        {"mem:4096:rw", {0x1000, 4, HW_BREAKPOINT_RW}, 0},
        {"mem:0xffffffff81000000:x", {0xffffffff81000000, sizeof(long), HW_BREAKPOINT_X}, 0},
        {"mem:0x1000/1:r", {0x1000, 1, HW_BREAKPOINT_R}, 0},
        {"mem:0x1000/8:wr:k", {0x1000, 8, HW_BREAKPOINT_RW}, EVENT_KERNEL},
        {"mem:0x1000/2:u", {0x1000, 2, HW_BREAKPOINT_RW}, EVENT_USER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        assert_int_equal(event.kind, EVENT_BREAKPOINT);
        assert_true(event.breakpoint.address == cases[i].out.address);
        assert_int_equal(event.breakpoint.length, cases[i].out.length);
        assert_int_equal(event.breakpoint.access, cases[i].out.access);
        assert_int_equal(event.modifiers, cases[i].out_modifiers);
    }
}

/* Terms that are text, one of them with slashes. */
static void test_probes(void **state)
{
    static const struct {
        const char *in, *out_term, *out_text, *out_metric;
        size_t out_n;
    } cases[] = {
        {"kprobe/func=do_sys_open/", "func", "do_sys_open", "func_do_sys_open", 1},
        {"kprobe/func=vfs_read.isra.0,offset=0x4,retprobe/k", "func", "vfs_read.isra.0",
         "func_vfs_read_isra_0_offset_0x4_retprobe_kernel", 3},
        {"uprobe/path=/bin/bash,offset=0x1234,name=shells/", "path", "/bin/bash", "shells", 2},
        {"uprobe/retprobe,path=/opt/a b/", NULL, NULL, NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        int r = event_parse(cases[i].in, &event, NULL);
        assert_int_equal(r, cases[i].out_term ? 0 : -EINVAL);
        if (r < 0)
            continue;
        assert_int_equal(event.n_terms, cases[i].out_n);
        assert_string_equal(event.terms[0].name, cases[i].out_term);
        assert_string_equal(event.terms[0].text, cases[i].out_text);
        assert_string_equal(event.metric, cases[i].out_metric);
    }
}

static void test_modifiers(void **state)
{
    static const struct {
        const char *in;
        unsigned out_modifiers, out_precise;
        const char *out_metric;
    } cases[] = {
        {"cycles:u", EVENT_USER, 0, "cycles_user"},
        {"cycles:k", EVENT_KERNEL, 0, "cycles_kernel"},
        {"cycles:h", EVENT_HYPERVISOR, 0, "cycles_hypervisor"},
        {"cycles:HGhku", EVENT_HOST | EVENT_GUEST | EVENT_HYPERVISOR | EVENT_KERNEL | EVENT_USER, 0,
         "cycles_user_kernel_hypervisor_guest_host"},
        {"cycles:p", 0, 1, "cycles"},
        {"cycles:ppp", 0, 3, "cycles"},
        {"cycles:pup", EVENT_USER, 2, "cycles_user"},
        {"cycles:P", 0, 3, "cycles"},
        {"cycles:DWe", EVENT_PINNED | EVENT_WEAK | EVENT_EXCLUSIVE, 0, "cycles"},
        {"cycles:SIu", EVENT_SAMPLE_READ | EVENT_NO_IDLE | EVENT_USER, 0, "cycles_user"},
        {"task-clock:D", EVENT_PINNED, 0, "task_clock"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        assert_int_equal(event.modifiers, cases[i].out_modifiers);
        assert_int_equal(event.precise, cases[i].out_precise);
        assert_string_equal(event.metric, cases[i].out_metric);
    }
}

static void test_lists(void **state)
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

    (void)state;
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

/* A clock that samples takes u and k; another clock in its group counts and does not. */
static void test_sampled_clocks(void **state)
{
    static const struct {
        const char *in;
        unsigned out_modifiers; /* those of the first event */
        size_t out_offset;
        const char *out_message; /* NULL: no error */
    } cases[] = {
        {"cpu-clock:u", EVENT_USER, 0, NULL},
        {"task-clock:k", EVENT_KERNEL, 0, NULL},
        {"cpu-clock:uk", EVENT_USER | EVENT_KERNEL, 0, NULL},
        {"{cpu-clock,context-switches}:u", EVENT_USER, 0, NULL},
        {"cpu-clock:I", EVENT_NO_IDLE, 0, NULL},
        {"{cpu-clock,context-switches}:Su", EVENT_USER | EVENT_SAMPLE_READ, 0, NULL},
        {"context-switches:I", 0, 17, "the modifier I does nothing on \"context-switches\""},
        {"{cycles:u},cs", 0, 11, "or sample the others in a stream of their own"},
        {"cpu-clock:u,context-switches", EVENT_USER, 0, NULL},
        {"cpu-clock:h", 0, 10, "the modifiers h, G and H do nothing on cpu-clock"},
        {"{task-clock}:uG", 0, 13, "the modifiers h, G and H do nothing on task-clock"},
        {"context-switches,cpu-clock:u", 0, 27, "cpu-clock counts time"},
        {"{cpu-clock,task-clock}:u", 0, 23, "task-clock counts time"},
        {"{cycles,cpu-clock:u}", 0, 18, "cpu-clock counts time"},
    };

    (void)state;
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

/* The result is bounded, however long the input is. */
static void test_limits(void **state)
{
    static const struct {
        const char *in_start, *in_repeat, *in_end;
        size_t in_n;
        int out;
    } cases[] = {
        {"a", ",a", "", 63, 0},        {"a", ",a", "", 64, -EINVAL},
        {"cpu/a", ",a", "/", 63, 0},   {"cpu/a", ",a", "/", 64, -EINVAL},
        {"", "a", "", 65536, 0},       {"", "a", "", 65537, -EINVAL},
        {"", "{", "", 60000, -EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        size_t step = strlen(cases[i].in_repeat);
        _cleanup_(freep) char *text = calloc(1, cases[i].in_n * step + 32);
        char *end = stpcpy(text, cases[i].in_start);
        for (size_t k = 0; k < cases[i].in_n; k++)
            end = stpcpy(end, cases[i].in_repeat);
        strcpy(end, cases[i].in_end);
        assert_int_equal(event_list_parse(text, &list, NULL), cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),          cmocka_unit_test(test_pmu),       cmocka_unit_test(test_breakpoints),
        cmocka_unit_test(test_probes),         cmocka_unit_test(test_modifiers), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_sampled_clocks), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
