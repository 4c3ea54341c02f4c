/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tally: what runs and what stands, while stores become visible in any order. */
#include "perf/tally/reader.h"

#include <errno.h>

#include "base/util.h"
#include "tests/unit/tally-play.h"
#include "tests/unit/test.h"

static const struct tally_event none[4];

#define assert_taken(p, slot, ...)                                                                                     \
    do {                                                                                                               \
        const uint64_t wanted[WORDS] = {__VA_ARGS__};                                                                  \
        for (size_t word = 0; word < WORDS; word++)                                                                    \
            assert_int_equal((p)->taken[slot][word], wanted[word]);                                                    \
    } while (0)

static void test_running(void **state)
{
    struct played p;

    (void)state;
    played_init(&p);
    assert_int_equal(tally_reader_running(p.reader, 0), TALLY_SLOT_NONE);
    played_run(&p, 0, 100, 50);
    assert_int_equal(played_read(&p, 0), 1);
    /* The clock and the switches are made by the reader. */
    assert_taken(&p, TALLY_SLOT_ROOT, 150, 50, 10, 0, 100, 50, 100, 100);
    assert_int_equal(tally_reader_running(p.reader, 0), TALLY_SLOT_ROOT);
    /* It is taken once. */
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, TALLY_SLOT_ROOT, 150, 50, 10, 0, 100, 50, 100, 100);
    played_run(&p, 0, 10, 10);
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 30, 30);
    assert_int_equal(played_read(&p, 0), 1);
    assert_true(tally_reader_is_exact(p.reader, 0));
    assert_taken(&p, TALLY_SLOT_ROOT, 180, 60, 11, 1, 110, 60, 110, 110);
    assert_taken(&p, 2, 90, 30, 3, 0, 30, 30, 30, 30);
    assert_int_equal(tally_reader_running(p.reader, 0), 2);
    played_enter(&p, 0, 3, ALL);
    assert_true(tally_reader_is_exact(p.reader, 0));
    played_settle(&p);
    assert_false(tally_reader_is_exact(p.reader, 0));
    played_done(&p);
}

/* Slots and words of one CPU are not those of another; a slot that changes hands goes on. */
static void test_slots(void **state)
{
    struct played p;
    uint64_t delta[WORDS];

    (void)state;
    played_init(&p);
    played_enter(&p, 0, 2, ALL);
    played_enter(&p, 1, 4, ALL);
    played_run(&p, 0, 20, 20);
    played_run(&p, 1, 70, 70);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        assert_int_equal(played_read(&p, cpu), 1);
    assert_int_equal(p.taken[2][ENABLED], 20);
    assert_int_equal(p.taken[4][ENABLED], 70);
    played_enter(&p, 0, TALLY_SLOT_ROOT, ALL);
    assert_int_equal(played_read(&p, 0), 1);
    memset(p.taken, 0, sizeof(p.taken));
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 5, 5);
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 2, 15, 5, 0, 1, 5, 5, 5, 5); /* the switch waited for time */
    /* Only those that are asked for; the others wait. */
    played_run(&p, 1, 1, 1);
    assert_int_equal(tally_reader_read(p.reader, 1, played_now, &p), 1);
    assert_int_equal(tally_reader_take(p.reader, 1, 0, 4, delta), TALLY_SLOT_NONE);
    assert_int_equal(tally_reader_take(p.reader, 1, 2, SLOTS, delta), 4);
    assert_int_equal(delta[CYCLES], 3);
    assert_int_equal(tally_reader_take(p.reader, 1, 5, SLOTS, delta), TALLY_SLOT_NONE);
    played_done(&p);
}

static void switch_twice(struct played *p, unsigned cpu)
{
    played_run(p, cpu, 10, 10);
    played_enter(p, cpu, 3, ALL);
    played_run(p, cpu, 10, 10);
    played_enter(p, cpu, 2, ALL);
    played_settle(p);
}

static void switch_once(struct played *p, unsigned cpu)
{
    if (p->calls == 1)
        switch_twice(p, cpu);
}

static void test_changing(void **state)
{
    struct played p;

    (void)state;
    played_init(&p);
    played_run(&p, 0, 1, 1);
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 100, 100);
    p.meanwhile = switch_once;
    assert_int_equal(played_read(&p, 0), 1);
    assert_int_equal(p.calls, 2);
    assert_int_equal(p.taken[2][ENABLED], 110);
    assert_int_equal(p.taken[3][ENABLED], 10);
    /* During each try: as of the last switch, and nothing is lost. */
    p.meanwhile = switch_twice;
    played_run(&p, 0, 1, 1);
    assert_int_equal(played_read(&p, 0), 0);
    assert_int_equal(p.calls, 3);
    assert_int_equal(p.taken[2][ENABLED], 141);
    assert_int_equal(p.taken[3][ENABLED], 40);
    assert_int_equal(tally_reader_running(p.reader, 0), 2);
    assert_false(tally_reader_is_exact(p.reader, 0));
    p.meanwhile = NULL;
    played_run(&p, 0, 9, 9);
    assert_int_equal(played_read(&p, 0), 1);
    assert_memory_equal(p.taken, p.truth, sizeof(p.taken));
    assert_int_equal(p.taken[2][ENABLED], 150);
    played_done(&p);
}

static uint32_t random_below(struct played *p, uint32_t n)
{
    p->random = p->random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(p->random >> 33) % n;
}

/* The CPU goes on, and any of its stores become visible. */
static void go_on(struct played *p, unsigned cpu)
{
    for (uint32_t n = random_below(p, 3); n; n--) {
        uint32_t ns = random_below(p, 1000);
        played_run(p, cpu, ns, random_below(p, 2) ? ns : random_below(p, ns + 1));
        played_enter(p, cpu, random_below(p, SLOTS), ALL);
    }
    for (size_t i = 0; i < p->n_stores; i++)
        if (random_below(p, 2))
            memcpy(p->stores[i].to, &p->stores[i].value, sizeof(uint64_t));
}

/* In any order of the stores, no slot is given more than it had, and in the end all of it. */
static void test_any_order(void **state)
{
    unsigned consistent = 0;
    struct played p;

    (void)state;
    played_init(&p);
    p.meanwhile = go_on;
    for (unsigned i = 0; i < 20000; i++) {
        consistent += played_read(&p, i % CPUS) == 1;
        for (size_t k = 0; k < sizeof(p.taken) / sizeof(uint64_t); k++)
            assert_true((&p.taken[0][0])[k] <= (&p.truth[0][0])[k]);
    }
    assert_in_range(consistent, 1000, 19999);
    p.meanwhile = NULL;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            played_enter(&p, cpu, slot, ALL);
            played_run(&p, cpu, 10, 10);
            assert_int_equal(played_read(&p, cpu), 1);
            played_run(&p, cpu, 10, 10);
        }
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        assert_int_equal(played_read(&p, cpu), 1);
    assert_memory_equal(p.taken, p.truth, sizeof(p.taken));
    played_done(&p);
}

/* The stores of an entry, and what is taken of them: the first time, and once all are visible. */
static void test_half_visible(void **state)
{
    static const struct {
        uint64_t visible, first[WORDS];
    } cases[] = {
        {1U << ENABLED, {[ENABLED] = 100}},
        {1U << RUNNING, {0}},
        {1U << CYCLES, {0}},
        {1U << ENABLED | 1U << CYCLES, {[ENABLED] = 100}},
        {1U << ENABLED | 1U << RUNNING, {[ENABLED] = 100, [RUNNING] = 40}},
        {1U << FAULTS | 1U << RUNNING_2, {0}},
        {1U << ENABLED | 1U << FAULTS | 1U << RUNNING_2, {[ENABLED] = 100}},
        {1U << ENABLED_2 | 1U << RUNNING_2 | 1U << SWITCHES, {0}}, /* the first group says that it ran */
        {1U << ENABLED | 1U << ENABLED_2 | 1U << RUNNING_2, {[ENABLED] = 100, [ENABLED_2] = 100, [RUNNING_2] = 100}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct played p;
        played_init(&p);
        assert_int_equal(played_read(&p, 0), 1);
        played_enter(&p, 0, 2, ALL);
        played_run(&p, 0, 100, 40);
        played_settle(&p);
        played_enter(&p, 0, 3, ALL);
        for (size_t word = 0; word < WORDS; word++)
            if (cases[i].visible >> word & 1)
                p.seen[0][2][word] = p.counts[0][2][word];
        p.error = EBUSY; /* no IPI: nothing else becomes visible */
        assert_int_equal(played_read(&p, 0), -EBUSY);
        assert_memory_equal(p.taken[2], cases[i].first, sizeof(p.taken[2]));
        p.error = 0;
        played_enter(&p, 0, 2, ALL);
        played_run(&p, 0, 10, 10);
        assert_int_equal(played_read(&p, 0), 1);
        assert_memory_equal(p.taken[2], p.truth[2], sizeof(p.taken[2]));
        played_done(&p);
    }
}

/* Words that cannot be read keep what their entry has, and those of other groups go on. */
static void test_valid(void **state)
{
    const uint64_t hardware = 1U << CYCLES | 1U << CLOCK | 1U << ENABLED | 1U << RUNNING;
    struct played p;

    (void)state;
    played_init(&p);
    played_run(&p, 0, 100, 100);
    p.valid = ALL & ~hardware;
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, TALLY_SLOT_ROOT, 0, 0, 10, 0, 0, 0, 100, 100);
    p.valid = ALL;
    played_enter(&p, 0, 2, ALL & ~hardware);
    played_run(&p, 0, 50, 50);
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 2, 0, 0, 5, 0, 0, 0, 50, 50);
    played_enter(&p, 0, 2, ALL); /* it can be read again */
    played_run(&p, 0, 10, 10);
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 2, 30, 10, 6, 1, 10, 10, 60, 60);
    /* Words of the entry are taken as they are. */
    played_run(&p, 0, 10, 10);
    played_enter(&p, 0, 3, ALL);
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 5, 5);
    p.valid = ALL & ~hardware;
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 2, 60, 20, 7, 2, 20, 20, 75, 75);
    played_done(&p);
}

/* From set_cpu() on the record is over until the CPU looks again; what was dropped then is not waited for. */
static void test_set_cpu(void **state)
{
    struct played p;

    (void)state;
    played_init(&p);
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 100, 100);
    assert_int_equal(played_read(&p, 0), 1);
    assert_int_equal(p.taken[2][CYCLES], 300);
    for (size_t i = 0; i < WORDS; i++)
        p.now[0][i] += 1000000; /* other counters */
    tally_reader_set_cpu(p.reader, 0, played_events);
    assert_int_equal(played_read(&p, 0), 0);
    assert_int_equal(p.taken[2][CYCLES], 300);
    assert_int_equal(tally_reader_running(p.reader, 0), TALLY_SLOT_NONE);
    p.records[0].slot = TALLY_SLOT_NONE; /* as another epoch has it */
    p.records[0].epoch++;
    played_enter(&p, 0, 2, ALL);
    played_run(&p, 0, 100, 100); /* as much as was dropped */
    assert_int_equal(played_read(&p, 0), 1);
    assert_int_equal(p.taken[2][CYCLES], 600);
    assert_int_equal(tally_reader_running(p.reader, 0), 2);
    /* The CPU leaves: nothing of it is taken. */
    tally_reader_set_cpu(p.reader, 0, none);
    played_enter(&p, 0, 3, ALL);
    played_run(&p, 0, 10, 10);
    assert_int_equal(played_read(&p, 0), 1);
    assert_int_equal(p.taken[3][ENABLED], 0);
    played_done(&p);
}

/* Other events on a CPU: what a slot had of one group says nothing about another. */
static void test_other_group(void **state)
{
    const uint64_t software = 1U << FAULTS | 1U << SWITCHES | 1U << ENABLED_2 | 1U << RUNNING_2;
    struct tally_event first[4] = {{0}}, second[4] = {{0}};
    struct played p;

    (void)state;
    memcpy(first, played_events, 2 * sizeof(first[0]));
    memcpy(second + 2, played_events + 2, 2 * sizeof(first[0]));
    played_init(&p);
    tally_reader_set_cpu(p.reader, 0, first);
    played_enter(&p, 0, 3, ALL & ~software);
    played_run(&p, 0, 50, 50);
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 3, 150, 50, 0, 0, 50, 50, 0, 0);
    tally_reader_set_cpu(p.reader, 0, second);
    played_enter(&p, 0, 3, software);
    played_run(&p, 0, 50, 50);
    assert_int_equal(played_read(&p, 0), 1);
    assert_taken(&p, 3, 150, 50, 5, 0, 50, 50, 50, 50);
    played_done(&p);
}

/* A record that says nothing, or a slot that there is not. */
static void test_nothing(void **state)
{
    static const uint32_t slots[] = {TALLY_SLOT_NONE, SLOTS};
    struct played p;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
        played_init(&p);
        played_run(&p, 0, 10, 10);
        played_enter(&p, 0, slots[i], ALL);
        played_run(&p, 0, 10, 10);
        assert_int_equal(played_read(&p, 0), 1);
        assert_true(tally_reader_running(p.reader, 0) >= SLOTS);
        assert_false(tally_reader_is_exact(p.reader, 0));
        assert_memory_equal(p.taken, p.truth, sizeof(p.taken));
        played_done(&p);
    }
    played_init(&p);
    memset(p.seen_records, 0, sizeof(p.seen_records));
    memset(p.records, 0, sizeof(p.records));
    assert_int_equal(played_read(&p, 1), 0);
    played_done(&p);
}

static void test_refused(void **state)
{
    /* 2^61 entries of 64 bytes: 2^67 bytes would be none. */
    const struct tally_shape large = {.cpus = 1U << 31, .slots = 1U << 30, .events = 6, .groups = 1};
    const struct tally_maps maps = {3, 4};
    struct tally_reader *reader = NULL;
    struct played p;

    (void)state;
    played_init(&p);
    played_done(&p);
    for (p.refused = 3; p.refused <= 4; p.refused++)
        assert_int_equal(tally_reader_new(&p.sys, &played_shape, &maps, &reader), -EPERM);
    assert_int_equal(tally_reader_new(&p.sys, &large, &maps, &reader), -ENOMEM);
    assert_null(reader);
    assert_null(tally_reader_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running),   cmocka_unit_test(test_slots),        cmocka_unit_test(test_changing),
        cmocka_unit_test(test_any_order), cmocka_unit_test(test_half_visible), cmocka_unit_test(test_valid),
        cmocka_unit_test(test_set_cpu),   cmocka_unit_test(test_other_group),  cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
