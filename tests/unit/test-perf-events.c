/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of perf's own test of its parser, tools/perf/tests/parse-events.c of Linux 6.1 and 6.12, but for those
 * with
 * "*", for Intel PT, which traces, and for s390: what each opens on an x86 (where it names cpu_core, a hybrid one), or
 * why it must be refused.
 */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/attr.h"
#include "perf/event/parse.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

#define CLOCK_MODIFIERS "task-clock counts time whatever the CPU does"
#define PERIOD "the term \"period\" is for sampling"
#define ONE_GROUP "write one more entry in the list \"groups\""

/*
 * Each event as METRIC TYPE:CONFIG, then config1=, config2= or bp=ADDRESS/LENGTH:ACCESS, what is excluded behind "-",
 * and the flags p (how precise), D (pinned), e (exclusive); "!" before the reason of a refusal.
 */
static const struct {
    const char *in, *out;
} events[] = {
    /* test__events of 6.1 */
    {"syscalls:sys_enter_openat", "syscalls_sys_enter_openat 2:0x26c"},
    {"r1a", "r1a 4:0x1a"},
    {"1:1", "task_clock 1:0x1"},
    {"instructions", "instructions 0:0x1"},
    {"cycles/period=100000,config2/", "!" PERIOD},
    {"faults", "page_faults 1:0x2"},
    {"L1-dcache-load-miss", "l1_dcache_load_misses 3:0x10000"},
    {"mem:0", "mem_0 5:0x0 bp=0/4:3"},
    {"mem:0:x", "mem_0_x 5:0x0 bp=0/8:4"},
    {"mem:0:r", "mem_0_r 5:0x0 bp=0/4:1"},
    {"mem:0:w", "mem_0_w 5:0x0 bp=0/4:2"},
    {"syscalls:sys_enter_openat:k", "syscalls_sys_enter_openat_kernel 2:0x26c -uh"},
    {"r1a:kp", "r1a_kernel 4:0x1a -uh p1"},
    {"1:1:hp", "!" CLOCK_MODIFIERS},
    {"instructions:h", "instructions_hypervisor 0:0x1 -uk"},
    {"faults:u", "page_faults_user 1:0x2 -kh"},
    {"L1-dcache-load-miss:kp", "l1_dcache_load_misses_kernel 3:0x10000 -uh p1"},
    {"mem:0:u", "mem_0_user 5:0x0 bp=0/4:3 -kh"},
    {"mem:0:x:k", "mem_0_x_kernel 5:0x0 bp=0/8:4 -uh"},
    {"mem:0:r:hp", "mem_0_r_hypervisor 5:0x0 bp=0/4:1 -uk p1"},
    {"mem:0:w:up", "mem_0_w_user 5:0x0 bp=0/4:2 -kh p1"},
    {"r1,syscalls:sys_enter_openat:k,1:1:hp", "!" CLOCK_MODIFIERS},
    {"instructions:G", "instructions_guest 0:0x1 -H"},
    {"instructions:H", "instructions_host 0:0x1 -G"},
    {"mem:0:rw", "mem_0_rw 5:0x0 bp=0/4:3"},
    {"mem:0:rw:kp", "mem_0_rw_kernel 5:0x0 bp=0/4:3 -uh p1"},
    {"{instructions:k,cycles:upp}", "instructions_kernel 0:0x1 -uh, cycles_user 0:0x0 -kh p2"},
    {"{faults:k,cache-references}:u,cycles:k", "!" ONE_GROUP},
    {"group1{syscalls:sys_enter_openat:H,cycles:kppp},group2{cycles,1:3}:G,instructions:u",
     "!a group has no name here: leave out \"group1\" before the brace"},
    {"{cycles:u,instructions:kp}:p", "cycles_user 0:0x0 -kh p1, instructions_kernel 0:0x1 -uh p2"},
    {"{cycles,instructions}:G,{cycles:G,instructions:G},cycles", "!" ONE_GROUP},
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
    {"instructions:I", "instructions 0:0x1 -I"},
    {"instructions:kIG", "instructions_kernel_guest 0:0x1 -uhHI"},
    {"task-clock:P,cycles", "task_clock 1:0x1 p3, cycles 0:0x0"},
    {"instructions/name=insn/", "insn 0:0x1"},
    {"r1234/name=rawpmu/", "rawpmu 4:0x1234"},
    {"4:0x6530160/name=numpmu/", "numpmu 4:0x6530160"},
    {"L1-dcache-misses/name=cachepmu/", "cachepmu 3:0x10000"},
    {"cycles/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks'/Duk",
     "complex_cycles_name_orig_cycles_desc_chip_clock_ticks 0:0x0 -h D"},
    {"cycles//u", "cycles_user 0:0x0 -kh"},
    {"cycles:k", "cycles_kernel 0:0x0 -uh"},
    {"instructions:uep", "instructions_user 0:0x1 -kh p1 e"},
    {"{cycles,cache-misses,branch-misses}:e", "cycles 0:0x0 e, cache_misses 0:0x3 e, branch_misses 0:0x5 e"},
    /* test__events_pmu of 6.1 */
    {"cpu/config=10,config1,config2=3,period=1000/u", "!" PERIOD},
    {"cpu/config=1,name=krava/u,cpu/config=2/u", "krava 4:0x1 -kh, config_2_user 4:0x2 -kh"},
    {"cpu/config=1,call-graph=fp,time,period=100000/,cpu/config=2,call-graph=no,time=0,period=2000/",
     "!the term \"call-graph\" is for sampling"},
    {"cpu/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks',period=0x1,event=0x2/ukp", "!" PERIOD},
    {"software/r1a/", "r1a 1:0x1a"},
    {"software/r0x1a/", "r0x1a 1:0x1a"},
    {"cpu_core/cpu-cycles/", "cpu_cycles 4:0x3c"},
    {"{cpu_core/cpu-cycles/,cpu_core/instructions/}", "cpu_cycles 4:0x3c, instructions 4:0xc0"},
    {"{cpu-clock,cpu_core/cpu-cycles/}", "cpu_clock 1:0x0, cpu_cycles 4:0x3c"},
    {"{cpu_core/cpu-cycles/,cpu-clock}", "cpu_cycles 4:0x3c, cpu_clock 1:0x0"},
    {"{cpu_core/cpu-cycles/k,cpu_core/instructions/u}", "cpu_cycles_kernel 4:0x3c -uh, instructions_user 4:0xc0 -kh"},
    {"cpu_core/r1a/", "r1a 4:0x1a"},
    {"cpu_core/config=10,config1,config2=3,period=1000/u", "!" PERIOD},
    {"cpu_core/LLC-loads/", "llc_loads 3:0x400000002"},
    /* what 6.12 has besides */
    {"{faults:k,branches}:u,cycles:k", "!" ONE_GROUP},
    {"cycles/name=name/", "name 0:0x0"},
    {"cycles/name=l1d/", "l1d 0:0x0"},
    {"mem:0/name=breakpoint/", "breakpoint 5:0x0 bp=0/4:3"},
    {"mem:0:x/name=breakpoint/", "breakpoint 5:0x0 bp=0/8:4"},
    {"mem:0:r/name=breakpoint/", "breakpoint 5:0x0 bp=0/4:1"},
    {"mem:0:w/name=breakpoint/", "breakpoint 5:0x0 bp=0/4:2"},
    {"mem:0/name=breakpoint/u", "breakpoint 5:0x0 bp=0/4:3 -kh"},
    {"mem:0:x/name=breakpoint/k", "breakpoint 5:0x0 bp=0/8:4 -uh"},
    {"mem:0:r/name=breakpoint/hp", "breakpoint 5:0x0 bp=0/4:1 -uk p1"},
    {"mem:0:w/name=breakpoint/up", "breakpoint 5:0x0 bp=0/4:2 -kh p1"},
    {"mem:0:rw/name=breakpoint/", "breakpoint 5:0x0 bp=0/4:3"},
    {"mem:0:rw/name=breakpoint/kp", "breakpoint 5:0x0 bp=0/4:3 -uh p1"},
    {"mem:0/1/name=breakpoint/", "breakpoint 5:0x0 bp=0/1:3"},
    {"mem:0/2:w/name=breakpoint/", "breakpoint 5:0x0 bp=0/2:2"},
    {"mem:0/4:rw/name=breakpoint/u", "breakpoint 5:0x0 bp=0/4:3 -kh"},
    {"mem:0/1/name=breakpoint1/,mem:0/4:rw/name=breakpoint2/",
     "breakpoint1 5:0x0 bp=0/1:3, breakpoint2 5:0x0 bp=0/4:3"},
    {"9p:9p_client_req", "event_9p_9p_client_req 2:0x2bc"},
    {"cpu/config=10,config1=1,config2=3,period=1000/u", "!" PERIOD},
    {"cpu/L1-dcache-load-miss/", "l1_dcache_load_miss 3:0x10000"},
    {"cpu/L1-dcache-load-miss/kp", "l1_dcache_load_miss_kernel 3:0x10000 -uh p1"},
    {"cpu/L1-dcache-misses,name=cachepmu/", "cachepmu 3:0x10000"},
    {"cpu/instructions/", "instructions 4:0xc0"},
    {"cpu/cycles,period=100000,config2/", "!" PERIOD},
    {"cpu/instructions/h", "instructions_hypervisor 4:0xc0 -uk"},
    {"cpu/instructions/G", "instructions_guest 4:0xc0 -H"},
    {"cpu/instructions/H", "instructions_host 4:0xc0 -G"},
    {"{cpu/instructions/k,cpu/cycles/upp}", "instructions_kernel 4:0xc0 -uh, cycles_user 0:0x0 -kh p2"},
    {"{cpu/cycles/u,cpu/instructions/kp}:p", "cycles_user 0:0x0 -kh p1, instructions_kernel 4:0xc0 -uh p2"},
    {"{cpu/cycles/,cpu/cache-misses/G}:H", "cycles_host 0:0x0 -G, cache_misses_guest_host 0:0x3"},
    {"{cpu/cycles/,cpu/cache-misses/H}:G", "cycles_guest 0:0x0 -H, cache_misses_guest_host 0:0x3"},
    {"{cpu/cycles/G,cpu/cache-misses/H}:u", "cycles_user_guest 0:0x0 -khH, cache_misses_user_host 0:0x3 -khG"},
    {"{cpu/cycles/G,cpu/cache-misses/H}:uG", "cycles_user_guest 0:0x0 -khH, cache_misses_user_guest_host 0:0x3 -kh"},
    {"{cpu/cycles/,cpu/cache-misses/,cpu/branch-misses/}:S", "cycles 0:0x0, cache_misses 0:0x3, branch_misses 0:0x5"},
    {"{cpu/instructions/,cpu/branch-misses/}:Su", "instructions_user 4:0xc0 -kh, branch_misses_user 0:0x5 -kh"},
    {"cpu/instructions/uDp", "instructions_user 4:0xc0 -kh p1 D"},
    {"{cpu/cycles/,cpu/cache-misses/,cpu/branch-misses/}:D",
     "cycles 0:0x0 D, cache_misses 0:0x3 D, branch_misses 0:0x5 D"},
    {"cpu/instructions/I", "instructions 4:0xc0 -I"},
    {"cpu/instructions/kIG", "instructions_kernel_guest 4:0xc0 -uhHI"},
    {"cpu/cycles/u", "cycles_user 0:0x0 -kh"},
    {"cpu/cycles/k", "cycles_kernel 0:0x0 -uh"},
    {"cpu/instructions/uep", "instructions_user 4:0xc0 -kh p1 e"},
    {"{cpu/cycles/,cpu/cache-misses/,cpu/branch-misses/}:e",
     "cycles 0:0x0 e, cache_misses 0:0x3 e, branch_misses 0:0x5 e"},
    {"cpu/cycles,name=name/", "name 0:0x0"},
    {"cpu/cycles,name=l1d/", "l1d 0:0x0"},
};

static void describe_attr(struct buffer *text, const struct event *event, const struct perf_event_attr *attr)
{
    const char excluded[] = {attr->exclude_user ? 'u' : ' ',
                             attr->exclude_kernel ? 'k' : ' ',
                             attr->exclude_hv ? 'h' : ' ',
                             attr->exclude_guest ? 'G' : ' ',
                             attr->exclude_host ? 'H' : ' ',
                             attr->exclude_idle ? 'I' : ' ',
                             '\0'};
    bool breakpoint = attr->type == PERF_TYPE_BREAKPOINT, any = false;

    buffer_appendf(text, "%s%s %u:0x%llx", text->size ? ", " : "", event->metric, attr->type,
                   (unsigned long long)attr->config);
    if (breakpoint)
        buffer_appendf(text, " bp=%llu/%llu:%u", (unsigned long long)attr->bp_addr, (unsigned long long)attr->bp_len,
                       attr->bp_type);
    if (attr->config1 && !breakpoint)
        buffer_appendf(text, " config1=%llu", (unsigned long long)attr->config1);
    if (attr->config2 && !breakpoint)
        buffer_appendf(text, " config2=%llu", (unsigned long long)attr->config2);
    for (const char *c = excluded; *c; c++) {
        if (*c != ' ')
            buffer_appendf(text, "%s%c", any ? "" : " -", *c);
        any = any || *c != ' ';
    }
    if (attr->precise_ip)
        buffer_appendf(text, " p%u", attr->precise_ip);
    buffer_append_text(text, attr->pinned ? " D" : "");
    buffer_append_text(text, attr->exclusive ? " e" : "");
}

static char *describe(struct sys *sys, const struct machine *machine, const char *in)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error = {0};
    struct attr attr;

    int r = event_list_parse(in, &list, &error);
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        r = attr_check(sys, machine, &list.events[i], &error);
        if (r == 0)
            r = attr_build(sys, machine, &list.events[i], attr_pmu(machine, &list.events[i], 0), &attr, &error);
        if (r == 0)
            describe_attr(&text, &list.events[i], &attr.kernel);
    }
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

/* The first events of the table, and how many of them are refused: CHANGELOG.md says so. */
#define OF_6_1 54
#define REFUSED_OF_6_1 6

static void test_events(void **state)
{
    struct fake_sys *fakes[] = {make_machine(), captured_intel_hybrid()};
    struct machine *machines[] = {machine_of(&fakes[0]->sys), machine_of(&fakes[1]->sys)};
    unsigned refused = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        if (sizeof(void *) < 8 && strstr(events[i].in, "mem:")) {
            print_message("skipped: %s: what a breakpoint watches differs where addresses have 32 bits\n",
                          events[i].in);
            continue;
        }
        bool hybrid = strstr(events[i].in, "cpu_core/");
        _cleanup_(freep) char *text = describe(&fakes[hybrid]->sys, machines[hybrid], events[i].in);
        bool error = events[i].out[0] == '!';
        refused += error && i < OF_6_1;
        if (error ? text[0] != '!' || !strstr(text, events[i].out + 1) : !str_equal(text, events[i].out))
            fail_msg("%s opens %s and not %s", events[i].in, text, events[i].out);
    }
    assert_string_equal(events[OF_6_1].in, "cpu/config=10,config1,config2=3,period=1000/u");
    assert_int_equal(refused, REFUSED_OF_6_1);
    for (size_t i = 0; i < ARRAY_SIZE(fakes); i++) {
        machine_free(machines[i]);
        fake_sys_free(fakes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_events)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
