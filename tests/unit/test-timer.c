/* SPDX-License-Identifier: Apache-2.0 */
/* Timers and rate limits. */
#include "base/timer.h"
#include "tests/unit/test.h"

/* Timers are created once and armed when needed, in a real event loop. */

struct fixture {
    sd_event *event;
    sd_event_source *timer;
    unsigned fired;
};

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    ((struct fixture *)userdata)->fired++;
    return 0;
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    assert_int_equal(sd_event_new(&f->event), 0);
    assert_int_equal(timer_init(f->event, CLOCK_MONOTONIC, 1, on_timer, f, &f->timer), 0);
}

static void teardown(struct fixture *f)
{
    sd_event_source_disable_unref(f->timer);
    sd_event_unref(f->event);
}

/* Runs the event loop. Returns how often the timer has fired so far. */
static unsigned run(struct fixture *f, uint64_t usec)
{
    sd_event_run(f->event, usec);
    return f->fired;
}

TEST(test_fires_once)
{
    struct fixture f;

    setup(&f);
    assert_int_equal(run(&f, 0), 0);
    assert_int_equal(timer_arm_in(f.timer, 0), 0);
    assert_int_equal(run(&f, 60 * USEC_PER_SEC), 1);
    assert_int_equal(run(&f, 0), 1);
    teardown(&f);
}

/* Arming a timer again changes its time, and a disarmed timer does not fire. */
TEST(test_moves_and_disarms)
{
    struct fixture f;

    setup(&f);
    assert_int_equal(timer_arm_in(f.timer, 3600 * USEC_PER_SEC), 0);
    assert_int_equal(timer_arm_in(f.timer, 500), 0);
    assert_int_equal(run(&f, 60 * USEC_PER_SEC), 1);
    assert_int_equal(timer_arm_in(f.timer, 0), 0);
    timer_disarm(f.timer);
    assert_int_equal(run(&f, 0), 1);
    teardown(&f);
}

TEST(test_remaining)
{
    struct fixture f;

    setup(&f);
    assert_int_equal(timer_remaining(f.timer), 0);
    assert_int_equal(timer_arm_in(f.timer, 3600 * USEC_PER_SEC), 0);
    assert_in_range(timer_remaining(f.timer), 1, 3600 * USEC_PER_SEC);
    timer_disarm(f.timer);
    assert_int_equal(timer_remaining(f.timer), 0);
    teardown(&f);
}

TEST(test_usec_until)
{
    static const struct {
        uint64_t in_due_ns, in_now_ns, out_usec;
    } cases[] = {
        {0, 0, 0}, {5000, 5000, 0}, {5001, 5000, 1}, {6000, 5000, 1}, {6001, 5000, 2}, {5000, UINT64_MAX, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(usec_until(cases[i].in_due_ns, cases[i].in_now_ns), cases[i].out_usec);
}

/* The rate limit, as a list of times and results. */

#define NEVER UINT64_MAX

static const struct {
    const char *name;
    uint64_t in_interval, in_burst;
    struct {
        uint64_t at;
        bool out;
        uint64_t out_wait;
    } steps[8];
    size_t n;
} cases[] = {
    {"a burst, then one per interval",
     10,
     2,
     {{100, true, 0},
      {100, true, 0},
      {100, false, 10},
      {104, false, 6},
      {110, true, 0},
      {111, false, 9},
      {120, true, 0}},
     7},
    {"fractions of intervals add up", 10, 1, {{100, true, 0}, {105, false, 5}, {109, false, 1}, {110, true, 0}}, 4},
    {"without a burst nothing passes", 10, 0, {{100, false, NEVER}, {1000, false, NEVER}}, 2},
    {"a clock that stops or goes backwards",
     10,
     1,
     {{100, true, 0}, {90, false, 10}, {100, false, 10}, {110, true, 0}},
     4},
    {"the largest possible burst", NSEC_PER_SEC, UINT64_MAX, {{100, true, 0}, {NEVER, true, 0}}, 2},
    {"the longest possible interval", UINT64_MAX, 1, {{100, true, 0}, {200, false, UINT64_MAX - 100}}, 2},
};

TEST(test_steps)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct token_bucket bucket = {0};
        print_message("%s\n", cases[i].name);
        token_bucket_configure(&bucket, cases[i].in_interval, cases[i].in_burst, 50);
        for (size_t k = 0; k < cases[i].n; k++) {
            uint64_t wait = 0;
            assert_int_equal(token_bucket_take(&bucket, cases[i].steps[k].at, &wait), cases[i].steps[k].out);
            assert_int_equal(wait, cases[i].steps[k].out_wait);
        }
    }
}

TEST(test_reconfigured)
{
    struct token_bucket bucket = {0};
    uint64_t wait;

    token_bucket_configure(&bucket, 10, 1, 0);
    assert_true(token_bucket_take(&bucket, 0, &wait));
    token_bucket_configure(&bucket, 10, 1, 1);
    assert_false(token_bucket_take(&bucket, 1, &wait));
    token_bucket_configure(&bucket, 10, 2, 2);
    assert_true(token_bucket_take(&bucket, 2, &wait));
    assert_true(token_bucket_take(&bucket, 2, &wait));
    assert_false(token_bucket_take(&bucket, 2, &wait));
    token_bucket_configure(&bucket, 0, 0, 3);
    assert_true(token_bucket_take(&bucket, 3, &wait));
}

TEST_MAIN(NULL, NULL)
