/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a client of a stream may name. */
#include "base/cleanup.h"
#include "perf/event/parse.h"
#include "sampler/client-event.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static struct fake_sys *make_machine(struct machine **ret)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_add_pmu(fake, "uprobe", 7, NULL, "0-3");
    fake_add_pmu(fake, "kprobe", 6, NULL, "0-3");
    fake_add_pmu(fake, "breakpoint", 5, NULL, "0-3");
    fake_add_pmu(fake, "intel_pt", 23, NULL, "0-3");
    fake_pmu_file(fake, "intel_pt", "events/trace-it", "config=1\n");
    assert_int_equal(machine_load(&fake->sys, ret, NULL), 0);
    return fake;
}

static const struct {
    const char *in;
    int out;
} verdicts[] = {
    {"cycles", 0},
    {"cpu-clock", 0},
    {"r11", 0},
    {"1:0", 0},
    {"4:0x11/config1=1/", 0},
    {"cycles/name=x/", 0},
    {"mem:0x1000:w/name=x/", -EACCES},
    {"syscalls:sys_enter_openat/name=x/", -EACCES},
    {"L1-dcache-load-misses", 0},
    {"cpu/event=0x3c/", 0},
    {"sched:sched_switch", 0},
    {"sched:sched_switch:k", 0},
    {"sched:sched_switc", -EACCES},
    {"sched:sched_switch_more", -EACCES},
    {"sche:d_sched_switch", -EACCES},
    {"syscalls:sys_enter_openat", -EACCES},
    {"tracepoint/config=310/", -EACCES},
    {"breakpoint/config1=0x1000,config2=8/", -EACCES},
    {"mem:0x1000:w", -EACCES},
    {"mem:0xffffffff81000000:w", -EACCES},
    {"uprobe/path=/bin/sh,offset=0x10/", -EACCES},
    {"kprobe/func=vfs_read/", -EACCES},
    {"kprobe/addr=0x77/", -EACCES},
    {"intel_pt/config=1/", -EACCES},
    {"intel_pt_4/config=1/", -EACCES},
    {"trace-it", -EACCES},
    {"uprobe/retprobe/", -EACCES},
};

static void test_verdicts(void **state)
{
    char *listed[] = {(char *)"sched:sched_switch", (char *)"sched:sched_wakeup"};
    const struct config_sampler config = {.tracepoints = listed, .n_tracepoints = ARRAY_SIZE(listed)};
    struct machine *machine = NULL;
    struct fake_sys *fake = make_machine(&machine);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        _cleanup_(event_done) struct event event = {0};
        struct error error = {0};
        if (event_parse(verdicts[i].in, &event, &error) < 0)
            fail_msg("%s: %s", verdicts[i].in, error.message);
        int r = client_event_check(&config, machine, &event, &error);
        if (r != verdicts[i].out)
            fail_msg("%s: %d, not %d", verdicts[i].in, r, verdicts[i].out);
        assert_true(r == 0 || strstr(error.message, verdicts[i].in));
    }
    machine_free(machine);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
