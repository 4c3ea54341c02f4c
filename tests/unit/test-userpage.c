/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a counter from its page: any page, any counter, and a page that changes meanwhile. */
#include "perf/userpage/userpage.h"
#include "tests/unit/test.h"

/* A CPU whose counter and clock show what the case says; the page changes under the first `torn` reads. */
struct played {
    struct userpage_reader reader;
    struct perf_event_mmap_page *page;
    uint64_t counter, clock;
    unsigned torn, reads, number;
    int error;
};

/* Like the kernel when it moves the event to another counter. */
static void tear(struct played *played)
{
    played->torn--;
    played->page->lock += 2;
    played->page->offset += 1000;
    played->page->time_enabled += 50;
    played->page->time_running += 20;
}

static int played_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    struct played *played = (struct played *)reader;

    played->reads++;
    played->number = number;
    if (played->torn)
        tear(played);
    if (played->error)
        return -played->error;
    *ret = played->counter;
    return 0;
}

static uint64_t played_clock(const struct userpage_reader *reader)
{
    return ((const struct played *)reader)->clock;
}

static struct played play(struct perf_event_mmap_page *page, uint64_t counter, uint64_t clock)
{
    return (struct played){
        .reader = {.counter = played_counter, .clock = played_clock},
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

static void test_counts(void **state)
{
    struct perf_event_mmap_page page = plain;
    struct played played = play(&page, 42, 130);
    struct userpage_reading reading;

    (void)state;
    assert_int_equal(userpage_read(&page, &played.reader, &reading), 0);
    assert_int_equal(played.number, 2);
    assert_true(reading.active);
    assert_int_equal(reading.value, 7042);
    assert_int_equal(reading.enabled, 530);
    assert_int_equal(reading.running, 430);
}

static void test_width(void **state)
{
    static const struct {
        unsigned in_width;
        uint64_t in_counter;
        int64_t in_offset;
        uint64_t out;
    } cases[] = {
        {48, 0, 0, 0},
        {48, 5, 10, 15},
        {48, 0x800000000000, 0x800000000000, 0},              /* where the kernel lets it start */
        {48, 0xffffffffffff, 0x800000000000, 0x7fffffffffff}, /* just before it overflows */
        {48, 0xffff800000000001, 0x800000000000, 1},          /* bits above the width do not count */
        {32, 0x80000000, 0x80000000, 0},                      /* arm64 */
        {32, 0xffffffff, 0x180000000, 0x17fffffff},
        {64, UINT64_MAX, 0, UINT64_MAX},
        {64, UINT64_C(1) << 63, INT64_MIN, 0},
        {1, 1, 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct played played = play(&page, cases[i].in_counter, 100);
        struct userpage_reading reading;
        page.pmc_width = (uint16_t)cases[i].in_width;
        page.offset = cases[i].in_offset;
        assert_int_equal(userpage_read(&page, &played.reader, &reading), 0);
        assert_int_equal(reading.value, cases[i].out);
    }
}

static void test_clock(void **state)
{
    static const struct {
        uint64_t in_clock, in_offset;
        uint32_t in_mult;
        uint16_t in_shift;
        bool in_short;
        uint64_t in_cycles, in_mask, out; /* added to both times */
    } cases[] = {
        {100, (uint64_t)-100, 1, 0, false, 0, 0, 0},
        /* 3 GHz: 1/3 ns a tick */
        {3000000000, (uint64_t)-999999000, 357913941, 30, false, 0, 0, 999},
        /* The clock's upper and lower half both count. */
        {(UINT64_C(5) << 31) + (1 << 30), 0, 1U << 31, 31, false, 0, 0, (UINT64_C(5) << 31) + (1 << 30)},
        {UINT64_C(0xfffffffffff), 0, 2684354560, 31, false, 0, 0, 21990232555518},
        /* 16 bits that have wrapped, and bits above them that are not time */
        {0x00010, 0, 1, 0, true, 0x2fff0, 0xffff, 0x30010},
        {0xa0010, 0, 1, 0, true, 0x2fff0, 0xffff, 0x30010},
        {0xa0010, 0, 1, 0, false, 0x2fff0, 0xffff, 0xa0010},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct played played = play(&page, 0, cases[i].in_clock);
        struct userpage_reading reading;
        page.time_offset = cases[i].in_offset;
        page.time_mult = cases[i].in_mult;
        page.time_shift = cases[i].in_shift;
        page.cap_user_time_short = cases[i].in_short;
        page.time_cycles = cases[i].in_cycles;
        page.time_mask = cases[i].in_mask;
        assert_int_equal(userpage_read(&page, &played.reader, &reading), 0);
        assert_int_equal(reading.enabled, 500 + cases[i].out);
        assert_int_equal(reading.running, 400 + cases[i].out);
    }
}

/* Off its counter, the event has its final count in the page; neither instruction is used. */
static void test_inactive(void **state)
{
    struct perf_event_mmap_page page = plain;
    struct played played = play(&page, 42, 130);
    struct userpage_reading reading;

    (void)state;
    page.index = 0;
    assert_int_equal(userpage_read(&page, &played.reader, &reading), 0);
    assert_false(reading.active);
    assert_int_equal(reading.value, 7000);
    assert_int_equal(reading.enabled, 500);
    assert_int_equal(reading.running, 400);
    assert_int_equal(played.reads, 0);
}

static void test_torn(void **state)
{
    struct perf_event_mmap_page page = plain;
    struct played played = play(&page, 42, 130);
    struct userpage_reading reading = {.value = 1};

    (void)state;
    played.torn = 3;
    assert_int_equal(userpage_read(&page, &played.reader, &reading), 0);
    assert_int_equal(played.reads, 4);
    assert_int_equal(reading.value, 7042 + 3000);
    assert_int_equal(reading.enabled, 530 + 150);
    assert_int_equal(reading.running, 430 + 60);
}

static void test_always_torn(void **state)
{
    struct perf_event_mmap_page page = plain;
    struct played played = play(&page, 42, 130);
    struct userpage_reading reading = {.value = 1};

    (void)state;
    played.torn = UINT32_MAX;
    assert_int_equal(userpage_read(&page, &played.reader, &reading), -EAGAIN);
    assert_in_range(played.reads, 2, 1000);
    assert_int_equal(reading.value, 1);
}

/* A refusal while the page changes has no meaning: the page may no longer offer that counter. */
static void test_refused(void **state)
{
    struct perf_event_mmap_page page = plain;
    struct played played = play(&page, 42, 130);
    struct userpage_reading reading = {.value = 1};

    (void)state;
    played.error = EACCES;
    played.torn = 2;
    assert_int_equal(userpage_read(&page, &played.reader, &reading), -EACCES);
    assert_int_equal(played.reads, 3);
    assert_int_equal(reading.value, 1);
}

static void test_not_offered(void **state)
{
    static const struct {
        bool in_rdpmc, in_time;
        uint16_t in_width, in_shift;
    } cases[] = {
        {false, true, 48, 0}, {true, false, 48, 0}, {true, true, 0, 0}, {true, true, 65, 0}, {true, true, 48, 64},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct perf_event_mmap_page page = plain;
        struct played played = play(&page, 42, 130);
        struct userpage_reading reading;
        page.cap_user_rdpmc = cases[i].in_rdpmc;
        page.cap_user_time = cases[i].in_time;
        page.pmc_width = cases[i].in_width;
        page.time_shift = cases[i].in_shift;
        assert_int_equal(userpage_read(&page, &played.reader, &reading), -EOPNOTSUPP);
        assert_int_equal(played.reads, 0);
    }
    struct userpage_reader none = {.counter = NULL};
    struct userpage_reading reading;
    assert_int_equal(userpage_read(&plain, &none, &reading), -EOPNOTSUPP);
}

/*
 * This CPU's own instruction, which nothing allows: it is refused, and the process lives. On a machine that allows all
 * processes to read counters, it reads.
 */
static void test_own_cpu(void **state)
{
    uint64_t value;

    (void)state;
    if (!userpage_reader.counter)
        skip_because("counters cannot be read from user space here");
    assert_int_equal(userpage_reader.prepare(&userpage_reader), 0);
    for (unsigned number = 0; number < 32; number++) {
        int r = userpage_reader.counter(&userpage_reader, number, &value);
        assert_true(r == 0 || r == -EACCES);
    }
    uint64_t before = userpage_reader.clock(&userpage_reader);
    assert_true(userpage_reader.clock(&userpage_reader) >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_width),       cmocka_unit_test(test_clock),
        cmocka_unit_test(test_inactive), cmocka_unit_test(test_torn),        cmocka_unit_test(test_always_torn),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_not_offered), cmocka_unit_test(test_own_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
