/* SPDX-License-Identifier: Apache-2.0 */
/* Counters read in user space: an event's page, and a thread's counter. */
#include "perf/user-read.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

/* --- reading a counter through its page: any page, any counter, and a page that changes during the read --- */

/* A CPU with the counter and clock of the test case. The page changes during the first `torn` reads. */
struct simulated {
    struct userpage_reader reader;
    struct perf_event_mmap_page *page;
    uint64_t counter, clock;
    unsigned torn, reads, number;
    int error;
};

/* Changes the page as the kernel does when it moves the event to another counter. */
static void tear(struct simulated *simulated)
{
    simulated->torn--;
    simulated->page->lock += 2;
    simulated->page->offset += 1000;
    simulated->page->time_enabled += 50;
    simulated->page->time_running += 20;
}

static int simulated_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    struct simulated *simulated = (struct simulated *)reader;

    simulated->reads++;
    simulated->number = number;
    if (simulated->torn)
        tear(simulated);
    if (simulated->error)
        return -simulated->error;
    *ret = simulated->counter;
    return 0;
}

static uint64_t simulated_clock(const struct userpage_reader *reader)
{
    return ((const struct simulated *)reader)->clock;
}

static struct simulated sim(struct perf_event_mmap_page *page, uint64_t counter, uint64_t clock)
{
    return (struct simulated){
        .reader = {.counter = simulated_counter, .clock = simulated_clock},
        .page = page,
        .counter = counter,
        .clock = clock,
    };
}

static const struct perf_event_mmap_page plain = {
    .lock = 8,
    .index = 3,
    .offset = 7000,
    .time_enabled = 500,
    .time_running = 400,
    .cap_user_rdpmc = 1,
    .cap_user_time = 1,
    .pmc_width = 48,
    .time_mult = 1,
    .time_offset = (uint64_t)-100,
};

TEST(test_width)
{
    static const struct {
        unsigned in_width;
        uint64_t in_counter;
        int64_t in_offset;
        uint64_t out;
    } cases[] = {
        {48, 0x800000000000, 0x800000000000, 0},              /* the initial value that the kernel sets */
        {48, 0xffffffffffff, 0x800000000000, 0x7fffffffffff}, /* just before an overflow */
        {48, 0xffff800000000001, 0x800000000000, 1},          /* bits above the width are ignored */
        {32, 0xffffffff, 0x180000000, 0x17fffffff},
        {64, UINT64_MAX, 0, UINT64_MAX},
        {1, 1, 3, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct simulated simulated = sim(&page, cases[i].in_counter, 100);
        struct userpage_reading reading;
        page.pmc_width = (uint16_t)cases[i].in_width;
        page.offset = cases[i].in_offset;
        assert_int_equal(userpage_read(&page, &simulated.reader, &reading), 0);
        assert_int_equal(reading.value, cases[i].out);
    }
}

TEST(test_clock)
{
    static const struct {
        uint64_t in_clock, in_offset;
        uint32_t in_mult;
        uint16_t in_shift;
        bool in_short;
        uint64_t in_cycles, in_mask, out; /* `out` is added to the enabled and the running time */
    } cases[] = {
        /* 3 GHz: 1/3 ns per tick */
        {3000000000, (uint64_t)-999999000, 357913941, 30, false, 0, 0, 999},
        /* both halves of the 64-bit clock matter */
        {(UINT64_C(5) << 31) + (1 << 30), 0, 1U << 31, 31, false, 0, 0, (UINT64_C(5) << 31) + (1 << 30)},
        {UINT64_C(0xfffffffffff), 0, 2684354560, 31, false, 0, 0, 21990232555518},
        /* a 16-bit clock that has wrapped; higher bits are not part of the time */
        {0x00010, 0, 1, 0, true, 0x2fff0, 0xffff, 0x30010},
        {0xa0010, 0, 1, 0, true, 0x2fff0, 0xffff, 0x30010},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct simulated simulated = sim(&page, 0, cases[i].in_clock);
        struct userpage_reading reading;
        page.time_offset = cases[i].in_offset;
        page.time_mult = cases[i].in_mult;
        page.time_shift = cases[i].in_shift;
        page.cap_user_time_short = cases[i].in_short;
        page.time_cycles = cases[i].in_cycles;
        page.time_mask = cases[i].in_mask;
        assert_int_equal(userpage_read(&page, &simulated.reader, &reading), 0);
        assert_int_equal(reading.enabled, 500 + cases[i].out);
        assert_int_equal(reading.running, 400 + cases[i].out);
    }
}

/*
 * A page that changes during a read is read again. An error during such a read is ignored, since the page may no longer
 * refer to that counter. If the event is not on a counter, the page has its final count, and no instruction is used.
 */
TEST(test_page)
{
    static const struct {
        unsigned in_index, in_torn;
        int in_error, out;
        struct userpage_reading out_reading;
    } cases[] = {
        {3, 0, 0, 0, {.value = 7042, .enabled = 530, .running = 430, .active = true}},
        {0, 0, 0, 0, {.value = 7000, .enabled = 500, .running = 400}},
        {3, 3, 0, 0, {.value = 10042, .enabled = 680, .running = 490, .active = true}},
        {3, 2, EACCES, -EACCES, {.value = 1}},
        {3, UINT32_MAX, 0, -EAGAIN, {.value = 1}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct simulated simulated = sim(&page, 42, 130);
        struct userpage_reading reading = {.value = 1};
        page.index = cases[i].in_index;
        simulated.torn = cases[i].in_torn;
        simulated.error = cases[i].in_error;
        assert_int_equal(userpage_read(&page, &simulated.reader, &reading), cases[i].out);
        assert_true(!simulated.reads || simulated.number == 2);
        assert_int_equal(reading.value, cases[i].out_reading.value);
        assert_int_equal(reading.enabled, cases[i].out_reading.enabled);
        assert_int_equal(reading.running, cases[i].out_reading.running);
        assert_int_equal(reading.active, cases[i].out_reading.active);
    }
}

TEST(test_not_offered)
{
    static const struct {
        bool in_rdpmc, in_time;
        uint16_t in_width, in_shift;
    } cases[] = {
        {false, true, 48, 0}, {true, false, 48, 0}, {true, true, 0, 0}, {true, true, 65, 0}, {true, true, 48, 64},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct simulated simulated = sim(&page, 42, 130);
        struct userpage_reading reading;
        page.cap_user_rdpmc = cases[i].in_rdpmc;
        page.cap_user_time = cases[i].in_time;
        page.pmc_width = cases[i].in_width;
        page.time_shift = cases[i].in_shift;
        assert_int_equal(userpage_read(&page, &simulated.reader, &reading), -EOPNOTSUPP);
        assert_int_equal(simulated.reads, 0);
    }
    struct userpage_reader none = {.counter = NULL};
    struct userpage_reading reading;
    assert_int_equal(userpage_read(&plain, &none, &reading), -EOPNOTSUPP);
}

/* The CPU's own instruction either reads a counter or is refused, and the process survives. */
TEST(test_own_cpu)
{
    uint64_t value;

    if (!userpage_reader.counter)
        skip_because("counters that user space can read");
    assert_int_equal(userpage_reader.prepare(&userpage_reader), 0);
    for (unsigned number = 0; number < 32; number++) {
        int r = userpage_reader.counter(&userpage_reader, number, &value);
        assert_true(r == 0 || r == -EACCES);
    }
}

/* --- counters of the calling thread, on simulated machines --- */

#define ALLOWED "/proc/sys/kernel/perf_user_access"

/* A thread counter on a simulated machine, with the machine's counters and clock. */
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

static struct thread_counter_reading read_one(const struct rig *rig)
{
    struct thread_counter_reading reading;

    assert_int_equal(thread_counter_read(rig->counter, &reading), 0);
    return reading;
}

/*
 * A counter is read in user space. If that is impossible, for each of several reasons, it is read with a system call.
 */
TEST(test_ways)
{
    enum {
        READ_IN_USER_SPACE,
        NOT_OFFERED,
        NO_INSTRUCTION,
        REFUSES,
        OFF_COUNTER,
        MMAP_FAILS,
        PREPARE_FAILS,
        N_REASONS
    };

    for (unsigned reason = 0; reason < N_REASONS; reason++) {
        const struct pmu *refused;
        _cleanup_(rig_done) struct rig rig;
        rig_init(&rig, fake_machine_one_pmu());
        rig.refuses = reason == REFUSES;
        rig.prepare_error = reason == PREPARE_FAILS ? EINVAL : 0;
        if (reason == NO_INSTRUCTION)
            rig.reader.counter = NULL;
        if (reason != NOT_OFFERED)
            fake_user_reads(rig.fake);
        if (reason == MMAP_FAILS)
            fake_fail(rig.fake, (struct fake_failure){.call = FAKE_MMAP, .error = EPERM});
        assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), 0);
        assert_true(thread_counter_has_kernel(rig.counter));
        fake_advance(rig.fake, 70);
        fake_set_off_counter(rig.fake, FAKE_FD_FIRST, reason == OFF_COUNTER);
        fake_advance(rig.fake, 30);
        struct thread_counter_reading reading = read_one(&rig);
        assert_int_equal(reading.user, reason == READ_IN_USER_SPACE);
        assert_int_equal(reading.value, reason == OFF_COUNTER ? 70 : 100);
        assert_int_equal(reading.running, reason == OFF_COUNTER ? 70 : 100);
        assert_int_equal(reading.enabled, 100);
        assert_int_equal(rig.fake->calls[FAKE_READ], reason == READ_IN_USER_SPACE ? 0 : 1);
    }
}

/*
 * Reads in user space are requested if the sysctl allows them, and not if the kernel refuses them. Without permission
 * to count the kernel, only user space is counted. An event that one kind of core cannot count is not counted at all,
 * since that core would be missing from the sum.
 */
TEST(test_open)
{
    static const struct {
        struct fake_sys *(*in_machine)(void);
        const char *in_allowed; /* NULL: no such file */
        struct fake_failure in_failure;
        int out;
        const char *out_refused;
        uint64_t out_config1;
        bool out_kernel;
    } cases[] = {
        {fake_machine_one_pmu, NULL, {0}, 0, NULL, 0, true},
        {fake_machine_one_pmu, "0", {0}, 0, NULL, 0, true},
        {fake_machine_one_pmu, "1", {0}, 0, NULL, 2, true},
        {fake_machine_one_pmu, "1", {.error = EOPNOTSUPP, .times = 1}, 0, NULL, 0, true},
        {fake_machine_one_pmu, NULL, {.error = EACCES, .times = 1}, 0, NULL, 0, false},
        {fake_machine_one_pmu, NULL, {.error = EACCES}, -EACCES, "cpu", 0, false},
        {fake_machine_big_little,
         NULL,
         {.error = ENOENT, .on_event = true, .type = 9, .config = 0x11},
         -ENOENT,
         "armv8_cortex_a76",
         0,
         false},
        {fake_machine_no_pmu, NULL, {0}, -ENOENT, "cpu", 0, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pmu *refused = NULL;
        _cleanup_(rig_done) struct rig rig;
        rig_init(&rig, cases[i].in_machine());
        if (cases[i].in_allowed)
            fake_file(rig.fake, ALLOWED, "%s\n", cases[i].in_allowed);
        if (cases[i].in_failure.error)
            fake_fail(rig.fake, cases[i].in_failure);
        assert_int_equal(rig_open(&rig, THREAD_COUNTER_CYCLES, &refused), cases[i].out);
        if (cases[i].out < 0) {
            assert_string_equal(refused->name, cases[i].out_refused);
            assert_int_equal(rig.fake->n_open, 0);
            continue;
        }
        assert_null(refused);
        assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->config1, cases[i].out_config1);
        assert_int_equal(thread_counter_has_kernel(rig.counter), cases[i].out_kernel);
        assert_int_equal(fake_attr(rig.fake, FAKE_FD_FIRST)->exclude_kernel, !cases[i].out_kernel);
    }
}

/* The thread moves between two kinds of core. The counts are added up without a system call. */
TEST(test_two_kinds_of_core)
{
    static const struct {
        bool in_off[2];
        uint64_t in_ns, out_value;
        bool out_user;
    } steps[] = {
        {{false, true}, 100, 100, true},
        {{true, false}, 50, 150, true},
        {{true, true}, 30, 150, false}, /* neither event is on a counter */
        {{false, true}, 20, 170, true},
    };
    const struct pmu *refused;
    _cleanup_(rig_done) struct rig rig;
    uint64_t elapsed = 0;

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
}

TEST_MAIN(NULL, NULL)
