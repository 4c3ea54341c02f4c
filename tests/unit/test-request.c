/* SPDX-License-Identifier: Apache-2.0 */
/* Request heads at every position in libmicrohttpd's buffer, and the values of their headers. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/mhd.h"
#include "http/page.h"
#include "http/request.h"
#include "http/trust.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static bool host_is_own_of(const char *host, const char *machine)
{
    char *others[] = {(char *)"dashboard.example", (char *)"alias."};
    struct host_names names = {.machine = machine, .others = others, .n_others = ARRAY_SIZE(others)};

    return host_is_own(host, &names);
}

static bool host_is_boards(const char *host)
{
    return host_is_own_of(host, "Board.lab.example");
}

static bool etag_matches(const char *list)
{
    return etag_is_in("\"abc\"", list);
}

static const struct {
    bool (*is)(const char *text);
    bool out;
    const char *in; /* strings, separated by | */
} texts[] = {
    {request_uri_is_valid, true, "|/metrics?a=b|/%41%5b%5D|/%25zz|/%f0|%01"},
    {request_uri_is_valid, false, "/%|/%4|/%zz|/%4g|%00|/a%20b%0|%%41|%-1|% 1"},
    {etag_matches, true,
     "\"abc\"|W/\"abc\"|*| * |\"x\", \"abc\"|\"x\",W/\"y\",\"abc\"|\t,, \"abc\" ,|\"a,b\", \"abc\""
     "|\"abc\" \"x\""},
    {etag_matches, false,
     "|abc|\"ab\"|\"abcd\"|\"ABC\"|\"abc-gzip\"|\"abc|\"|W/|w/\"abc\"|W/ \"abc\"|\"x\", abc, \"abc\"|\"x\", *"
     "|\"x, \"abc\""},
    {is_proxy_header, true,
     "Forwarded|forwarded|VIA|X-Forwarded|X-Forwarded-For|X-Forwarded-Proto|x-forwarded-server|X-Forward-For"
     "|X-Real-IP|X-Client-IP|Client-IP|X-Cluster-Client-IP|True-Client-IP|CF-Connecting-IP|CF-Connecting-IPv6"
     "|CF-Ray|Cf-Pseudo-IPv4|Fastly-Client-IP|X-Original-Forwarded-For|X-Original-Host"
     "|X-Envoy-External-Address|X-ProxyUser-Ip|Proxy-Client-IP|WL-Proxy-Client-IP|X-Appengine-User-IP"
     "|X-Azure-ClientIP|Incap-Client-IP|DO-Connecting-IP|Fly-Client-IP|X-Nf-Client-Connection-Ip|CDN-Loop"
     "|X-Varnish|X-Amzn-Trace-Id|X-Cloud-Trace-Context|Tailscale-User-Login|Remote-User"},
    {is_proxy_header, false,
     "|X-|X-Forw|Viaduct|Vi|Host|User-Agent|Accept|Accept-Encoding|Authorization|Connection|Content-Length"
     "|Content-Type|Cookie|X-Prometheus-Scrape-Timeout-Seconds|X-Requested-With|X-Request-Id|Sec-Fetch-Site"
     "|Origin|Referer|Traceparent"},
    {host_is_boards, true,
     "localhost|localhost:10298|LOCALHOST.:10298|a.localhost:1|127.0.0.1|127.0.0.1:10298|127.0.0.1."
     "|192.0.2.1:10298|[::1]|[::1]:10298|[2001:db8::1]:10298|[::ffff:192.0.2.1]:1|board|Board.:10298"
     "|board.lab.example|BOARD.LAB.EXAMPLE.:10298|dashboard.example:80|Alias"},
    {host_is_boards, false,
     "printer|printer:10298|wpad|evil.example|evil.example:10298|evil.example.:10298|evil.example.a1"
     "|evil.example.1|1.2.3.4a|127.0.0.1.evil.example|localhost.evil.example|evillocalhost"
     "|evillocalhost.example:1|board.local|board.evil.example|board.lab|a.board|boar|boards|evil.."
     "|sub.dashboard.example||.|:10298|.localhost|127.1|2130706433|0x7f.0.0.1|[::1|[]|[::1]evil.example"
     "|[evil.example]|[::1]:evil|localhost:evil.example|localhost:80@evil.example|localhost/evil.example|::1"
     "|localhost, evil.example"},
};

TEST(test_texts)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(freep) char *in = strdup(texts[i].in);
        for (char *rest = in, *text; (text = strsep(&rest, "|"));)
            if (texts[i].is(text) != texts[i].out)
                fail_msg("row %zu: \"%s\"", i, text);
    }
}

/* If the machine's name has no domain, it is not accepted with a domain appended. */
TEST(test_machine)
{
    assert_true(host_is_own_of("board", "board"));
    assert_false(host_is_own_of("board.lab.example", "board"));
    assert_false(host_is_own_of("", ""));
    assert_false(host_is_own_of(".", ""));
    assert_true(host_is_own_of("localhost", ""));
}

static const struct {
    const char *in;
    unsigned out_text, out_openmetrics, out_json;
} accepts[] = {
    {"*/*", 1000, 1000, 1000},
    {"", 0, 0, 0},
    {",,;,/", 0, 0, 0},
    {"text/plain", 1000, 0, 0},
    {"TEXT/Plain;Q=0.5", 500, 0, 0},
    {"text/*;q=0.3, application/json", 300, 0, 1000},
    {"text/plain;version=0.0.4;q=0.5,*/*;q=0.1", 500, 100, 100},
    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     500, 1000, 100},
    {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
     "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
     "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     300, 600, 200},
    {"application/openmetrics-text; version=0.0.1", 0, 0, 0},
    {"application/openmetrics-text; version=\"1.0.0\" ; q=\"0.2\"", 0, 200, 0},
    {"*/*;q=0.8, text/plain;q=0", 0, 800, 800},
    {"text/plain;q=0, */*;q=0.8", 0, 800, 800},
    {"application/json;profile=\"a,b;q=0\";q=0.7", 0, 0, 700},
    {"text/plain;q=1.001", 0, 0, 0},
    {"text/plain;q=2", 0, 0, 0},
    {"text/plain;q=-1", 0, 0, 0},
    {"text/plain;q=0.1234", 0, 0, 0},
    {"text/plain;q=1.000", 1000, 0, 0},
    {"text/plain;q=", 0, 0, 0},
    {"*/json", 0, 0, 0},
};

TEST(test_accept)
{
    for (size_t i = 0; i < ARRAY_SIZE(accepts); i++) {
        struct offer text = {"text", "plain", "0.0.4", 0, 0};
        struct offer openmetrics = {"application", "openmetrics-text", "1.0.0", 0, 0};
        struct offer json = {"application", "json", NULL, 0, 0};
        offer_consider(&text, accepts[i].in);
        offer_consider(&openmetrics, accepts[i].in);
        offer_consider(&json, accepts[i].in);
        print_message("%s\n", accepts[i].in);
        assert_int_equal(text.quality, accepts[i].out_text);
        assert_int_equal(openmetrics.quality, accepts[i].out_openmetrics);
        assert_int_equal(json.quality, accepts[i].out_json);
    }
}

static const struct {
    const char *in[2];
    bool out;
} codings[] = {
    {{"gzip"}, true},
    {{"gzip, deflate, br"}, true},
    {{"GZIP;q=0.1"}, true},
    {{"x-gzip"}, true},
    {{"*"}, true},
    {{"*;q=0"}, false},
    {{"gzip;q=0, *"}, false},
    {{"gzip;q=0"}, false},
    {{"gzip;q=0.000"}, false},
    {{"gzip;q=0.5, identity"}, false},
    {{"gzip;q=0.5, identity;q=0.5"}, true},
    {{"identity;q=0, gzip;q=0.1"}, true},
    {{"deflate"}, false},
    {{"gzipped"}, false},
    {{""}, false},
    {{"deflate", "gzip"}, true},
};

TEST(test_codings)
{
    for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
        struct codings c = CODINGS_NONE;
        for (size_t k = 0; k < 2 && codings[i].in[k]; k++)
            codings_consider(&c, codings[i].in[k]);
        print_message("%s\n", codings[i].in[0]);
        assert_int_equal(codings_want_gzip(&c), codings[i].out);
    }
}

/* --- request heads that can be parsed in two ways */

/* libmicrohttpd first reads a head into half of this memory. */
#define MEMORY 8192

static int setup(void **state)
{
    struct server_limits limits = served_few;

    limits.connections = limits.connections_per_address = 8;
    limits.memory_per_connection = MEMORY;
    served_start(*state = malloc(sizeof(struct served)), &limits, "127.0.0.1:0");
    return 0;
}

/* Sends the data in pieces of `piece` bytes, or at once if `piece` is 0. */
static void say(struct served *f, int fd, const char *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size;) {
        size_t n = piece ? MIN(piece, size - at) : size - at;
        ssize_t sent = send(fd, data + at, n, MSG_NOSIGNAL);
        /* The server may refuse the request before all of it is sent. */
        if (sent < 0)
            return;
        at += (size_t)sent;
        for (int i = 0; piece && i < 3; i++)
            sd_event_run(f->event, 0);
    }
}

/* Appends a complete head: the request line, a header of `pad` bytes, and `lines`. */
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

static bool is_refused(struct served *f, const char *lines, size_t size, size_t pad, size_t piece)
{
    _cleanup_(closep) int fd = served_connect(f, 0, 0);
    _cleanup_(buffer_done) struct buffer text = {0};

    append_head(&text, lines, size, pad);
    say(f, fd, text.data, text.size, piece);
    _cleanup_(freep) char *response = served_receive_text(f, fd, false);
    if (served_status(response) != 400 && served_status(response) != 200)
        fail_msg("with %zu bytes before it, in pieces of %zu: \"%s\": %s", pad, piece, lines, response);
    return served_status(response) == 400;
}

#define LINES(text) (text), sizeof(text) - 1

static const struct {
    bool out_refused;
    const char *lines;
    size_t size;
} heads[] = {
    {true, LINES("X-Forwarded-For: a\r\n b\r\n")},
    {true, LINES("X-Forwarded-For: a\r\n\tb\r\n")},
    {true, LINES("X-Forwarded-For: a\r\n b\r\n c\r\n\td\r\n")},
    {true, LINES("X-Forwarded-For:\r\n a\r\n")},
    {true, LINES("X-Forwarded-For:    a\r\n b\r\n")},
    {true, LINES("X-Forwarded-For: a\r\n \r\n")},
    {true, LINES("X-Forwarded-For: a\r\n b\r\nY: c\r\n")},
    {true, LINES("Content-Length:\r\n 5\r\n")},
    {true, LINES("Content-Length:\r\n 5\r\nAccept: */*\r\n")},
    {true, LINES("X:a\r\n b\r\n")},
    {true, LINES("X:    a\r\n b\r\n")},
    {true, LINES("X:\r\n b\r\n")},
    {true, LINES("X:\r\n -long-enough-to-reach-over-the-value\r\n")},
    {true, LINES("X: \r\n \r\n")},
    {true, LINES("X:\r\n \r\n")},
    {true, LINES("X:\n b\n")},
    {true, LINES("X: a\n b\r\n")},
    {true, LINES("X: a\nY: b\r\n")},
    {true, LINES("X: a\0b\r\n")},
    {true, LINES("X: a\rContent-Length: 5\r\n")},
    {true, LINES("X: a\x01\r\n")},
    {true, LINES("X : a\r\n")},
    {true, LINES("X\t: a\r\n")},
    {true, LINES(": a\r\n")},
    {true, LINES("X(: a\r\n")},
    {true, LINES("X\xc3\xa4: a\r\n")},
    {true, LINES("X\x01: a\r\n")},
    {true, LINES("X Y: a\r\n")},
    {true, LINES("Host: b\r\n")},
    {false, LINES("")},
    {false, LINES("X:\r\n")},
    {false, LINES("X:a\r\n")},
    {false, LINES("X: \r\n")},
    {false, LINES("X:\t \r\n")},
    {false, LINES("X:   a b\tc  \r\n")},
    {false, LINES("X: a:b: c\r\n")},
    {false, LINES("X:\r\nY:\r\nZ:\r\n")},
    {false, LINES("X: a\r\nX: a\r\nx: b\r\n")},
    {false, LINES("Content-Length: 0\r\n")},
    {false, LINES("Cookie: a=b; c=\"d e\"; f\r\nAccept: */*\r\n")},
    {false, LINES("X: \xc3\xa4\xff\r\n")},
    {false, LINES("!#$%&'*+-.^_`|~09Az: a\r\n")},
    {false, LINES("User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
                  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
                  "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nDNT: 1\r\n"
                  "Connection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\n"
                  "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nSec-Fetch-User: ?1\r\nPriority: u=0, i\r\n")},
    {false, LINES("User-Agent: Prometheus/2.53.0\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n"
                  "Accept-Encoding: gzip\r\nX-Prometheus-Scrape-Timeout-Seconds: 10\r\n")},
};

/*
 * The lines are moved across the end of the buffer that libmicrohttpd fills first, and across the end of the memory
 * that it then adds.
 */
TEST_WITH(test_heads, setup, served_teardown)
{
    const size_t pieces[] = {0, 1, 7, 1400};

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        const char *lines = heads[i].lines;
        size_t size = heads[i].size, first = MEMORY / 2 - size - 80;
        for (size_t k = 0; k < ARRAY_SIZE(pieces); k++)
            assert_int_equal(is_refused(*state, lines, size, 0, pieces[k]), heads[i].out_refused);
        for (size_t pad = first; pad < first + size + 60; pad++)
            assert_int_equal(is_refused(*state, lines, size, pad, pad % 5 ? 0 : pad / 2), heads[i].out_refused);
        for (size_t pad = MEMORY / 2; pad < MEMORY / 2 + 1024; pad += 61)
            assert_int_equal(is_refused(*state, lines, size, pad, 1400), heads[i].out_refused);
    }
}

/*
 * A malformed head after an ordinary request, in the same packet or a later one, is refused. Nothing after a malformed
 * head is treated as a request.
 */
TEST_WITH(test_later_heads, setup, served_teardown)
{
    const size_t pieces[] = {0, 1, 11, 100};

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        for (size_t k = 0; k < ARRAY_SIZE(pieces) && heads[i].out_refused; k++) {
            _cleanup_(closep) int fd = served_connect(*state, 0, 0);
            _cleanup_(buffer_done) struct buffer text = {0}, in = {0};
            append_head(&text, LINES("X: a\r\n"), i);
            append_head(&text, heads[i].lines, heads[i].size, 0);
            append_head(&text, LINES(""), 0);
            say(*state, fd, text.data, text.size, pieces[k]);
            served_expect_end(*state, fd, &in);
            _cleanup_(freep) char *all = buffer_string(&in);
            assert_int_equal(count_of(all, OK), 1);
            assert_int_equal(count_of(all, "HTTP/1.1 400 "), 1);
            assert_int_equal(count_of(all, "Connection: close\r\n"), 1);
        }
}

/* Versions of libmicrohttpd for which the server must follow request heads itself (http/mhd.h). */
static const struct {
    const char *in_version;
    bool out_followed;
} versions[] = {
    {"0.9.72", true}, {"0.9.75", true}, {"0.9.76", true},  {"0.9.77", false}, {"0.9.100", false},
    {"1.0.0", false}, {"1.0.1", false}, {"0.10.1", false}, {"0.8.99", true},  {"", true},
};

TEST(test_versions)
{
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        assert_int_equal(head_check_is_followed(versions[i].in_version), versions[i].out_followed);
}

TEST_MAIN(NULL, NULL)
