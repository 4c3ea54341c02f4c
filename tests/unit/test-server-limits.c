/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the HTTP server: clients that wait, are slow or many, over real sockets. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/process/fd.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static const struct server_limits tight = {
    .connections = 6,
    .connections_per_address = 4,
    .memory_per_connection = 8192,
    .request_ns = 150 * NSEC_PER_MSEC,
    .keepalive_ns = 400 * NSEC_PER_MSEC,
    .response_ns = 600 * NSEC_PER_MSEC,
};

static void test_rates_hold_up_nobody(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    _cleanup_(closep) int waiting = served_connect(&f, 0, 0);
    uint64_t begun = served_now(&f);
    served_send(waiting, "GET /api/v1/rates?seconds=0.6", "");
    while (f.fake.fresh_reads == 0 && served_now(&f) - begun < 400 * NSEC_PER_MSEC)
        served_run(&f, NSEC_PER_MSEC);
    assert_int_equal(f.fake.fresh_reads, 1);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    assert_true(served_now(&f) - begun < 500 * NSEC_PER_MSEC);
    _cleanup_(freep) char *rates = served_receive_text(&f, waiting, false);
    assert_has(rates, "HTTP/1.1 200 ");
    assert_has(rates, "\"seconds\": 1.0");
    assert_true(served_now(&f) - begun >= 600 * NSEC_PER_MSEC);
    assert_int_equal(f.fake.fresh_reads, 2);
    served_send(waiting, "GET /-/healthy", "");
    served_expect(&f, waiting, "HTTP/1.1 200 ");
    served_done(&f);
}

static int ask_for_rates_from(const struct served *f, unsigned source)
{
    int fd = served_connect(f, 0, source);

    served_send(fd, "GET /api/v1/rates?seconds=0.5", "");
    return fd;
}

/* An address that has taken all its room leaves some to other addresses, and has it back later. */
static void test_rates_of_one_address(void **state)
{
    struct served f;
    int fds[16];

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_for_rates_from(&f, 1);
    served_run(&f, 50 * NSEC_PER_MSEC);
    _cleanup_(closep) int same = ask_for_rates_from(&f, 1), other = ask_for_rates_from(&f, 2);
    served_expect(&f, same, "HTTP/1.1 503 ");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    served_expect(&f, other, "HTTP/1.1 200 ");
    served_run(&f, 20 * NSEC_PER_MSEC);
    _cleanup_(closep) int later = ask_for_rates_from(&f, 1);
    served_expect(&f, later, "HTTP/1.1 200 ");
    served_done(&f);
}

static void test_client_disappears_while_waiting(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    int fd = served_connect(&f, 0, 0);
    served_send(fd, "GET /api/v1/rates?seconds=0.1", "");
    served_run(&f, 20 * NSEC_PER_MSEC);
    close(fd);
    served_run(&f, 200 * NSEC_PER_MSEC);
    assert_int_equal(f.fake.fresh_reads, 2);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    served_done(&f);
}

static void test_server_is_freed_while_waiting(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    served_send(fd, "GET /api/v1/rates?seconds=60", "");
    served_run(&f, 20 * NSEC_PER_MSEC);
    assert_int_equal(f.fake.fresh_reads, 1);
    served_done(&f);
}

static void test_deadlines(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, &tight, "127.0.0.1:0");
    _cleanup_(closep) int silent = served_connect(&f, 0, 0), half = served_connect(&f, 0, 0),
                          kept = served_connect(&f, 0, 0);
    uint64_t begun = served_now(&f);
    served_say(half, "GET /metrics HTTP/1.1\r\nHost:");
    served_send(kept, "GET /-/healthy", "");
    served_expect(&f, kept, "HTTP/1.1 200 ");
    /* A byte at a time does not help. */
    while (served_now(&f) - begun < 100 * NSEC_PER_MSEC) {
        served_run(&f, 20 * NSEC_PER_MSEC);
        served_say(half, "x");
    }
    assert_true(served_is_closed(&f, half, NSEC_PER_SEC));
    assert_true(served_is_closed(&f, silent, NSEC_PER_SEC));
    assert_in_range(served_now(&f) - begun, 150 * NSEC_PER_MSEC, 2 * NSEC_PER_SEC);
    served_send(kept, "GET /-/healthy", "");
    served_expect(&f, kept, "HTTP/1.1 200 ");
    assert_true(served_is_closed(&f, kept, NSEC_PER_SEC));
    served_done(&f);
}

static void test_response_is_not_taken(void **state)
{
    uint64_t before, connected, after;
    struct served f;
    int size = 4096;

    (void)state;
    served_start(&f, &tight, "127.0.0.1:0");
    fake_service_done(&f.fake);
    fake_service_init(&f.fake, 30000);
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    assert_int_equal(fd_count_open(-1, &before), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    served_send(fd, "GET /metrics", "");
    served_run(&f, 150 * NSEC_PER_MSEC);
    assert_int_equal(fd_count_open(-1, &connected), 0);
    assert_int_equal(connected, before + 1);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    served_run(&f, 1000 * NSEC_PER_MSEC);
    assert_int_equal(fd_count_open(-1, &after), 0);
    assert_int_equal(after, before);
    served_done(&f);
}

static void test_limits(void **state)
{
    struct served f;
    int fds[4];

    (void)state;
    served_start(&f, &served_few, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_connect(&f, 0, 0);
    served_run(&f, 10 * NSEC_PER_MSEC);
    _cleanup_(closep) int fifth = served_connect(&f, 0, 0);
    assert_true(served_is_closed(&f, fifth, NSEC_PER_SEC));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        served_send(fds[i], "GET /-/healthy", "");
        served_expect(&f, fds[i], "HTTP/1.1 200 ");
        close(fds[i]);
    }
    served_run(&f, 10 * NSEC_PER_MSEC);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    served_done(&f);
}

/* Silent clients and idle ones take all slots: a newcomer gets one of these, and not that of a client that waits. */
static void test_makes_room(void **state)
{
    struct served f;
    int fds[6];

    (void)state;
    served_start(&f, &served_few, "127.0.0.1:0");
    _cleanup_(closep) int busy = served_connect(&f, 0, 9);
    served_send(busy, "GET /api/v1/rates?seconds=1", "");
    served_run(&f, 10 * NSEC_PER_MSEC);
    for (size_t round = 0; round < 3; round++) {
        for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
            fds[i] = served_connect(&f, 0, 2 + i / 3);
            served_run(&f, 5 * NSEC_PER_MSEC);
            served_say(fds[i], i % 2 ? "GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n" : "G");
            served_run(&f, 5 * NSEC_PER_MSEC);
        }
        served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
        for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
            close(fds[i]);
    }
    served_expect(&f, busy, "HTTP/1.1 200 ");
    served_done(&f);
}

static void set_limits(struct served *f, const struct server_limits *limits)
{
    char *addresses[] = {(char *)"127.0.0.1:0"};
    struct server_settings settings = {
        .addresses = addresses, .n_addresses = 1, .telemetry_path = "/metrics", .limits = *limits};
    struct error error;

    assert_int_equal(server_configure(f->server, &settings, &error), 0);
}

/* It takes another MHD daemon on the same socket; open requests are answered by the old one. */
static void test_header_size_changes(void **state)
{
    struct server_limits large = served_few;
    struct served f;
    char long_path[12000];

    (void)state;
    served_start(&f, &served_few, "127.0.0.1:0");
    _cleanup_(freep) char *url = strdup(server_url(f.server, 0));
    snprintf(long_path, sizeof(long_path), "GET /%0*d", (int)sizeof(long_path) - 10, 0);
    _cleanup_(freep) char *refused = served_answer(&f, 0, long_path, "");
    assert_has(refused, " 414 URI Too Long\r\n");
    _cleanup_(closep) int begun = served_connect(&f, 0, 0);
    served_say(begun, "GET /-/healthy HTTP/1.1\r\n");
    served_run(&f, 50 * NSEC_PER_MSEC);
    large.memory_per_connection = 65536;
    set_limits(&f, &large);
    assert_string_equal(server_url(f.server, 0), url);
    served_say(begun, "Host: a\r\n\r\n");
    _cleanup_(freep) char *answer = served_receive_text(&f, begun, false), *taken = served_answer(&f, 0, long_path, "");
    assert_has(answer, "HTTP/1.1 200 ");
    assert_has(taken, "HTTP/1.1 404 ");
    assert_true(served_is_closed(&f, begun, NSEC_PER_SEC));
    served_done(&f);
}

static void test_limits_change(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, &served_few, "127.0.0.1:0");
    _cleanup_(closep) int silent = served_connect(&f, 0, 0), kept = served_connect(&f, 0, 0);
    served_send(kept, "GET /-/healthy", "");
    served_expect(&f, kept, "HTTP/1.1 200 ");
    assert_false(served_is_closed(&f, silent, 200 * NSEC_PER_MSEC));
    /* Shorter times are for those that wait already, each for its own. */
    set_limits(&f, &tight);
    assert_true(served_is_closed(&f, silent, NSEC_PER_SEC));
    assert_true(served_is_closed(&f, kept, NSEC_PER_SEC));
    set_limits(&f, &served_few);
    _cleanup_(closep) int patient = served_connect(&f, 0, 0);
    assert_false(served_is_closed(&f, patient, 300 * NSEC_PER_MSEC));
    served_done(&f);
}

/* Lowers the limit of descriptors to those that are open; returns the limit of before. */
static struct rlimit take_descriptors_away(void)
{
    struct rlimit before, limit;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* A client that comes when there is no descriptor left waits, at no cost, and is served as soon as there is one. */
static void test_no_descriptors(void **state)
{
    struct served f;

    (void)state;
    for (unsigned n_open = 0; n_open <= 1; n_open++) {
        served_start(&f, NULL, "127.0.0.1:0");
        int other = n_open ? served_connect(&f, 0, 0) : -1;
        served_run(&f, 20 * NSEC_PER_MSEC);
        int fd = served_connect(&f, 0, 0);
        struct rlimit before = take_descriptors_away();
        served_send(fd, "GET /-/healthy", "");
        unsigned turns = 0;
        for (uint64_t end = served_now(&f) + 300 * NSEC_PER_MSEC; served_now(&f) < end;)
            turns += sd_event_run(f.event, 10000) > 0;
        assert_true(turns < 50);
        assert_has(f.fake.complaint, "wait to be accepted: Too many open files (EMFILE)");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (other >= 0)
            close(other);
        served_expect(&f, fd, "HTTP/1.1 200 ");
        close(fd);
        served_done(&f);
    }
}

/* A socket that accepts no clients costs no turns, as when the process that handed it over has shut it down. */
static void test_shut_down(void **state)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), handed = dup(fd);
    struct served f;
    struct error error;
    unsigned turns = 0;

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 1), 0);
    served_start(&f, NULL, "127.0.0.1:0");
    assert_int_equal(server_adopt(f.server, &handed, 1, &error), 0);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    shutdown(fd, SHUT_RDWR);
    for (uint64_t end = served_now(&f) + 300 * NSEC_PER_MSEC; served_now(&f) < end;)
        turns += sd_event_run(f.event, 10000) > 0;
    assert_true(turns < 50);
    assert_has(f.fake.complaint, "wait to be accepted: Invalid argument (EINVAL)");
    close(fd);
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_hold_up_nobody),
        cmocka_unit_test(test_rates_of_one_address),
        cmocka_unit_test(test_client_disappears_while_waiting),
        cmocka_unit_test(test_server_is_freed_while_waiting),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_response_is_not_taken),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_makes_room),
        cmocka_unit_test(test_header_size_changes),
        cmocka_unit_test(test_limits_change),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_shut_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
