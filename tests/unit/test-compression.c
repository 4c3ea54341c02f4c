/* SPDX-License-Identifier: Apache-2.0 */
/* Large responses that are compressed beside the event loop, asked for over real sockets. */
#include <stdio.h>
#include <sys/socket.h>

#include <libdeflate.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/compression.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define N_CGROUPS 6000
#define PLAIN_MAX (16 << 20)

static void start(struct served *f)
{
    char name[64];

    served_init(f, NULL);
    snapshot_hold(&f->fake.snapshot);
    for (int i = 0; i < N_CGROUPS; i++) {
        snprintf(name, sizeof(name), "/system.slice/some-service-%d.service", i);
        assert_non_null(fake_service_add_cgroup(&f->fake.snapshot, name));
    }
    snapshot_release(&f->fake.snapshot);
    fake_service_advance(&f->fake);
    served_listen(f, "127.0.0.1:0");
}

static void spin(struct served *f, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sd_event_run(f->event, 1000);
}

/* The response's body, uncompressed if it says that it is gzip. */
static void receive(struct served *f, int fd, bool gzip, struct buffer *body)
{
    _cleanup_(buffer_done) struct buffer in = {0};
    size_t head = served_receive(f, fd, false, &in);

    assert_true(head > 0);
    assert_memory_equal(in.data, "HTTP/1.1 200", 12);
    assert_int_equal(memmem(in.data, head, "Content-Encoding: gzip", 22) != NULL, gzip);
    buffer_clear(body);
    if (!gzip) {
        buffer_append(body, in.data + head, in.size - head);
        return;
    }
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    assert_int_equal(libdeflate_gzip_decompress(decompressor, in.data + head, in.size - head,
                                                buffer_reserve(body, PLAIN_MAX), PLAIN_MAX, &body->size),
                     LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(decompressor);
    assert_true(body->size > COMPRESSION_SIZE_MIN);
}

static void assert_same(const struct buffer *a, const struct buffer *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* Clients that ask for the same wait for the same. A client that leaves harms none, and others are answered meanwhile.
 */
static void test_shared(void **state)
{
    _cleanup_(buffer_done) struct buffer plain = {0}, body = {0};
    struct served f;
    int fds[8];

    (void)state;
    start(&f);
    int fd = served_ask(&f, "GET /metrics", "");
    receive(&f, fd, false, &plain);
    close(fd);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(&f, "GET /metrics", GZIP);
    spin(&f, 3);
    close(fds[0]);
    close(fds[3]);
    fd = served_ask(&f, "GET /-/healthy", "");
    receive(&f, fd, false, &body);
    close(fd);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (i == 0 || i == 3)
            continue;
        receive(&f, fds[i], true, &body);
        assert_same(&body, &plain);
        close(fds[i]);
    }
    /* It is kept for this reading, and for no other. */
    fd = served_ask(&f, "GET /metrics", GZIP);
    receive(&f, fd, true, &body);
    assert_same(&body, &plain);
    close(fd);
    fake_service_advance(&f.fake);
    fd = served_ask(&f, "GET /metrics", GZIP);
    receive(&f, fd, true, &body);
    close(fd);
    assert_true(body.size != plain.size || memcmp(body.data, plain.data, body.size) != 0);
    served_done(&f);
}

/* A reading comes while the one before is still being compressed. */
static void test_readings(void **state)
{
    struct served f;
    int fds[2 * COMPRESSIONS_MAX];
    _cleanup_(buffer_done) struct buffer body = {0};
    unsigned compressed = 0;

    (void)state;
    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = served_ask(&f, i % 2 ? "GET /api/v1/counters" : "GET /metrics", GZIP);
        spin(&f, 2);
        fake_service_advance(&f.fake);
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        char peek[1024];
        ssize_t n = 0;
        while ((n = recv(fds[i], peek, sizeof(peek), MSG_PEEK | MSG_DONTWAIT)) < 0)
            spin(&f, 1);
        bool gzip = memmem(peek, (size_t)n, "Content-Encoding: gzip", 22) != NULL;
        compressed += gzip;
        receive(&f, fds[i], gzip, &body);
        close(fds[i]);
    }
    assert_true(compressed >= COMPRESSIONS_MAX);
    served_done(&f);
}

static void test_documents(void **state)
{
    static const char *const requests[] = {
        "GET /api/v1/counters",
        "GET /api/v1/counters?collector=cgroup",
        "GET /api/v1/counters?cgroup=*.service",
        "GET /api/v1/rates?seconds=0.05",
    };
    _cleanup_(buffer_done) struct buffer body = {0};
    struct served f;

    (void)state;
    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        int fd = served_ask(&f, requests[i], GZIP);
        receive(&f, fd, true, &body);
        assert_int_equal(body.data[body.size - 2], '}');
        close(fd);
    }
    served_done(&f);
}

static void test_server_is_freed_meanwhile(void **state)
{
    struct served f;
    int fds[4];

    (void)state;
    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_ask(&f, i % 2 ? "GET /api/v1/counters" : "GET /metrics", GZIP);
    spin(&f, 4);
    served_done(&f);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_server_is_freed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
