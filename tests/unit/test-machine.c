/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of several kinds, and some with files that are missing or garbled. */
#include <limits.h>

#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

static void assert_pmus(const struct machine *machine, const char *const *names)
{
    for (size_t i = 0; i < machine->n_pmus; i++) {
        assert_non_null(names[i]);
        assert_string_equal(machine->pmus[i]->name, names[i]);
    }
    assert_null(names[machine->n_pmus]);
}
#define assert_pmu_names(machine, ...) assert_pmus(machine, (const char *const[]){__VA_ARGS__, NULL})

static void assert_core(const struct machine *machine, unsigned first, unsigned last, const char *name, bool absent)
{
    for (unsigned cpu = first; cpu <= last; cpu++) {
        const struct pmu *pmu = machine_core_pmu(machine, cpu);
        assert_non_null(pmu);
        assert_string_equal(pmu->name, name);
        assert_int_equal(pmu->absent, absent);
    }
}

static void test_one_pmu(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct machine *machine = machine_of(&fake->sys);

    (void)state;
    assert_pmu_names(machine, "cpu", "power", "software", "tracepoint");
    assert_core(machine, 0, 3, "cpu", false);
    assert_null(machine_core_pmu(machine, 4));
    assert_int_equal(cpuset_count(&machine->online), 4);
    assert_int_equal(machine->paranoid, 2);
    assert_string_equal(machine->release, "6.1.0-fake");
    assert_string_equal(machine->tracefs, "/sys/kernel/tracing");
    assert_int_equal(fake->calls[FAKE_MOUNT], 0);
    assert_null(machine_find_pmu(machine, "cp"));
    machine_free(machine);
    fake_sys_free(fake);
}

static void test_big_little(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct machine *machine = machine_of(&fake->sys);

    (void)state;
    assert_pmu_names(machine, "armv8_cortex_a55", "armv8_cortex_a76", "software", "tracepoint");
    assert_core(machine, 0, 3, "armv8_cortex_a55", false);
    assert_core(machine, 4, 7, "armv8_cortex_a76", false);
    machine_free(machine);
    fake_sys_free(fake);
}

static void test_no_pmu(void **state)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct machine *machine = machine_of(&fake->sys);

    (void)state;
    assert_pmu_names(machine, "software", "tracepoint", "cpu");
    assert_core(machine, 0, 1, "cpu", true);
    machine_free(machine);
    fake_sys_free(fake);
}

/* A device tree that describes one cluster only, and a cluster whose CPUs are all offline. */
static void test_partly_covered(void **state)
{
    struct fake_sys *fake = fake_machine_no_pmu();

    (void)state;
    fake_cpus(fake, "0-5");
    fake_file(fake, "/sys/devices/system/cpu/possible", "0-7\n");
    fake_add_pmu(fake, "armv8_pmuv3", 8, "cpus", "2-3");
    fake_add_pmu(fake, "armv8_other", 9, "cpus", "");
    struct machine *machine = machine_of(&fake->sys);
    assert_pmu_names(machine, "armv8_other", "armv8_pmuv3", "software", "tracepoint", "cpu");
    assert_core(machine, 0, 1, "cpu", true);
    assert_core(machine, 2, 3, "armv8_pmuv3", false);
    assert_core(machine, 4, 7, "cpu", true);
    machine_free(machine);
    fake_sys_free(fake);
}

/* The least that a machine can show. */
static void test_bare(void **state)
{
    struct fake_sys *fake = fake_sys_new();

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_MOUNT, .error = EPERM});
    fake_file(fake, "/sys/devices/system/cpu/online", "0\n");
    fake_file(fake, "/sys/devices/system/cpu/possible", "0\n");
    struct machine *machine = machine_of(&fake->sys);
    assert_pmu_names(machine, "software", "tracepoint", "cpu");
    assert_int_equal(machine_find_pmu(machine, "software")->type, PERF_TYPE_SOFTWARE);
    assert_int_equal(machine_find_pmu(machine, "tracepoint")->type, PERF_TYPE_TRACEPOINT);
    assert_true(cpuset_equal(&machine->possible, &machine->online));
    assert_core(machine, 0, 0, "cpu", true);
    assert_int_equal(machine->paranoid, INT_MIN);
    assert_string_equal(machine->release, "");
    assert_null(machine->tracefs);
    assert_int_equal(fake->calls[FAKE_MOUNT], 1);
    machine_free(machine);
    fake_sys_free(fake);
}

static void test_bad_online(void **state)
{
    static const struct {
        const char *in;
        int out;
        const char *out_message;
    } cases[] = {
        {NULL, -ENOENT, "cannot be read"},
        {"", -EINVAL, "is empty"},
        {"0-x", -EINVAL, "cannot be understood, \"0-x\": a CPU number"},
        {"0-99999", -ERANGE, "at most 16383"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_sys_new();
        struct machine *untouched = NULL;
        struct error error = {0};
        if (cases[i].in)
            fake_file(fake, "/sys/devices/system/cpu/online", "%s\n", cases[i].in);
        assert_int_equal(machine_load(&fake->sys, &untouched, &error), cases[i].out);
        assert_non_null(strstr(error.message, "/sys/devices/system/cpu/online"));
        assert_non_null(strstr(error.message, cases[i].out_message));
        assert_null(untouched);
        fake_sys_free(fake);
    }
    assert_null(machine_free(NULL));
}

/* With fewer than there are, the totals of a CPU that is away would end. */
static void test_possible_unread(void **state)
{
    struct fake_sys *fake = fake_sys_new();
    struct machine *untouched = NULL;
    struct error error = {0};

    (void)state;
    fake_file(fake, "/sys/devices/system/cpu/online", "0\n");
    assert_int_equal(machine_load(&fake->sys, &untouched, &error), -ENOENT);
    assert_non_null(strstr(error.message, "/sys/devices/system/cpu/possible cannot be read"));
    assert_null(untouched);
    fake_sys_free(fake);
}

static void test_paranoid(void **state)
{
    static const struct {
        const char *in;
        int out;
    } cases[] = {{"-1", -1}, {"4", 4}, {"", INT_MIN}, {"2x", INT_MIN}, {"99999999999", INT_MIN}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_machine_no_pmu();
        fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "%s\n", cases[i].in);
        struct machine *machine = machine_of(&fake->sys);
        assert_int_equal(machine->paranoid, cases[i].out);
        machine_free(machine);
        fake_sys_free(fake);
    }
}

static void test_tracefs(void **state)
{
    struct fake_sys *mounted = fake_sys_new(), *older = fake_sys_new();

    (void)state;
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

/* A PMU that cannot be understood is left out; the others stay. */
static void test_garbled_pmu(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    fake_pmu_file(fake, "power", "type", "none");
    struct machine *machine = machine_of(&fake->sys);
    assert_pmu_names(machine, "cpu", "software", "tracepoint");
    machine_free(machine);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pmu),         cmocka_unit_test(test_big_little), cmocka_unit_test(test_no_pmu),
        cmocka_unit_test(test_partly_covered),  cmocka_unit_test(test_bare),       cmocka_unit_test(test_bad_online),
        cmocka_unit_test(test_possible_unread), cmocka_unit_test(test_paranoid),   cmocka_unit_test(test_tracefs),
        cmocka_unit_test(test_garbled_pmu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
