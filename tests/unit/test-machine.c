/* SPDX-License-Identifier: Apache-2.0 */
/* Machines: their CPUs and PMUs, hotplug messages, and idle times. */
#include <limits.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/machine.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

static struct fake_sys *garbled(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_pmu_file(fake, "power", "type", "none");
    return fake;
}

/* The device tree describes only one cluster, and all CPUs of another cluster are offline. */
static struct fake_sys *partly_covered(void)
{
    struct fake_sys *fake = fake_machine_no_pmu();

    fake_cpus(fake, "0-5");
    fake_file(fake, "/sys/devices/system/cpu/possible", "0-7\n");
    fake_add_pmu(fake, "armv8_pmuv3", 8, "cpus", "2-3");
    fake_add_pmu(fake, "armv8_other", 9, "cpus", "");
    return fake;
}

/* A machine that reports as little as possible. */
static struct fake_sys *bare(void)
{
    struct fake_sys *fake = fake_sys_new();

    fake_fail(fake, (struct fake_failure){.call = FAKE_MOUNT, .error = EPERM});
    fake_cpus(fake, "0");
    return fake;
}

/* Describes the PMUs, and which of them counts the generic events of which CPUs: "cpu power: cpu 0-3". */
static char *describe(const struct machine *machine)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < machine->n_pmus; i++)
        buffer_appendf(&text, "%s%s", i ? " " : "", machine->pmus[i]->name);
    for (int cpu = 0, end = cpuset_end(&machine->possible), last; cpu < end; cpu = last + 1) {
        const struct pmu *pmu = machine_core_pmu(machine, (unsigned)cpu);
        for (last = cpu; last + 1 < end && machine_core_pmu(machine, (unsigned)last + 1) == pmu;)
            last++;
        buffer_appendf(&text, "%s %s%s %d-%d", cpu ? "," : ":", pmu->absent ? "absent " : "", pmu->name, cpu, last);
    }
    return buffer_string(&text);
}

TEST(test_pmus)
{
    static const struct {
        struct fake_sys *(*in)(void);
        int out_paranoid;
        const char *out_release, *out_tracefs, *out;
    } cases[] = {
        {fake_machine_one_pmu, 2, "6.1.0-fake", "/sys/kernel/tracing", "cpu power software tracepoint: cpu 0-3"},
        {fake_machine_big_little, 2, "6.1.0-fake", "/sys/kernel/tracing",
         "armv8_cortex_a55 armv8_cortex_a76 software tracepoint: armv8_cortex_a55 0-3, armv8_cortex_a76 4-7"},
        {fake_machine_no_pmu, 2, "6.1.0-fake", "/sys/kernel/tracing", "software tracepoint cpu: absent cpu 0-1"},
        {garbled, 2, "6.1.0-fake", "/sys/kernel/tracing", "cpu software tracepoint: cpu 0-3"},
        {partly_covered, 2, "6.1.0-fake", "/sys/kernel/tracing",
         "armv8_other armv8_pmuv3 software tracepoint cpu: absent cpu 0-1, armv8_pmuv3 2-3, absent cpu 4-7"},
        {bare, INT_MIN, "", NULL, "software tracepoint cpu: absent cpu 0-0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = cases[i].in();
        _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
        _cleanup_(freep) char *described = describe(machine);
        assert_string_equal(described, cases[i].out);
        assert_int_equal(machine->paranoid, cases[i].out_paranoid);
        assert_string_equal(machine->release, cases[i].out_release);
        assert_int_equal(machine->tracefs != NULL, cases[i].out_tracefs != NULL);
        assert_true(!machine->tracefs || str_equal(machine->tracefs, cases[i].out_tracefs));
        assert_int_equal(fake->calls[FAKE_MOUNT], machine->tracefs ? 0 : 1);
        assert_int_equal(machine_find_pmu(machine, "software")->type, PERF_TYPE_SOFTWARE);
        assert_null(machine_find_pmu(machine, "cp"));
    }
}

static struct sys_calls before;
static int list_error;

static int open_but_list(struct sys *sys, const char *path, int flags)
{
    return str_equal(path, "/sys/bus/event_source/devices") ? list_error : before.open_file(sys, path, flags);
}

/* A machine without a readable PMU list is accepted at startup, but a list that was read once must stay readable. */
TEST(test_unread_pmus)
{
    static const struct {
        int in_error, out, out_again;
    } cases[] = {{-ENOENT, 0, -ENOENT}, {-EACCES, 0, -ENOENT}, {-EMFILE, -EMFILE, -EMFILE}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
        _cleanup_(machine_freep) struct machine *whole = machine_of(&fake->sys), *machine = NULL, *again = NULL;
        struct error error = {0};
        before = wrap_calls(&fake->sys, (struct sys_calls){.open_file = open_but_list});
        list_error = cases[i].in_error;
        assert_int_equal(machine_load_again(&fake->sys, whole, &again, &error), cases[i].out_again);
        assert_non_null(strstr(error.message, "/sys/bus/event_source/devices"));
        assert_null(again);
        assert_int_equal(machine_load(&fake->sys, &machine, &error), cases[i].out);
        if (cases[i].out < 0)
            continue;
        assert_true(machine_core_pmu(machine, 0)->absent);
        assert_int_equal(machine_load_again(&fake->sys, machine, &again, &error), 0);
    }
}

TEST(test_bad_online)
{
    static const struct {
        const char *in;
        int out;
        const char *out_message;
    } cases[] = {
        {NULL, -ENOENT, "cannot read /sys/devices/system/cpu/online"},
        {"", -EINVAL, "is empty"},
        {"0-x", -EINVAL, "cannot be understood, \"0-x\": a CPU number"},
        {"0-99999", -ERANGE, "at most 16383"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_sys_new();
        struct machine *untouched = NULL;
        struct error error = {0};
        if (cases[i].in)
            fake_file(fake, "/sys/devices/system/cpu/online", "%s\n", cases[i].in);
        assert_int_equal(machine_load(&fake->sys, &untouched, &error), cases[i].out);
        assert_non_null(strstr(error.message, "/sys/devices/system/cpu/online"));
        assert_non_null(strstr(error.message, cases[i].out_message));
        assert_null(untouched);
    }
    assert_null(machine_free(NULL));
}

/*
 * If the possible CPUs cannot be read, loading fails: with a shorter list the totals of an offline CPU would disappear.
 */
TEST(test_possible_unread)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_sys_new();
    struct machine *untouched = NULL;
    struct error error = {0};

    fake_file(fake, "/sys/devices/system/cpu/online", "0\n");
    assert_int_equal(machine_load(&fake->sys, &untouched, &error), -ENOENT);
    assert_non_null(strstr(error.message, "cannot read /sys/devices/system/cpu/possible"));
    assert_null(untouched);
}

TEST(test_paranoid)
{
    static const struct {
        const char *in;
        int out;
    } cases[] = {{"-1", -1}, {"4", 4}, {"", INT_MIN}, {"2x", INT_MIN}, {"99999999999", INT_MIN}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
        fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s\n", cases[i].in);
        _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
        assert_int_equal(machine->paranoid, cases[i].out);
    }
}

TEST(test_tracefs)
{
    struct fake_sys *mounted = fake_sys_new(), *older = fake_sys_new();

    fake_cpus(mounted, "0");
    struct machine *machine = machine_of(&mounted->sys);
    assert_string_equal(machine->tracefs, "/sys/kernel/tracing");
    assert_int_equal(mounted->calls[FAKE_MOUNT], 1);
    machine_free(machine);

    fake_cpus(older, "0");
    fake_file(older, "/sys/kernel/debug/tracing/events/sched/sched_switch/id", "1\n");
    machine = machine_of(&older->sys);
    assert_string_equal(machine->tracefs, "/sys/kernel/debug/tracing");
    assert_int_equal(older->calls[FAKE_MOUNT], 0);
    machine_free(machine);
    fake_sys_free(mounted);
    fake_sys_free(older);
}

/* Kernel messages about CPUs and about other devices. */

#define MESSAGE(text) text, sizeof(text)

static const struct {
    const char *in_message;
    size_t in_size;
    int out_result;
    enum uevent_change out_change;
    unsigned out_cpu;
} cases[] = {
    {MESSAGE("offline@/devices/system/cpu/cpu3\0ACTION=offline\0SEQNUM=7"), 0, UEVENT_OFFLINE, 3},
    {MESSAGE("online@/devices/system/cpu/cpu127\0ACTION=online"), 0, UEVENT_ONLINE, 127},
    {MESSAGE("add@/devices/system/cpu/cpu0"), 0, UEVENT_ONLINE, 0},
    {MESSAGE("remove@/devices/system/cpu/cpu5"), 0, UEVENT_OFFLINE, 5},
    {MESSAGE("change@/devices/system/cpu/cpu5"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpufreq/policy0"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu0/cache/index0"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu99999999999999999999"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/virtual/net/veth0"), -ENOENT, 0, 0},
    {MESSAGE("libudev\0\xfe\xed\xca\xfe"), -ENOENT, 0, 0},
    {"online@/devices/system/cpu/cpu12", 31, -ENOENT, 0, 0}, /* not NUL-terminated */
    {"", 0, -ENOENT, 0, 0},
};

TEST(test_parse)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum uevent_change change = UEVENT_ONLINE;
        unsigned cpu = 0;
        print_message("%s\n", cases[i].in_message);
        assert_int_equal(uevent_parse(cases[i].in_message, cases[i].in_size, &change, &cpu), cases[i].out_result);
        assert_int_equal(change, cases[i].out_change);
        assert_int_equal(cpu, cases[i].out_cpu);
    }
}

TEST(test_nothing_waits)
{
    _cleanup_(closep) int fd = uevent_open();
    enum uevent_change change;
    unsigned cpu;

    if (fd == -EPROTONOSUPPORT || fd == -EPERM)
        skip_because("netlink sockets");
    assert_true(fd >= 0);
    assert_int_equal(uevent_receive(fd, &change, &cpu), -EAGAIN);
}

/* The idle time of each CPU from /proc/stat, both well-formed and malformed. */

#define SUM "cpu  9 0 9 900 90 0 9 0 0 0\n"
#define REST "intr 123 4 5\nctxt 99\nbtime 1700000000\n"

static const struct {
    const char *in;
    int out;
    size_t n;
    struct idle_time last;
} idle_cases[] = {
    {SUM "cpu0 1 0 2 1200 34 0 1 0 0 0\n" REST, 0, 1, {0, 12.34, 0}},
    {SUM "cpu0 1 0 2 100 0 0\ncpu3 1 0 2 250 50 0 1 25 0 0\n" REST, 0, 2, {3, 3, 0.25}},
    {SUM "cpu4095 1 0 2 18446744073709551615 0 0 1 0 0 0\n" REST, 0, 1, {4095, 184467440737095516.16, 0}},
    {SUM "cpu0 1 0 2 100 0", 0, 1, {0, 1, 0}},
    {SUM "cpu0 1 0 2\ncpu1 1 0 2 100 50\n" REST, 0, 1, {1, 1.5, 0}},
    {SUM "cpux 1 0 2 100 50\n" REST, -EBADMSG, 0, {0, 0, 0}},
    {SUM REST, -EBADMSG, 0, {0, 0, 0}},
    {REST "cpu0 1 0 2 100 0 0\n", -EBADMSG, 0, {0, 0, 0}},
    {"", -EBADMSG, 0, {0, 0, 0}},
};

TEST(test_idle_times_parse)
{
    for (size_t i = 0; i < ARRAY_SIZE(idle_cases); i++) {
        _cleanup_(idle_times_done) struct idle_times times = {0};
        assert_int_equal(idle_times_parse(idle_cases[i].in, 100, &times), idle_cases[i].out);
        assert_int_equal(times.n, idle_cases[i].n);
        if (times.n) {
            assert_int_equal(times.items[times.n - 1].cpu, idle_cases[i].last.cpu);
            assert_true(times.items[times.n - 1].seconds == idle_cases[i].last.seconds);
            assert_true(times.items[times.n - 1].stolen == idle_cases[i].last.stolen);
        }
    }
}

TEST_MAIN(NULL, NULL)
