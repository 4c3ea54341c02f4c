/* SPDX-License-Identifier: Apache-2.0 */
/* A server's session reads from its socket, and refuses a client that does not speak TLS. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/tls/transport.h"
#include "tests/unit/test.h"

#define ANSWER "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
#define LONG_PATH 8000

struct fixture {
    int client, server;
    gnutls_session_t session;
    struct tls_transport transport;
    uint64_t progress;
};

static void start(struct fixture *f)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    f->client = fds[0];
    f->server = fds[1];
    f->progress = 0;
    f->transport = (struct tls_transport){.fd = f->server, .progress = &f->progress};
    assert_int_equal(gnutls_init(&f->session, GNUTLS_SERVER | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_set_default_priority(f->session), 0);
    tls_transport_use(&f->transport, f->session);
}

static void stop(struct fixture *f)
{
    gnutls_deinit(f->session);
    close(f->client);
    close(f->server);
}

static void say(struct fixture *f, const char *data, size_t size)
{
    assert_int_equal(send(f->client, data, size, MSG_NOSIGNAL), size);
}

/* All that the client receives; a socket that is closed with unread data resets the connection. */
static const char *heard(struct fixture *f)
{
    static char text[4096];
    size_t size = 0;
    ssize_t n;

    close(f->server);
    while ((n = recv(f->client, text + size, sizeof(text) - 1 - size, 0)) > 0)
        size += (size_t)n;
    assert_int_equal(n, 0);
    text[size] = '\0';
    f->server = -1;
    return text;
}

static void test_plain_http(void **state)
{
    static char long_request[LONG_PATH];
    const char *const in[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "P", "OPTIONS * HTTP/1.1\r\n\r\n", "Zebra",
                              long_request};

    (void)state;
    snprintf(long_request, sizeof(long_request), "GET /%0*d", LONG_PATH - 10, 0);
    for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
        struct fixture f;
        start(&f);
        say(&f, in[i], strlen(in[i]));
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_PULL_ERROR);
        assert_true(f.transport.ended);
        assert_true(f.progress > 0);
        /* No alert, which is of TLS. */
        gnutls_bye(f.session, GNUTLS_SHUT_WR);
        assert_string_equal(heard(&f), ANSWER);
        stop(&f);
    }
}

static void test_silence(void **state)
{
    struct fixture f;

    (void)state;
    start(&f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    assert_false(f.transport.begun);
    assert_int_equal(f.progress, 0);
    assert_string_equal(heard(&f), "");
    stop(&f);
}

/* Only the first byte counts: the rest of a record may be anything. */
static void test_records(void **state)
{
    static const char in[] = "\x16\x03\x01\x02\0";
    struct fixture f;

    (void)state;
    start(&f);
    for (size_t i = 0; i + 1 < sizeof(in); i++) {
        say(&f, in + i, 1);
        assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    }
    say(&f, "GET", 3);
    assert_int_equal(gnutls_handshake(f.session), GNUTLS_E_AGAIN);
    assert_false(f.transport.ended);
    assert_string_equal(heard(&f), "");
    stop(&f);
}

static void test_other_protocols(void **state)
{
    static const char *const in[] = {"\x80\x2e\x01\x03\x01", "\x15\x03\x01\0\2\2\x28", "hello\r\n", "\xff"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
        struct fixture f;
        start(&f);
        say(&f, in[i], strlen(in[i]));
        gnutls_handshake(f.session);
        assert_false(f.transport.ended);
        stop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_http),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_other_protocols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
