/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of events over real sockets: made once beside the event loop, however many ask. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/api/events-document.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

/* Others are answered meanwhile. */
static void expect_soon(const struct served *f, uint64_t before)
{
    if (runs_emulated())
        leave_out("how soon others are answered is not measured in an emulator");
    else
        assert_true(served_now(f) - before < 200 * NSEC_PER_MSEC);
}

static void test_made_once(void **state)
{
    struct served f;
    int fds[20];

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    f.fake.draft_ns = 300 * NSEC_PER_MSEC;
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(&f, i == 3 ? "HEAD /api/v1/events" : "GET /api/v1/events", i % 2 ? GZIP : "");
    served_run(&f, 20 * NSEC_PER_MSEC);
    /* Meanwhile others are answered, and one that waits leaves. */
    uint64_t before = served_now(&f);
    served_expect_answer(&f, 0, "GET /metrics", "", "HTTP/1.1 200 ");
    expect_soon(&f, before);
    close(fds[0]);
    for (size_t i = 1; i < ARRAY_SIZE(fds); i++) {
        _cleanup_(freep) char *response = served_receive_text(&f, fds[i], i == 3);
        assert_has(response, i % 2 ? "Content-Encoding: gzip\r\n" : "{\"document\": \"events\", \"generation\": 0");
        close(fds[i]);
    }
    assert_int_equal(f.fake.drafts, 1);
    /* From memory, all forms of it. */
    before = served_now(&f);
    served_expect_answer(&f, 0, "GET /api/v1/events", GZIP, "Content-Encoding: gzip\r\n");
    served_expect_answer(&f, 0, "GET /api/v1/events", "", "1998 1999 \"}");
    served_expect_answer(&f, 0, "HEAD /api/v1/events", "", "Content-Length: ");
    expect_soon(&f, before);
    assert_int_equal(f.fake.drafts, 1);
    served_done(&f);
}

/* Also where it changes while it is made: clients that asked before the change get the events of then. */
static void test_generations(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    served_expect_answer(&f, 0, "GET /api/v1/events", "", "\"generation\": 0");
    f.fake.generation = 1;
    served_expect_answer(&f, 0, "GET /api/v1/events", "", "\"generation\": 1");
    served_expect_answer(&f, 0, "GET /api/v1/events", "", "\"generation\": 1");
    assert_int_equal(f.fake.drafts, 2);
    f.fake.draft_ns = 100 * NSEC_PER_MSEC;
    f.fake.generation = 2;
    int second = served_ask(&f, "GET /api/v1/events", "");
    served_run(&f, 20 * NSEC_PER_MSEC);
    f.fake.generation = 3;
    int third = served_ask(&f, "GET /api/v1/events", "");
    served_run(&f, 20 * NSEC_PER_MSEC);
    assert_int_equal(f.fake.drafts, 4);
    served_expect_last(&f, second, "\"generation\": 2");
    served_expect_last(&f, third, "\"generation\": 3");
    served_expect_answer(&f, 0, "GET /api/v1/events", "", "\"generation\": 3");
    assert_int_equal(f.fake.drafts, 4);
    served_done(&f);
}

/* The server ends while it is made, with a client that waits, and with one that takes its time to read. */
static void test_end(void **state)
{
    (void)state;
    for (unsigned ms = 0; ms < 60; ms += 20) {
        struct served f;
        served_start(&f, NULL, "127.0.0.1:0");
        f.fake.draft_ns = 30 * NSEC_PER_MSEC;
        int fd = served_ask(&f, "GET /api/v1/events", GZIP);
        served_run(&f, ms * NSEC_PER_MSEC);
        served_done(&f);
        close(fd);
    }
}

/* A flood gets its answers later, and other requests are not held up by them. */
static void test_flood(void **state)
{
    struct served f;
    int fds[100];

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    served_expect_answer(&f, 0, "GET /api/v1/events", GZIP, "HTTP/1.1 200 ");
    uint64_t before = served_now(&f);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(&f, "GET /api/v1/events", "");
    served_expect_answer(&f, 0, "GET /metrics", "", "HTTP/1.1 200 ");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        served_expect_last(&f, fds[i], "HTTP/1.1 200 ");
    assert_true(served_now(&f) - before >
                NSEC_PER_SEC * (ARRAY_SIZE(fds) - EVENTS_DOCUMENTS_PER_SECOND) / EVENTS_DOCUMENTS_PER_SECOND);
    assert_int_equal(f.fake.drafts, 1);
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
