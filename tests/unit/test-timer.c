/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that are made once and armed when needed, in a real event loop. */
#include <unistd.h>

#include "base/timer.h"
#include "tests/unit/test.h"

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

/* Lets the event loop run; returns how often the timer has fired by then, in all. */
static unsigned run(struct fixture *f, uint64_t usec)
{
    sd_event_run(f->event, usec);
    return f->fired;
}

static void test_off_until_armed(void **state)
{
    struct fixture f;
    int enabled = -1;

    (void)state;
    setup(&f);
    assert_int_equal(sd_event_source_get_enabled(f.timer, &enabled), 0);
    assert_int_equal(enabled, SD_EVENT_OFF);
    assert_int_equal(run(&f, 1000), 0);
    assert_int_equal(timer_arm_in(f.timer, 500), 0);
    assert_int_equal(run(&f, 10 * USEC_PER_SEC), 1);
    assert_int_equal(run(&f, 1000), 1);
    assert_int_equal(timer_arm_in(f.timer, 0), 0);
    assert_int_equal(run(&f, 10 * USEC_PER_SEC), 2);
    teardown(&f);
}

static void test_moves_and_disarms(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(timer_arm_in(f.timer, 3600 * USEC_PER_SEC), 0);
    assert_int_equal(timer_arm_in(f.timer, 500), 0);
    assert_int_equal(run(&f, 10 * USEC_PER_SEC), 1);
    assert_int_equal(timer_arm_in(f.timer, 500), 0);
    timer_disarm(f.timer);
    assert_int_equal(run(&f, 5000), 1);
    teardown(&f);
}

static void test_remaining(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(timer_remaining(f.timer), 0);
    assert_int_equal(timer_arm_in(f.timer, 3600 * USEC_PER_SEC), 0);
    assert_in_range(timer_remaining(f.timer), 1, 3600 * USEC_PER_SEC);
    timer_disarm(f.timer);
    assert_int_equal(timer_remaining(f.timer), 0);
    teardown(&f);
}

static void test_usec_until(void **state)
{
    static const struct {
        uint64_t in_due_ns, in_now_ns, out_usec;
    } cases[] = {
        {0, 0, 0}, {5000, 5000, 0}, {5001, 5000, 1}, {6000, 5000, 1}, {6001, 5000, 2}, {5000, UINT64_MAX, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(usec_until(cases[i].in_due_ns, cases[i].in_now_ns), cases[i].out_usec);
}

static void test_a_clock_that_is_none(void **state)
{
    struct fixture f;
    sd_event_source *timer = NULL;

    (void)state;
    setup(&f);
    assert_true(timer_init(f.event, 12345, 1, on_timer, &f, &timer) < 0);
    assert_null(timer);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_until_armed),
        cmocka_unit_test(test_moves_and_disarms),
        cmocka_unit_test(test_remaining),
        cmocka_unit_test(test_usec_until),
        cmocka_unit_test(test_a_clock_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
