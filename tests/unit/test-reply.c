/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies over real sockets: cached replies, replies for which memory is missing, and replies rendered or compressed by
 * a thread.
 */
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>

#include <libdeflate.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/api-events.h"
#include "http/reply.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

/* --- no memory */

static json_t *no_document(void *userdata, enum api_document which)
{
    (void)userdata;
    (void)which;
    return NULL;
}

/* The client gets an error message, and the connection stays open. */
SERVED_TEST(test_no_memory)
{
    struct served *f = *state;
    _cleanup_(closep) int fd = served_ask(f, "GET /api/v1/status", "");

    f->fake.service.document = no_document;
    _cleanup_(freep) char *refused = served_receive_text(f, fd, false);
    assert_int_equal(served_status(refused), 503);
    assert_has(refused, "Retry-After: 1\r\n");
    assert_has(refused, "{\"error\": \"" REPLY_NO_MEMORY "\", \"status\": 503}");
    served_send(fd, "GET /metrics", "");
    served_expect(f, fd, OK);
}

/* --- compression */

#define N_CGROUPS 6000
#define PLAIN_MAX (16 << 20)

/* Starts a server whose responses are so long that a thread compresses them. */
static int setup(void **state)
{
    struct served *f = *state = malloc(sizeof(*f));
    char name[64];

    served_start(f, NULL, "127.0.0.1:0");
    snapshot_begin_removals(&f->fake.snapshot);
    for (int i = 0; i < N_CGROUPS; i++) {
        snprintf(name, sizeof(name), "/system.slice/some-service-%d.service", i);
        assert_non_null(fake_service_add_cgroup(&f->fake.snapshot, name));
    }
    snapshot_end_removals(&f->fake.snapshot);
    fake_service_advance(&f->fake);
    return 0;
}

/* Receives and decompresses a response, then closes the connection. Returns whether the response was compressed. */
static bool receive(struct served *f, int fd, struct buffer *body)
{
    _cleanup_(buffer_done) struct buffer in = {0};
    size_t head = served_receive(f, fd, false, &in);
    bool gzip = memmem(in.data, head, "Content-Encoding: gzip", 22);

    close(fd);
    assert_true(head > 0);
    assert_memory_equal(in.data, OK, strlen(OK));
    buffer_clear(body);
    if (!gzip) {
        buffer_append(body, in.data + head, in.size - head);
        return false;
    }
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    assert_int_equal(libdeflate_gzip_decompress(decompressor, in.data + head, in.size - head,
                                                buffer_reserve(body, PLAIN_MAX), PLAIN_MAX, &body->size),
                     LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(decompressor);
    assert_true(body->size > COMPRESSION_SIZE_MIN);
    return true;
}

static void assert_same(struct served *f, int fd, const struct buffer *expected)
{
    _cleanup_(buffer_done) struct buffer body = {0};

    assert_true(receive(f, fd, &body));
    assert_int_equal(body.size, expected->size);
    assert_memory_equal(body.data, expected->data, body.size);
}

/*
 * Clients that request the same document wait for one compression. If one client disconnects, the others still get the
 * document, and other requests are answered during the compression.
 */
TEST_WITH(test_shared, setup, served_teardown)
{
    _cleanup_(buffer_done) struct buffer plain = {0}, later = {0};
    struct served *f = *state;
    int fds[8];

    assert_false(receive(f, served_ask(f, "GET /metrics", ""), &plain));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(f, "GET /metrics", GZIP);
    served_spin(f, 3);
    close(fds[0]);
    close(fds[3]);
    served_expect_answer(f, 0, HEALTHY, "", OK);
    for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
        if (i != 3)
            assert_same(f, fds[i], &plain);
    /* The compressed document is cached until the next reading. */
    assert_same(f, served_ask(f, "GET /metrics", GZIP), &plain);
    fake_service_advance(&f->fake);
    assert_true(receive(f, served_ask(f, "GET /metrics", GZIP), &later));
    assert_true(later.size != plain.size || memcmp(later.data, plain.data, later.size) != 0);
}

/* A new reading arrives while the previous one is still being compressed. */
TEST_WITH(test_readings, setup, served_teardown)
{
    _cleanup_(buffer_done) struct buffer body = {0};
    struct served *f = *state;
    int fds[2 * COMPRESSIONS_MAX];
    unsigned compressed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = served_ask(f, i % 2 ? "GET /api/v1/counters" : "GET /metrics", GZIP);
        served_spin(f, 2);
        fake_service_advance(&f->fake);
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        compressed += receive(f, fds[i], &body);
    assert_true(compressed >= COMPRESSIONS_MAX);
}

TEST_WITH(test_documents, setup, served_teardown)
{
    static const char *const requests[] = {
        "GET /api/v1/counters",
        "GET /api/v1/counters?collector=cgroup",
        "GET /api/v1/counters?cgroup=*.service",
        "GET /api/v1/rates?seconds=0.05",
    };
    _cleanup_(buffer_done) struct buffer body = {0};

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        assert_true(receive(*state, served_ask(*state, requests[i], GZIP), &body));
        assert_int_equal(body.data[body.size - 2], '}');
    }
}

/* The server is freed while clients wait. */
TEST_WITH(test_freed_meanwhile, setup, served_teardown)
{
    struct served *f = *state;
    int fds[4];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(f, i % 2 ? "GET /api/v1/counters" : "GET /metrics", GZIP);
    served_spin(f, 4);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

/* --- the catalogue of events, rendered by a thread */

static const char events[] = "GET /api/v1/events";

/*
 * The catalogue is rendered once for all clients; meanwhile other requests are answered, and a waiting client may
 * disconnect.
 */
SERVED_TEST(test_made_once)
{
    struct served *f = *state;
    int fds[20];

    fake_service_hold_deferred(&f->fake);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(f, i == 3 ? "HEAD /api/v1/events" : events, i % 2 ? GZIP : "");
    served_wait(f, f->fake.deferreds == 1);
    served_expect_answer(f, 0, "GET /metrics", "", OK);
    close(fds[0]);
    fake_service_release_deferred(&f->fake);
    for (size_t i = 1; i < ARRAY_SIZE(fds); i++) {
        _cleanup_(freep) char *response = served_receive_text(f, fds[i], i == 3);
        assert_has(response, i % 2 ? "Content-Encoding: gzip\r\n" : "{\"document\": \"events\", \"generation\": 0");
        close(fds[i]);
    }
    /* All variants of the document are cached. */
    served_expect_answer(f, 0, events, GZIP, "Content-Encoding: gzip\r\n");
    served_expect_answer(f, 0, events, "", "1998 1999 \"}");
    served_expect_answer(f, 0, "HEAD /api/v1/events", "", "Content-Length: ");
    assert_int_equal(f->fake.deferreds, 1);
}

/* If the events change during rendering, clients that asked before the change get the old events. */
SERVED_TEST(test_generations)
{
    struct served *f = *state;

    served_expect_answer(f, 0, events, "", "\"generation\": 0");
    f->fake.generation = 1;
    served_expect_answer(f, 0, events, "", "\"generation\": 1");
    served_expect_answer(f, 0, events, "", "\"generation\": 1");
    assert_int_equal(f->fake.deferreds, 2);
    fake_service_hold_deferred(&f->fake);
    f->fake.generation = 2;
    _cleanup_(closep) int second = served_ask(f, events, "");
    served_wait(f, f->fake.deferreds == 3);
    f->fake.generation = 3;
    _cleanup_(closep) int third = served_ask(f, events, "");
    served_wait(f, f->fake.deferreds == 4);
    fake_service_release_deferred(&f->fake);
    served_expect(f, second, "\"generation\": 2");
    served_expect(f, third, "\"generation\": 3");
    served_expect_answer(f, 0, events, "", "\"generation\": 3");
    assert_int_equal(f->fake.deferreds, 4);
}

/* The server is freed during rendering, while a client waits. */
SERVED_TEST(test_freed_while_made)
{
    struct served *f = *state;
    int fd = served_ask(f, events, GZIP);

    fake_service_hold_deferred(&f->fake);
    served_wait(f, f->fake.deferreds == 1);
    fake_service_release_deferred(&f->fake);
    close(fd);
}

/*
 * Requests beyond the rate limit are delayed, and refused if they would wait too long. Other requests are not delayed.
 */
SERVED_TEST(test_flood)
{
    struct served *f = *state;
    int fds[EVENTS_DOCUMENTS_PER_SECOND + 20];
    size_t answered = 0;

    served_expect_answer(f, 0, events, GZIP, OK);
    fake_service_freeze(&f->fake, true);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(f, events, "");
    served_expect_answer(f, 0, "GET /metrics", "", OK);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        _cleanup_(freep) char *response = served_receive_text(f, fds[i], false);
        answered += served_status(response) == 200;
        if (served_status(response) != 200)
            assert_has(response, "too many clients are requesting the catalogue of events; try again");
        close(fds[i]);
    }
    assert_in_range(answered, EVENTS_DOCUMENTS_PER_SECOND - 1, EVENTS_DOCUMENTS_PER_SECOND);
    fake_service_freeze(&f->fake, false);
    for (uint64_t deadline_ns = 0, status = 503; status != 200;) {
        assert_true(served_turn(f, &deadline_ns));
        _cleanup_(freep) char *response = served_answer(f, 0, events, "");
        status = served_status(response);
    }
    assert_int_equal(f->fake.deferreds, 1);
}

TEST_MAIN(NULL, NULL)
