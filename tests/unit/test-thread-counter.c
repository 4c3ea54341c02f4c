/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the own thread, on machines that tests play. */
#include "perf/userpage/thread-counter.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

#define ALLOWED "/proc/sys/kernel/perf_user_access"

/* A thread counter on a machine, with the machine's counters and clock. */
struct rig {
    struct userpage_reader reader;
    struct fake_sys *fake;
    struct machine *machine;
    struct thread_counter *counter;
    bool refuses;
    int prepare_error;
};

static int rig_prepare(const struct userpage_reader *reader)
{
    return -((const struct rig *)reader)->prepare_error;
}

static int rig_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    const struct rig *rig = (const struct rig *)reader;

    if (rig->refuses)
        return -EACCES;
    *ret = fake_user_counter(rig->fake, number);
    return 0;
}

static uint64_t rig_clock(const struct userpage_reader *reader)
{
    return ((const struct rig *)reader)->fake->monotonic_ns;
}

static void rig_init(struct rig *rig, struct fake_sys *fake)
{
    *rig = (struct rig){
        .reader =
            {.prepare = rig_prepare, .counter = rig_counter, .clock = rig_clock, .allowed_path = ALLOWED, .ask = 2},
        .fake = fake,
        .machine = machine_of(&fake->sys),
    };
}

static int rig_open(struct rig *rig, enum thread_counter_event event, const struct pmu **ret_refused)
{
    return thread_counter_open(&rig->fake->sys, rig->machine, &rig->reader, event, &rig->counter, ret_refused);
}

static void rig_done(struct rig *rig)
{
    thread_counter_free(rig->counter);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

static struct thread_counter_reading read_one(struct rig *rig)
{
    struct thread_counter_reading reading;

    assert_int_equal(thread_counter_read(rig->counter, &reading), 0);
    return reading;
}

static void test_user(void **state)
{
    const struct pmu *refused;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu());
    fake_user_reads(rig.fake);
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_INSTRUCTIONS, &refused), 0);
    assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->type, PERF_TYPE_HARDWARE);
    assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->config, PERF_COUNT_HW_INSTRUCTIONS);
    assert_false(fake_attr(rig.fake, FAKE_FD_FIRST)->pinned);
    assert_true(thread_counter_has_kernel(rig.counter));
    for (uint64_t i = 1; i <= 3; i++) {
        fake_advance(rig.fake, 500 * NSEC_PER_MSEC);
        struct thread_counter_reading reading = read_one(&rig);
        assert_true(reading.user);
        assert_int_equal(reading.value, i * 500 * NSEC_PER_MSEC);
        assert_int_equal(reading.enabled, i * 500 * NSEC_PER_MSEC);
        assert_int_equal(reading.running, i * 500 * NSEC_PER_MSEC);
    }
    assert_int_equal(rig.fake->calls[FAKE_READ], 0);
    rig_done(&rig);
}

/* Each reason why it cannot be read in user space. */
static void test_by_system_call(void **state)
{
    static const struct {
        bool in_offered, in_no_instruction, in_refuses, in_off_counter;
        int in_mmap_error, in_prepare_error;
    } cases[] = {
        {.in_offered = false},
        {.in_offered = true, .in_no_instruction = true},
        {.in_offered = true, .in_refuses = true},
        {.in_offered = true, .in_off_counter = true},
        {.in_offered = true, .in_mmap_error = EPERM},
        {.in_offered = true, .in_prepare_error = EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pmu *refused;
        struct rig rig;
        rig_init(&rig, fake_machine_one_pmu());
        rig.refuses = cases[i].in_refuses;
        rig.prepare_error = cases[i].in_prepare_error;
        if (cases[i].in_no_instruction)
            rig.reader.counter = NULL;
        if (cases[i].in_offered)
            fake_user_reads(rig.fake);
        if (cases[i].in_mmap_error)
            fake_fail(rig.fake, (struct fake_failure){.call = FAKE_MMAP, .error = cases[i].in_mmap_error});
        assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
        fake_advance(rig.fake, 70);
        fake_set_off_counter(rig.fake, FAKE_FD_FIRST, cases[i].in_off_counter);
        fake_advance(rig.fake, 30);
        struct thread_counter_reading reading = read_one(&rig);
        assert_false(reading.user);
        assert_int_equal(reading.value, cases[i].in_off_counter ? 70 : 100);
        assert_int_equal(reading.running, cases[i].in_off_counter ? 70 : 100);
        assert_int_equal(reading.enabled, 100);
        assert_int_equal(rig.fake->calls[FAKE_READ], 1);
        rig_done(&rig);
    }
}

/* Reads in user space are asked for where the sysctl allows them, and not where the kernel refuses them. */
static void test_asks(void **state)
{
    static const struct {
        const char *in_allowed; /* NULL: no such file */
        unsigned in_refused;    /* the number of openings that fail with EOPNOTSUPP */
        uint64_t out_config1;
        unsigned out_opens;
    } cases[] = {
        {NULL, 0, 0, 1},
        {"0", 0, 0, 1},
        {"1", 0, 2, 1},
        {"1", 1, 0, 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pmu *refused;
        struct rig rig;
        rig_init(&rig, fake_machine_one_pmu());
        if (cases[i].in_allowed)
            fake_file(rig.fake, ALLOWED, "%s\n", cases[i].in_allowed);
        if (cases[i].in_refused)
            fake_fail(rig.fake,
                      (struct fake_failure){.call = FAKE_OPEN, .error = EOPNOTSUPP, .times = cases[i].in_refused});
        assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
        assert_int_equal(rig.fake->calls[FAKE_OPEN], cases[i].out_opens);
        assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->config1, cases[i].out_config1);
        rig_done(&rig);
    }
}

static void test_permission(void **state)
{
    const struct pmu *refused = NULL;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu());
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES, .times = 1});
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
    assert_false(thread_counter_has_kernel(rig.counter));
    assert_true(fake_attr(rig.fake, FAKE_FD_FIRST)->exclude_kernel);
    assert_null(refused);
    rig.counter = thread_counter_free(rig.counter);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES});
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), -EACCES);
    assert_string_equal(refused->name, "cpu");
    rig_done(&rig);
}

static void test_no_pmu(void **state)
{
    const struct pmu *refused = NULL;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu());
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), -ENOENT);
    assert_true(refused->absent);
    rig_done(&rig);
}

/* The thread moves from one kind of core to the other: the counts add up, without a system call. */
static void test_two_kinds_of_core(void **state)
{
    static const struct {
        bool in_off[2];
        uint64_t in_ns, out_value;
        bool out_user;
    } steps[] = {
        {{false, true}, 100, 100, true},
        {{true, false}, 50, 150, true},
        {{true, true}, 30, 150, false}, /* on neither kind: both events are off their counters */
        {{false, true}, 20, 170, true},
    };
    const struct pmu *refused;
    struct rig rig;
    uint64_t elapsed = 0;

    (void)state;
    rig_init(&rig, fake_machine_big_little());
    fake_user_reads(rig.fake);
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
    assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->type, 8);
    assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST + 1)->type, 9);
    assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST + 1)->config, 0x11);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        for (int k = 0; k < 2; k++)
            fake_set_off_counter(rig.fake, FAKE_FD_FIRST + k, steps[i].in_off[k]);
        fake_advance(rig.fake, steps[i].in_ns);
        elapsed += steps[i].in_ns;
        struct thread_counter_reading reading = read_one(&rig);
        assert_int_equal(reading.value, steps[i].out_value);
        assert_int_equal(reading.running, steps[i].out_value);
        assert_int_equal(reading.enabled, elapsed);
        assert_true(reading.user == steps[i].out_user);
    }
    rig_done(&rig);
}

/* An event that one kind of core cannot count is not counted at all, since the sum would miss that core. */
static void test_missing_on_one_kind(void **state)
{
    const struct pmu *refused;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_big_little());
    fake_fail(rig.fake,
              (struct fake_failure){.call = FAKE_OPEN, .error = ENOENT, .on_event = true, .type = 9, .config = 0x08});
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_INSTRUCTIONS, &refused), -ENOENT);
    assert_string_equal(refused->name, "armv8_cortex_a76");
    assert_int_equal(rig.fake->n_open, 0);
    rig_done(&rig);
}

static void test_read_fails(void **state)
{
    struct thread_counter_reading reading = {.value = 1};
    const struct pmu *refused;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu());
    assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = EIO, .times = 1});
    assert_int_equal(thread_counter_read(rig.counter, &reading), -EIO);
    assert_int_equal(reading.value, 1);
    assert_int_equal(thread_counter_read(rig.counter, &reading), 0);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user),       cmocka_unit_test(test_by_system_call),
        cmocka_unit_test(test_asks),       cmocka_unit_test(test_permission),
        cmocka_unit_test(test_no_pmu),     cmocka_unit_test(test_two_kinds_of_core),
        cmocka_unit_test(test_read_fails), cmocka_unit_test(test_missing_on_one_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
