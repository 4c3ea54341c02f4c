/* SPDX-License-Identifier: Apache-2.0 */
/* Counting that is paused for a time, in an event loop. */
#include "daemon/pause.h"
#include "tests/unit/test.h"

static void on_end(void *userdata)
{
    ++*(unsigned *)userdata;
}

static void run_for(sd_event *event, uint64_t usec)
{
    uint64_t begin, now;

    assert_true(sd_event_now(event, CLOCK_MONOTONIC, &begin) >= 0);
    do {
        assert_true(sd_event_run(event, 10000) >= 0);
        assert_int_equal(sd_event_now(event, CLOCK_MONOTONIC, &now), 0);
    } while (now < begin + usec);
}

static void test_ends_by_itself(void **state)
{
    struct pause *pause;
    unsigned ends = 0;
    sd_event *event;

    (void)state;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(pause_new(event, on_end, &ends, &pause), 0);
    assert_int_equal(pause_remaining(pause), 0);
    assert_int_equal(pause_start(pause, 3600), 0);
    assert_true(pause_remaining(pause) > 3599 * USEC_PER_SEC && pause_remaining(pause) <= 3600 * USEC_PER_SEC);
    assert_int_equal(pause_start(pause, 1), 0);
    assert_true(pause_remaining(pause) <= USEC_PER_SEC);
    run_for(event, USEC_PER_SEC / 2);
    assert_int_equal(ends, 0);
    run_for(event, USEC_PER_SEC);
    assert_int_equal(ends, 1);
    assert_int_equal(pause_remaining(pause), 0);
    pause_free(pause);
    sd_event_unref(event);
}

static void test_stops(void **state)
{
    struct pause *pause;
    unsigned ends = 0;
    sd_event *event;

    (void)state;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(pause_new(event, on_end, &ends, &pause), 0);
    assert_int_equal(pause_start(pause, 1), 0);
    pause_stop(pause);
    assert_int_equal(pause_remaining(pause), 0);
    run_for(event, 5 * USEC_PER_SEC / 4);
    assert_int_equal(ends, 0);
    pause_free(pause);
    pause_free(NULL);
    sd_event_unref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_by_itself),
        cmocka_unit_test(test_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
