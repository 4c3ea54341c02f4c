/* SPDX-License-Identifier: Apache-2.0 */
/* Tries follow each other later and later, and the event loop is not woken without need. */
#include "daemon/retry.h"
#include "tests/unit/test.h"

static const struct {
    enum reason_span in_span;
    unsigned out_waits[9];
} cases[] = {
    {REASON_LASTS, {0}},
    {REASON_PASSES, {1, 2, 4, 8, 16, 32, 60, 60, 60}},
    {REASON_BRIEF, {1, 2, 4, 8, 16, 32, 60, 0}},
};

static void test_waits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsigned wait_s = 0;
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].out_waits); k++) {
            wait_s = retry_next(wait_s, cases[i].in_span);
            assert_int_equal(wait_s, cases[i].out_waits[k]);
            if (wait_s == 0)
                break;
        }
    }
}

struct rig {
    sd_event *event;
    struct retry *retry;
    enum reason_span span;
    unsigned tries;
};

static void on_time(void *userdata)
{
    struct rig *rig = userdata;

    rig->tries++;
    assert_int_equal(retry_want(rig->retry, rig->span), 0);
}

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    *state = rig;
    assert_true(sd_event_new(&rig->event) >= 0);
    assert_int_equal(retry_new(rig->event, on_time, rig, &rig->retry), 0);
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    retry_free(rig->retry);
    sd_event_unref(rig->event);
    free(rig);
    return 0;
}

/* Returns how often the loop woke up. */
static unsigned run_for(struct rig *rig, uint64_t usec)
{
    uint64_t begin, now;
    unsigned wakes = 0;

    assert_true(sd_event_now(rig->event, CLOCK_MONOTONIC, &begin) >= 0);
    do {
        int r = sd_event_run(rig->event, 10000);
        assert_true(r >= 0);
        wakes += r > 0;
        assert_int_equal(sd_event_now(rig->event, CLOCK_MONOTONIC, &now), 0);
    } while (now < begin + usec);
    return wakes;
}

static void test_nothing_wanted(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(retry_want(rig->retry, REASON_LASTS), 0);
    assert_int_equal(retry_wait(rig->retry), 0);
    assert_int_equal(run_for(rig, 5 * USEC_PER_SEC / 4), 0);
    assert_int_equal(rig->tries, 0);
}

static void test_until_it_is_there(void **state)
{
    struct rig *rig = *state;

    rig->span = REASON_PASSES;
    assert_int_equal(retry_want(rig->retry, REASON_PASSES), 0);
    assert_int_equal(retry_wait(rig->retry), 1);
    assert_int_equal(retry_want(rig->retry, REASON_PASSES), 0);
    run_for(rig, USEC_PER_SEC / 2);
    assert_int_equal(rig->tries, 0);
    run_for(rig, USEC_PER_SEC);
    assert_int_equal(rig->tries, 1);
    assert_int_equal(retry_wait(rig->retry), 2);
    retry_restart(rig->retry);
    assert_int_equal(retry_wait(rig->retry), 0);
    assert_int_equal(retry_want(rig->retry, REASON_PASSES), 0);
    assert_int_equal(retry_wait(rig->retry), 1);
    rig->span = REASON_LASTS;
    run_for(rig, 5 * USEC_PER_SEC / 4);
    assert_int_equal(rig->tries, 2);
    assert_int_equal(retry_wait(rig->retry), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),
        cmocka_unit_test_setup_teardown(test_nothing_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_until_it_is_there, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
