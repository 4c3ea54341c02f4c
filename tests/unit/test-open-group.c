/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled totals for readings that break naive scaling. */
#include "base/cleanup.h"
#include "perf/open-group.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/test.h"

struct step {
    uint64_t in_enabled, in_running, in_value;
    int out_result;
    enum scale_state out_state;
    uint64_t out_total, out_raw;
};

struct history {
    const char *name;
    size_t n;
    struct step steps[6];
};

static const struct history histories[] = {
    {"never multiplexed", 2, {{100, 100, 7, 0, SCALE_COUNTING, 7, 7}, {200, 200, 9, 0, SCALE_COUNTING, 9, 9}}},
    {"the first reading is a delta from zero", 1, {{100, 50, 7, 0, SCALE_MULTIPLEXED, 14, 7}}},
    {"naive scaling would fall from 1000 to 600: the ratio went from 1/10 to 5.5/10",
     2,
     {{100, 10, 100, 0, SCALE_MULTIPLEXED, 1000, 100}, {200, 110, 330, 0, SCALE_COUNTING, 1230, 330}}},
    {"the first delta after starvation covers the gap",
     4,
     {{100, 100, 50, 0, SCALE_COUNTING, 50, 50},
      {200, 100, 50, 0, SCALE_STARVED, 50, 50},
      {300, 100, 50, 0, SCALE_STARVED, 50, 50},
      {400, 200, 150, 0, SCALE_MULTIPLEXED, 350, 150}}},
    {"the group never ran", 2, {{100, 0, 0, 0, SCALE_STARVED, 0, 0}, {200, 0, 0, 0, SCALE_STARVED, 0, 0}}},
    {"no time has passed: enabled and running are zero",
     3,
     {{0, 0, 0, 0, SCALE_COUNTING, 0, 0}, {50, 50, 5, 0, SCALE_COUNTING, 5, 5}, {50, 50, 5, 0, SCALE_COUNTING, 5, 5}}},
    {"a running time above the enabled time does not shorten the next interval",
     2,
     {{100, 130, 7, 0, SCALE_COUNTING, 7, 7}, {200, 200, 14, 0, SCALE_COUNTING, 14, 14}}},
    {"a counter reaches 2^64",
     3,
     {{100, 100, INT64_MAX, 0, SCALE_COUNTING, INT64_MAX, INT64_MAX},
      {200, 200, UINT64_MAX - 1, 0, SCALE_COUNTING, UINT64_MAX - 1, UINT64_MAX - 1},
      {300, 300, 0, 0, SCALE_COUNTING, UINT64_MAX, 0}}},
    {"the integer part of a total saturates instead of wrapping",
     2,
     {{UINT64_C(1) << 40, 1, INT64_MAX, 0, SCALE_MULTIPLEXED, UINT64_MAX, INT64_MAX},
      {UINT64_C(1) << 41, 2, INT64_MAX, 0, SCALE_MULTIPLEXED, UINT64_MAX, INT64_MAX}}},
    {"enabled time decreases: it is another group",
     2,
     {{200, 200, 9, 0, SCALE_COUNTING, 9, 9}, {100, 100, 10, -ESTALE, SCALE_COUNTING, 9, 9}}},
    {"running time decreases",
     2,
     {{200, 200, 9, 0, SCALE_COUNTING, 9, 9}, {300, 100, 10, -ESTALE, SCALE_COUNTING, 9, 9}}},
    {"a counter decreases", 2, {{200, 200, 9, 0, SCALE_COUNTING, 9, 9}, {300, 300, 8, -ESTALE, SCALE_COUNTING, 9, 9}}},
};

TEST(test_histories)
{
    for (size_t i = 0; i < ARRAY_SIZE(histories); i++) {
        _cleanup_(freep) struct scale *scale = scale_new(1);
        for (size_t k = 0; k < histories[i].n; k++) {
            const struct step *step = &histories[i].steps[k];
            print_message("%s, step %zu\n", histories[i].name, k);
            assert_int_equal(scale_add(scale, step->in_enabled, step->in_running, &step->in_value), step->out_result);
            assert_int_equal(scale->state, step->out_state);
            assert_true(scale->counters[0].total.whole == step->out_total);
            assert_true(scale->counters[0].raw == step->out_raw);
            assert_true(scale_times(scale).running <= scale_times(scale).enabled);
        }
    }
}

/*
 * The counter grows by one in a thousand readings, and runs 70 % of the time. Unless the remainder is carried over, the
 * fraction of each delta is lost.
 */
TEST(test_slow_counter)
{
    _cleanup_(freep) struct scale *scale = scale_new(1);
    uint64_t enabled = 0, running = 0, value = 0;

    for (unsigned i = 1; i <= 1000000; i++) {
        enabled += 1000000 + i % 7;
        running += 700000;
        value += i % 1000 == 0;
        assert_int_equal(scale_add(scale, enabled, running, &value), 0);
    }
    /* 1,000 events times (1000000 + 0..6)/700000 are about 1428.57; no fraction is lost. */
    assert_int_equal(scale->counters[0].total.whole, 1428);
    assert_true(scale->counters[0].total.fraction > UINT64_MAX / 100 * 57);
}

TEST(test_reopen)
{
    _cleanup_(freep) struct scale *scale = scale_new(2);

    scale_add(scale, 100, 50, (uint64_t[]){10, 20});
    scale_reopen(scale);
    scale_add(scale, 10, 10, (uint64_t[]){1, 2});
    assert_int_equal(scale->counters[0].total.whole, 21);
    assert_int_equal(scale->counters[1].total.whole, 42);
    assert_int_equal(scale_times(scale).enabled, 110);
    assert_int_equal(scale_times(scale).running, 60);
}

/* Software events count all the time, but the kernel may report a shorter running time for them. */
TEST(test_always_runs)
{
    static const struct {
        uint32_t in_type;
        uint64_t out_total;
        enum group_activity out_activity;
    } cases[] = {{PERF_TYPE_SOFTWARE, 1000, GROUP_COUNTED}, {PERF_TYPE_HARDWARE, 2000, GROUP_MULTIPLEXED}};
    const struct group_target target = {.pid = -1, .cpu = 0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
        const struct attr attr = {.kernel = {.type = cases[i].in_type, .config = 1}};
        struct open_group open_group = {.scale = scale_new(1)};
        struct group_reading reading;
        assert_int_equal(group_open(&fake->sys, &attr, &target, &open_group.group), 0);
        assert_int_equal(group_enable(open_group.group), 0);
        fake_advance(fake, 1000);
        struct fake_event *event = fake_find_event(fake, group_fd(open_group.group, 0));
        event->count = 1000;
        event->time_running = event->time_enabled / 2;
        assert_int_equal(open_group_read(&open_group, &fake->sys, &reading), 0);
        assert_int_equal(open_group.activity, cases[i].out_activity);
        assert_int_equal(open_group.scale->counters[0].total.whole, cases[i].out_total);
        open_group_done(&open_group);
    }
}

TEST_MAIN(NULL, NULL)
