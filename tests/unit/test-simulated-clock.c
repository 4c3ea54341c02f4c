/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose service uses a simulated clock, while its timers run on the kernel's clock. */
#include <time.h>
#include <unistd.h>

#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define TURNS_MAX 1000

static uint64_t began_ns, simulated_ns;

static uint64_t real_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t simulated_now(void *userdata)
{
    (void)userdata;
    return simulated_ns + (real_now() - began_ns);
}

static void start(struct served *served, uint64_t request_ns)
{
    struct server_limits limits = served_few;
    struct error error;

    limits.request_ns = request_ns;
    served_init(served, &limits);
    served->fake.service.now = simulated_now;
    began_ns = real_now();
    assert_int_equal(served_listen(served, "127.0.0.1:0", &error), 0);
}

static void test_rates_come_after_their_time(void)
{
    struct served served;

    start(&served, 3600 * NSEC_PER_SEC);
    served_expect_answer(&served, 0, "GET /api/v1/rates?seconds=0.1", "", OK);
    assert_true(real_now() - began_ns >= NSEC_PER_SEC / 10);
    served_done(&served);
}

static void test_silent_client_is_cut_off(void)
{
    struct served served;

    start(&served, NSEC_PER_SEC / 10);
    int fd = served_connect(&served, 0, 0);
    served_expect_end(&served, fd, NULL);
    assert_true(real_now() - began_ns >= NSEC_PER_SEC / 10);
    close(fd);
    served_done(&served);
}

/* A timer that is always due would fire at every iteration of the event loop. */
static void test_loop_rests_before_a_deadline(void)
{
    struct served served;
    unsigned turns = 0;

    start(&served, 3600 * NSEC_PER_SEC);
    int fd = served_connect(&served, 0, 0);
    assert_true(sd_event_run(served.event, 60 * USEC_PER_SEC) > 0);
    while (sd_event_run(served.event, 0) > 0)
        assert_true(++turns < TURNS_MAX);
    close(fd);
    served_done(&served);
}

TEST(test_clocks)
{
    static const struct {
        const char *in;
        uint64_t in_ns;
    } cases[] = {
        {"booted a second ago", NSEC_PER_SEC},
        {"up for a hundred years", UINT64_C(100) * 365 * 86400 * NSEC_PER_SEC},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].in);
        simulated_ns = cases[i].in_ns;
        test_rates_come_after_their_time();
        test_silent_client_is_cut_off();
        test_loop_rests_before_a_deadline();
    }
}

TEST_MAIN(NULL, NULL)
