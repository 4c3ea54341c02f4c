/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on simulated machines: the PMU that counts them on each CPU, their attributes, and errors for unknown events.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/attr.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/parse-event.h"

#define NOBODY 65534

enum simulated { ONE_PMU, BIG_LITTLE, NO_PMU, EXTENDED, N_SIMULATED };

struct fixture {
    struct fake_sys *fakes[N_SIMULATED];
    struct machine *machines[N_SIMULATED];
};

static const struct {
    enum simulated machine;
    const char *pmu, *path, *text;
} files[] = {
    {BIG_LITTLE, "armv8_cortex_a76", "format/threshold", "config1:5-16"},
    {BIG_LITTLE, "armv8_cortex_a76", "format/threshold_compare", "config1:3-4"},
    {BIG_LITTLE, "armv8_cortex_a76", "format/threshold_count", "config1:2"},
    {BIG_LITTLE, "armv8_cortex_a76", "caps/threshold_max", "0x000000ff"},
    {BIG_LITTLE, "armv8_cortex_a55", "format/threshold", "config1:5-16"},
    {BIG_LITTLE, "armv8_cortex_a55", "caps/threshold_max", "0x00000000"},
    {ONE_PMU, "kprobe", "format/retprobe", "config:0"},
    {ONE_PMU, "hollow", "type", "22"},
    {ONE_PMU, "hollow", "cpus", "x"},
    {ONE_PMU, "uncore_imc_0", "format/event", "config:0-7"},
    {ONE_PMU, "cpu", "events/torn", "event="},
    {ONE_PMU, "cpu", "format/rent", "config:99"},
    {ONE_PMU, "cpu", "events/parametric", "event=0x1,umask=?"},
    {ONE_PMU, "cpu", "events/odd", "event=some"},
    {ONE_PMU, "cpu", "events/wide", "event=0x100"},
    {ONE_PMU, "cpu", "format/split", "config2:0-3,60-63"},
    {ONE_PMU, "cpu", "format/third", "config3:0-3"},
    {ONE_PMU, "cpu", "events/branches", "event="},
};

static int setup(void **state)
{
    static struct fixture fixture;
    struct fake_sys **fakes = fixture.fakes;

    fakes[ONE_PMU] = fake_machine_one_pmu();
    fakes[BIG_LITTLE] = fake_machine_big_little();
    fakes[NO_PMU] = fake_machine_no_pmu();
    fakes[EXTENDED] = fake_machine_big_little();
    fakes[EXTENDED]->extended_types = true;
    fake_add_pmu(fakes[ONE_PMU], "breakpoint", PERF_TYPE_BREAKPOINT, NULL, "0-3");
    fake_add_pmu(fakes[ONE_PMU], "kprobe", 6, NULL, "0-3");
    fake_add_pmu(fakes[ONE_PMU], "uncore_imc_0", 20, "cpumask", "0");
    fake_add_pmu(fakes[ONE_PMU], "uncore_imc_1", 21, "cpumask", "0");
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        fake_pmu_file(fakes[files[i].machine], files[i].pmu, files[i].path, files[i].text);
    for (size_t i = 0; i < N_SIMULATED; i++)
        fixture.machines[i] = machine_of(&fakes[i]->sys);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < N_SIMULATED; i++) {
        machine_free(fixture->machines[i]);
        fake_sys_free(fixture->fakes[i]);
    }
    return 0;
}

static const struct {
    enum simulated in_machine;
    const char *in;
    unsigned in_cpu;
    uint32_t out_type;
    uint64_t out_config[3];
    const char *out_unit;
    double out_scale;
} build_cases[] = {
    {ONE_PMU, "LLC-load-misses", 0, PERF_TYPE_HW_CACHE, {0x10002}, "", 1},
    {ONE_PMU, "1:1", 0, PERF_TYPE_SOFTWARE, {1}, "seconds", 1e-9},
    {ONE_PMU, "4:0x11/config1=1,config2=2/", 0, 4, {0x11, 1, 2}, "", 1},
    {EXTENDED, "0:0/config1=3/", 7, PERF_TYPE_HARDWARE, {UINT64_C(9) << 32, 3}, "", 1},
    {BIG_LITTLE, "armv8_cortex_a76/cycles/", 4, PERF_TYPE_HARDWARE, {0}, "", 1},
    {EXTENDED, "armv8_cortex_a76/cycles/", 4, PERF_TYPE_HARDWARE, {UINT64_C(9) << 32}, "", 1},
    {EXTENDED, "armv8_cortex_a55/LLC-loads/", 0, PERF_TYPE_HW_CACHE, {UINT64_C(8) << 32 | 2}, "", 1},
    {BIG_LITTLE, "armv8_cortex_a55/r1a/", 0, 8, {0x1a}, "", 1},
    {ONE_PMU, "task-clock", 0, PERF_TYPE_SOFTWARE, {1}, "seconds", 1e-9},
    {ONE_PMU, "uncore_imc/event=7/", 0, 20, {7}, "", 1},
    {ONE_PMU, "mem:0x1000/8:w:u", 0, PERF_TYPE_BREAKPOINT, {0, 0x1000, 8}, "", 1},
    {ONE_PMU, "kprobe/addr=0x77,offset=0x77,retprobe/", 0, 6, {1, 0, 0x77}, "", 1},
    {BIG_LITTLE, "armv8_cortex_a76/cpu_cycles,long/", 4, 9, {0x11, 1}, "", 1},
    {BIG_LITTLE,
     "armv8_cortex_a76/event=0x24,threshold=255,threshold_compare=2,threshold_count/",
     4,
     9,
     {0x24, 0xff << 5 | 2 << 3 | 1 << 2},
     "",
     1},
    {EXTENDED, "cycles", 0, PERF_TYPE_HARDWARE, {UINT64_C(8) << 32}, "", 1},
    {EXTENDED, "LLC-load-misses", 7, PERF_TYPE_HW_CACHE, {UINT64_C(9) << 32 | 0x10002}, "", 1},
    {ONE_PMU, "r1234", 0, 4, {0x1234}, "", 1},
    {ONE_PMU, "sched:sched_switch", 0, PERF_TYPE_TRACEPOINT, {316}, "", 1},
    {ONE_PMU, "cpu/event=0x3c,umask=0x1/", 0, 4, {0x13c}, "", 1},
    {ONE_PMU, "cpu/event=60,edge,cmask=255/", 0, 4, {0xff04003c}, "", 1},
    {ONE_PMU, "cpu/mem-loads/", 0, 4, {0x1cd, 3}, "", 1},
    {ONE_PMU, "cpu/mem-loads,ldlat=30/", 0, 4, {0x1cd, 30}, "", 1},
    {ONE_PMU, "cpu/ldlat=30,mem-loads/", 0, 4, {0x1cd, 30}, "", 1},
    {ONE_PMU, "cpu/umask=2,config=0x4400ff,config1=7/", 0, 4, {0x4402ff, 7}, "", 1},
    {ONE_PMU, "cpu/split=0xa5/", 0, 4, {0, 0, 0xa000000000000005}, "", 1},
    {ONE_PMU, "cpu/parametric,umask=2/", 0, 4, {0x201}, "", 1},
    {ONE_PMU, "cpu/config3=0/", 0, 4, {0}, "", 1},
    {ONE_PMU, "topdown-slots", 0, 4, {0x400}, "", 4},
    {ONE_PMU, "energy-pkg", 0, 11, {2}, "joules", 0x1p-32},
    {BIG_LITTLE, "r11", 3, 8, {0x11}, "", 1},
    {BIG_LITTLE, "r11", 4, 9, {0x11}, "", 1},
    {BIG_LITTLE, "l2d_cache_refill", 0, 8, {0x17}, "", 1},
    {NO_PMU, "r11", 0, PERF_TYPE_RAW, {0x11}, "", 1},
};

TEST(test_build)
{
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(build_cases); i++) {
        _cleanup_(event_done) struct event event = parsed_event(build_cases[i].in);
        const struct machine *machine = fixture->machines[build_cases[i].in_machine];
        struct sys *sys = &fixture->fakes[build_cases[i].in_machine]->sys;
        struct attr attr;
        struct error error;
        const struct pmu *pmu = attr_pmu(machine, &event, build_cases[i].in_cpu);
        for (size_t k = 0; !pmu && k < machine->n_pmus; k++)
            pmu = attr_names_pmu(machine, &event, machine->pmus[k]) ? machine->pmus[k] : NULL;
        assert_non_null(pmu);
        if (attr_build(sys, machine, &event, pmu, &attr, &error) < 0)
            fail_msg("%s: %s", build_cases[i].in, error.message);
        assert_int_equal(attr_check(sys, machine, &event, NULL), 0);
        assert_ptr_equal(attr.pmu, pmu);
        assert_int_equal(attr.kernel.type, build_cases[i].out_type);
        assert_int_equal(attr.kernel.size, sizeof(attr.kernel));
        assert_true(attr.kernel.config == build_cases[i].out_config[0]);
        assert_true(attr.kernel.config1 == build_cases[i].out_config[1]);
        assert_true(attr.kernel.config2 == build_cases[i].out_config[2]);
        assert_string_equal(attr.unit, build_cases[i].out_unit);
        assert_true(attr.scale == build_cases[i].out_scale);
    }
}

static const struct {
    enum simulated in_machine;
    const char *in;
    int out;
    size_t out_offset;
    const char *out_message;
} error_cases[] = {
    {ONE_PMU, "cpu/evnt=1/", -ENOENT, 4, "PMU \"cpu\" has no event or term \"evnt\"; did you mean \"event\""},
    {ONE_PMU, "power/cycles/", -ENOENT, 6, "no event or term \"cycles\""},
    {ONE_PMU, "torn", -EINVAL, 0, "\"torn\" of PMU \"cpu\" cannot be used"},
    {ONE_PMU, "cpu/cs/", -ENOENT, 4, "PMU \"cpu\" has no event or term \"cs\""},
    {ONE_PMU, "cpu/mem-loads=1/", -ENOENT, 4, "no event or term \"mem-loads\""},
    {ONE_PMU, "cpu/event=1,umask=0x1ff/", -EINVAL, 12, "0x1ff of \"umask\" is too large: PMU \"cpu\" has 8 bits"},
    {ONE_PMU, "cpu/wide/", -EINVAL, 4, "0x100 of \"event\" is too large"},
    {ONE_PMU, "cpu/parametric/", -EINVAL, 4, "needs a value for \"umask\": cpu/parametric,umask=.../"},
    {ONE_PMU, "parametric", -EINVAL, 0, "needs a value for \"umask\""},
    {ONE_PMU, "cpu/odd/", -EINVAL, 4, "\"event=some\""},
    {ONE_PMU, "cpuu/event=1/", -ENODEV, 0, "no PMU \"cpuu\" on this machine; did you mean \"cpu\""},
    {ONE_PMU, "cyclse", -ENOENT, 0, "no event \"cyclse\"; did you mean \"cycles\""},
    {ONE_PMU, "sched:sched_swich", -ENOENT, 0, "no tracepoint event \"sched_swich\"; did you mean \"sched_switch\""},
    {ONE_PMU, "shed:sched_switch", -ENOENT, 0, "no tracepoint system \"shed\"; did you mean \"sched\""},
    {ONE_PMU, "hollow/event=1/", -ENODEV, 0,
     "PMU \"hollow\" cannot be used: /sys/bus/event_source/devices/hollow/cpus"},
    {ONE_PMU, "cpu/torn/", -EINVAL, 4,
     "\"torn\" of PMU \"cpu\" cannot be used: its file cannot be understood, \"event=\""},
    {ONE_PMU, "cpu/event=1,rent=2/", -EINVAL, 12, "\"rent\" of PMU \"cpu\" cannot be used"},
    {BIG_LITTLE, "mem:0x1000:w", -ENODEV, 0, "no PMU \"breakpoint\""},
    {BIG_LITTLE, "armv8_cortex_a76/event=1,threshold=256/", -EINVAL, 25,
     "the threshold 256 is too large: PMU \"armv8_cortex_a76\" supports at most 255 (caps/threshold_max)"},
    {BIG_LITTLE, "armv8_cortex_a76/event=1,threshold=1,threshold_compare=4/", -EINVAL, 37,
     "\"threshold_compare\" is too large: PMU \"armv8_cortex_a76\" has 2 bits"},
    {BIG_LITTLE, "armv8_cortex_a55/event=1,threshold=1/", -EINVAL, 25, "have no thresholds (caps/threshold_max is 0)"},
    {EXTENDED, "armv8_cortex_a76/event=1,threshold=1/", -ENOENT, 25, "has no event or term \"threshold\""},
    {NO_PMU, "cpu/event=1/", -ENODEV, 0, "this machine offers no hardware PMU; a virtual machine needs"},
    {NO_PMU, "zzzzzz", -ENOENT, 0, "there is no event \"zzzzzz\""},
};

TEST(test_check_errors)
{
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(error_cases); i++) {
        _cleanup_(event_done) struct event event = parsed_event(error_cases[i].in);
        enum simulated simulated = error_cases[i].in_machine;
        struct error error = {0};
        int r = attr_check(&fixture->fakes[simulated]->sys, fixture->machines[simulated], &event, &error);
        if (r != error_cases[i].out || error.offset != error_cases[i].out_offset ||
            !strstr(error.message, error_cases[i].out_message))
            fail_msg("%s: %d at %zu: %s", error_cases[i].in, r, error.offset, error.message);
    }
}

/* The function of a probe is stored next to the attribute, and the event owns it. */
TEST(test_probe)
{
    const struct fixture *fixture = *state;
    _cleanup_(event_done) struct event event = parsed_event("kprobe/func=do_sys_open,offset=0x4/");
    const struct machine *machine = fixture->machines[ONE_PMU];
    const struct pmu *pmu = machine_find_pmu(machine, "kprobe");
    struct attr attr;

    assert_ptr_equal(attr_pmu(machine, &event, 2), pmu);
    assert_int_equal(attr_build(&fixture->fakes[ONE_PMU]->sys, machine, &event, pmu, &attr, NULL), 0);
    assert_int_equal(attr.kernel.config, 0);
    assert_int_equal(attr.kernel.config1, 0);
    assert_string_equal(attr.text, "do_sys_open");
    assert_int_equal(attr.kernel.config2, 4);
}

/* If this process may not read the id of a tracepoint, the error names the remedy. */
TEST(test_tracepoint_forbidden)
{
    _cleanup_(event_done) struct event event = parsed_event("sched:sched_switch");
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
    struct error error = {0};
    char path[256];

    snprintf(path, sizeof(path), "%s/sys/kernel/tracing/events/sched/sched_switch/id", fake->root);
    _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
    assert_int_equal(chmod(path, 0), 0);
    uid_t user = geteuid(); /* root may read everything */
    assert_int_equal(user == 0 ? seteuid(NOBODY) : 0, 0);
    int r = attr_check(&fake->sys, machine, &event, &error);
    assert_int_equal(user == 0 ? seteuid(user) : 0, 0);
    assert_non_null(strstr(error.message, "CAP_DAC_READ_SEARCH"));
    assert_int_equal(r, -EACCES);
}

/* config3 is passed on if the kernel headers define it, and refused otherwise, but never ignored. */
TEST(test_config3)
{
    const struct fixture *fixture = *state;
    static const char *const events[] = {"cpu/config3=5/", "cpu/third=5/"};
    const struct machine *machine = fixture->machines[ONE_PMU];

    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        _cleanup_(event_done) struct event event = parsed_event(events[i]);
        struct attr attr;
        struct error error = {0};
        uint64_t config3;
        int r = attr_build(&fixture->fakes[ONE_PMU]->sys, machine, &event, machine_core_pmu(machine, 0), &attr, &error);
        if (sizeof(attr.kernel) <= 128) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(error.message, "needs config3"));
            continue;
        }
        assert_int_equal(r, 0);
        memcpy(&config3, (const char *)&attr.kernel + 128, sizeof(config3));
        assert_int_equal(config3, 5);
    }
}

TEST(test_tracepoint_errors)
{
    _cleanup_(event_done) struct event event = parsed_event("sched:sched_switch");
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_sys_new();
    struct error error = {0};

    fake_cpus(fake, "0");
    fake_fail(fake, (struct fake_failure){.call = FAKE_MOUNT, .error = EPERM});
    _cleanup_(machine_freep) struct machine *without = machine_of(&fake->sys);
    assert_int_equal(attr_check(&fake->sys, without, &event, &error), -ENOENT);
    assert_non_null(strstr(error.message, "mount -t tracefs"));
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "x\n");
    _cleanup_(machine_freep) struct machine *garbled = machine_of(&fake->sys);
    assert_int_equal(attr_check(&fake->sys, garbled, &event, &error), -EINVAL);
}

TEST_MAIN(setup, teardown)
