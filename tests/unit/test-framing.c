/* SPDX-License-Identifier: Apache-2.0 */
/* Heads that can be read in two ways, over real sockets and the real libmicrohttpd, wherever they are in its buffer. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/framing.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

/* libmicrohttpd reads a head into half of it at first. */
#define MEMORY 8192

static const struct server_limits limits = {
    .connections = 8,
    .connections_per_address = 8,
    .memory_per_connection = MEMORY,
    .request_ns = 20 * NSEC_PER_SEC,
    .keepalive_ns = 20 * NSEC_PER_SEC,
    .response_ns = 20 * NSEC_PER_SEC,
};

/* All of it in pieces of `piece` bytes; 0: at once. */
static void say(struct served *f, int fd, const char *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size;) {
        size_t n = piece ? MIN(piece, size - at) : size - at;
        ssize_t sent = send(fd, data + at, n, MSG_NOSIGNAL);
        /* It may be refused before all of it is there. */
        if (sent < 0)
            return;
        at += (size_t)sent;
        for (int i = 0; piece && i < 3; i++)
            sd_event_run(f->event, 0);
    }
}

/* Appends a whole head: the request line, a header of `pad` bytes, the lines in question. */
static void append_head(struct buffer *text, const char *lines, size_t size, size_t pad)
{
    buffer_append_text(text, "GET /-/healthy HTTP/1.1\r\nHost: a\r\n");
    if (pad > 0) {
        buffer_append_text(text, "Pad: ");
        for (size_t i = 0; i < pad; i++)
            buffer_append_char(text, 'x');
        buffer_append_text(text, "\r\n");
    }
    buffer_append(text, lines, size);
    buffer_append_text(text, "\r\n");
    assert_false(text->failed);
}

static void assert_times(const char *text, const char *part, unsigned times)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    if (n != times)
        fail_msg("%u times \"%s\", not %u, in:\n%s", n, part, times, text);
}

static bool is_refused(struct served *f, const char *lines, size_t size, size_t pad, size_t piece)
{
    _cleanup_(closep) int fd = served_connect(f, 0, 0);
    _cleanup_(buffer_done) struct buffer text = {0};

    append_head(&text, lines, size, pad);
    say(f, fd, text.data, text.size, piece);
    _cleanup_(freep) char *response = served_receive_text(f, fd, false);
    bool refused = str_starts(response, "HTTP/1.1 400 ");
    if (!refused && !str_starts(response, "HTTP/1.1 200 "))
        fail_msg("with %zu bytes before it, in pieces of %zu: \"%s\": %s", pad, piece, lines, response);
    return refused;
}

/* Until the server ends the connection. */
static void receive_all(struct served *f, int fd, struct buffer *in)
{
    uint64_t end = served_now(f) + 5 * NSEC_PER_SEC;
    ssize_t n;

    do {
        assert_true(served_now(f) < end);
        sd_event_run(f->event, 1000);
        n = recv(fd, buffer_reserve(in, 4096), 4096, MSG_DONTWAIT);
        buffer_advance(in, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && errno == EAGAIN));
}

#define LINES(text) (text), sizeof(text) - 1

static const struct {
    const char *lines;
    size_t size;
} ambiguous[] = {
    {LINES("X-Forwarded-For: a\r\n b\r\n")},
    {LINES("X-Forwarded-For: a\r\n\tb\r\n")},
    {LINES("X-Forwarded-For: a\r\n b\r\n c\r\n\td\r\n")},
    {LINES("X-Forwarded-For:\r\n a\r\n")},
    {LINES("X-Forwarded-For:    a\r\n b\r\n")},
    {LINES("X-Forwarded-For: a\r\n \r\n")},
    {LINES("X-Forwarded-For: a\r\n b\r\nY: c\r\n")},
    {LINES("Content-Length:\r\n 5\r\n")},
    {LINES("Content-Length:\r\n 5\r\nAccept: */*\r\n")},
    {LINES("X:a\r\n b\r\n")},
    {LINES("X:    a\r\n b\r\n")},
    {LINES("X:\r\n b\r\n")},
    {LINES("X:\r\n -long-enough-to-reach-over-the-value\r\n")},
    {LINES("X: \r\n \r\n")},
    {LINES("X:\r\n \r\n")},
    {LINES("X:\n b\n")},
    {LINES("X: a\n b\r\n")},
    {LINES("X: a\nY: b\r\n")},
    {LINES("X: a\0b\r\n")},
    {LINES("X: a\rContent-Length: 5\r\n")},
    {LINES("X: a\x01\r\n")},
    {LINES("X : a\r\n")},
    {LINES("X\t: a\r\n")},
    {LINES(": a\r\n")},
    {LINES("X(: a\r\n")},
    {LINES("X\xc3\xa4: a\r\n")},
    {LINES("X\x01: a\r\n")},
    {LINES("X Y: a\r\n")},
    {LINES("Host: b\r\n")},
};

static const struct {
    const char *lines;
    size_t size;
} ordinary[] = {
    {LINES("")},
    {LINES("X:\r\n")},
    {LINES("X:a\r\n")},
    {LINES("X: \r\n")},
    {LINES("X:\t \r\n")},
    {LINES("X:   a b\tc  \r\n")},
    {LINES("X: a:b: c\r\n")},
    {LINES("X:\r\nY:\r\nZ:\r\n")},
    {LINES("X: a\r\nX: a\r\nx: b\r\n")},
    {LINES("Content-Length: 0\r\n")},
    {LINES("Cookie: a=b; c=\"d e\"; f\r\nAccept: */*\r\n")},
    {LINES("X: \xc3\xa4\xff\r\n")},
    {LINES("!#$%&'*+-.^_`|~09Az: a\r\n")},
    {LINES("User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
           "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
           "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nDNT: 1\r\n"
           "Connection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\n"
           "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nSec-Fetch-User: ?1\r\nPriority: u=0, i\r\n")},
    {LINES("User-Agent: Prometheus/2.53.0\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n"
           "Accept-Encoding: gzip\r\nX-Prometheus-Scrape-Timeout-Seconds: 10\r\n")},
};

/* Each of the lines in question is once around the end of the buffer that libmicrohttpd reads into first, and around
 * the end of what it adds to the buffer. */
static void each_place(struct served *f, const char *lines, size_t size, bool refused)
{
    const size_t pieces[] = {0, 1, 7, 1400};
    size_t first = MEMORY / 2 - size - 80;

    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        assert_int_equal(is_refused(f, lines, size, 0, pieces[i]), refused);
    for (size_t pad = first; pad < first + size + 60; pad++)
        assert_int_equal(is_refused(f, lines, size, pad, 0), refused);
    for (size_t pad = first; pad < first + size + 60; pad += 5)
        assert_int_equal(is_refused(f, lines, size, pad, pad / 2), refused);
    for (size_t pad = MEMORY / 2; pad < MEMORY / 2 + 1024; pad += 61)
        assert_int_equal(is_refused(f, lines, size, pad, 1400), refused);
}

static void test_ambiguous(void **state)
{
    struct served f;

    (void)state;
    served_init(&f, &limits);
    served_listen(&f, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(ambiguous); i++)
        each_place(&f, ambiguous[i].lines, ambiguous[i].size, true);
    served_done(&f);
}

static void test_ordinary(void **state)
{
    struct served f;

    (void)state;
    served_init(&f, &limits);
    served_listen(&f, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++)
        each_place(&f, ordinary[i].lines, ordinary[i].size, false);
    served_done(&f);
}

/* Behind an ordinary request, in the same packet and in the next; and nothing behind it is taken for a request. */
static void test_later_requests(void **state)
{
    const size_t pieces[] = {0, 1, 11, 100};
    struct served f;

    (void)state;
    served_init(&f, &limits);
    served_listen(&f, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(ambiguous); i++)
        for (size_t k = 0; k < ARRAY_SIZE(pieces); k++) {
            _cleanup_(closep) int fd = served_connect(&f, 0, 0);
            _cleanup_(buffer_done) struct buffer text = {0}, in = {0};
            append_head(&text, LINES("X: a\r\n"), i);
            append_head(&text, ambiguous[i].lines, ambiguous[i].size, 0);
            append_head(&text, LINES(""), 0);
            say(&f, fd, text.data, text.size, pieces[k]);
            receive_all(&f, fd, &in);
            _cleanup_(freep) char *all = buffer_string(&in);
            assert_times(all, "HTTP/1.1 200 ", 1);
            assert_times(all, "HTTP/1.1 400 ", 1);
            assert_times(all, "Connection: close\r\n", 1);
        }
    served_done(&f);
}

static const struct {
    const char *in_version;
    bool out_followed;
} versions[] = {
    {"0.9.72", true}, {"0.9.75", true}, {"0.9.76", true},  {"0.9.77", false}, {"0.9.100", false},
    {"1.0.0", false}, {"1.0.1", false}, {"0.10.1", false}, {"0.8.99", true},  {"", true},
};

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        assert_int_equal(framing_is_followed(versions[i].in_version), versions[i].out_followed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_later_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
