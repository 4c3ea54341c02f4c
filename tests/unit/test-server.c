/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server in a real event loop, asked over real sockets. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/process/fd.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define PATIENCE_NS (5 * NSEC_PER_SEC)

static const struct server_limits tight = {
    .connections = 6,
    .connections_per_address = 4,
    .memory_per_connection = 8192,
    .request_ns = 150 * NSEC_PER_MSEC,
    .keepalive_ns = 400 * NSEC_PER_MSEC,
    .response_ns = 600 * NSEC_PER_MSEC,
};

static const struct server_limits few = {
    .connections = 6,
    .connections_per_address = 4,
    .memory_per_connection = 8192,
    .request_ns = PATIENCE_NS,
    .keepalive_ns = PATIENCE_NS,
    .response_ns = PATIENCE_NS,
};

/* Where local clients operate, and "a" is another name of this machine. */
static void start(struct served *f, const struct server_limits *limits, const char *address)
{
    char *hosts[] = {(char *)"a"};

    served_init(f, limits);
    assert_int_equal(server_trust(f->server, STANDING_LOCAL, hosts, 1), 0);
    served_listen(f, address);
}

static bool is_closed(struct served *f, int fd, uint64_t within_ns)
{
    uint64_t end = served_now(f) + within_ns;
    char c;

    while (served_now(f) < end) {
        sd_event_run(f->event, 1000);
        ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return true;
    }
    return false;
}

static const struct {
    const char *in, *headers;
    unsigned out_status;
    const char *out[3];
} cases[] = {
    {"GET /metrics",
     "",
     200,
     {"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", "Vary: Accept, Accept-Encoding\r\n",
      "\nperf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"} 1200000000\n"}},
    {"GET /metrics",
     "Accept: "
     "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/"
     "plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n",
     200,
     {"Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n", "# EOF\n"}},
    {"GET /metrics", "Accept: image/png\r\n", 200, {"text/plain; version=0.0.4"}},
    {"GET /metrics?collect[]=self", "", 200, {"\n# HELP perfcountd_collector_success"}},
    {"GET /metrics?collect%5B%5D=self", "", 200, {"\n# HELP perfcountd_collector_success"}},
    {"GET /metrics?collect[]=nope",
     "",
     400,
     {"parameter \"collect[]\": there is no collector \"nope\"; known are \"cpu\", \"cgroup\", \"self\"\n"}},
    {"GET /metrics?collect=cpu", "", 400, {"unknown parameter \"collect\"; did you mean \"collect[]\"?\n"}},
    {"GET /metrics?x", "", 400, {"unknown parameter \"x\""}},
    {"HEAD /metrics", "", 200, {"Content-Length: "}},
    {"POST /metrics",
     "Content-Length: 0\r\n",
     405,
     {"Allow: GET, HEAD\r\n", "POST is not possible here, only GET, HEAD\n"}},
    {"OPTIONS /-/reload", "", 405, {"Allow: POST\r\n"}},
    {"DELETE /api/v1/rates",
     "",
     405,
     {"{\"error\": \"DELETE is not possible here, only GET, HEAD\", \"status\": 405}\n"}},
    {"GET /nothing", "", 404, {"Content-Type: text/plain; charset=utf-8\r\n", "there is nothing at /nothing; see /"}},
    {"GET /metrics/", "", 404, {"there is nothing"}},
    {"GET /api/v1/%22nothing%22",
     "",
     404,
     {"Content-Type: application/json\r\n",
      "{\"error\": \"there is nothing at /api/v1/\\\"nothing\\\"; see / for what there is\", \"status\": 404}\n"}},
    {"GET /%zz", "", 400, {"not well-formed"}},
    {"GET /metrics?collect[]=%4", "", 400, {"not well-formed"}},
    {"GET /metrics?collect[]=%00", "", 400, {"not well-formed"}},
    {"GET /%ff", "", 400, {"not well-formed"}},
    {"GET /metrics?collect[]=%ff", "", 400, {"parameter \"collect[]\" is not UTF-8"}},
    {"GET /metrics?%c3%28=1", "", 400, {"is not UTF-8"}},
    {"GET /",
     "",
     200,
     {"Content-Type: text/html", "<code>curl 'http://a/api/v1/rates?seconds=1'</code>",
      "curl -X POST 'http://a/-/reload'"}},
    {"GET /?%3cb%3e", "", 400, {"Content-Type: text/plain", "unknown parameter \"<b>\""}},
    {"GET /-/healthy", "", 200, {"\r\n\r\nhealthy\n"}},
    {"GET /-/ready", "", 200, {"\r\n\r\nready\n"}},
    {"POST /-/reload", "Content-Length: 0\r\n", 200, {"\r\n\r\nreloaded\n"}},
    {"POST /-/reload",
     "Content-Length: 0\r\nOrigin: http://evil.example\r\n",
     403,
     {"may come from a page in a browser"}},
    {"GET /api/v1/pause", "", 200, {"Content-Type: application/json\r\n", "\"paused\": false\n"}},
    {"GET /api/v1/pause?seconds=1", "", 400, {"unknown parameter \\\"seconds\\\""}},
    {"POST /api/v1/pause?seconds=0",
     "Content-Length: 0\r\n",
     400,
     {"expected a number from 1 to 3600, found \\\"0\\\""}},
    {"POST /api/v1/pause?seconds=3601", "Content-Length: 0\r\n", 400, {"parameter \\\"seconds\\\""}},
    {"POST /api/v1/pause?seconds=1.5", "Content-Length: 0\r\n", 400, {"parameter \\\"seconds\\\""}},
    {"POST /api/v1/pause?seconds=", "Content-Length: 0\r\n", 400, {"parameter \\\"seconds\\\""}},
    /* Requests that a page embeds, and that a proxy passes on. */
    {"POST /-/reload",
     "Content-Length: 0\r\nSec-Fetch-Site: cross-site\r\n",
     403,
     {"may come from a page in a browser"}},
    {"POST /-/reload",
     "Content-Length: 0\r\nSec-Fetch-Site: same-site\r\n",
     403,
     {"may come from a page in a browser"}},
    {"POST /-/reload", "Content-Length: 0\r\nSec-Fetch-Site: none\r\n", 200, {"reloaded"}},
    {"POST /-/reload", "Content-Length: 0\r\nSec-Fetch-Site: same-origin\r\n", 200, {"reloaded"}},
    {"POST /-/reload", "Content-Length: 0\r\nX-Forwarded-For: 192.0.2.1\r\n", 403, {"only operators may do this"}},
    {"POST /-/reload", "Content-Length: 0\r\nForwarded: for=192.0.2.1\r\n", 403, {"only operators may do this"}},
    {"POST /-/reload", "Content-Length: 0\r\nX-Real-IP: 192.0.2.1\r\n", 403, {"only operators may do this"}},
    {"POST /-/reload", "Content-Length: 0\r\nVia: 1.1 proxy\r\n", 403, {"only operators may do this"}},
    {"GET /-/healthy", "X-Forwarded-For: 192.0.2.1\r\n", 200, {"healthy"}},
    {"POST /-/reload", "Content-Length: 0\r\nCF-Connecting-IP: 192.0.2.1\r\n", 403, {"web.local_operators"}},
    /* Headers of a browser with an image of a page elsewhere, to an address that it does not trust. */
    {"GET /api/v1/samples",
     "User-Agent: Mozilla/5.0 (X11)\r\n",
     403,
     {"\"status\": 403", "may come from a page in a browser"}},
    {"GET /debug/pprof/profile",
     "Accept-Language: de\r\nUser-Agent: curl/8\r\n",
     403,
     {"may come from a page in a browser"}},
    {"GET /metrics", "User-Agent: Mozilla/5.0 (X11)\r\n", 200, {"perf_cpu_cycles_total"}},
    {"DELETE /api/v1/pause", "User-Agent: Mozilla/5.0 (X11)\r\n", 403, {"may come from a page in a browser"}},
    {"DELETE /api/v1/pause",
     "User-Agent: Mozilla/5.0 (X11)\r\nOrigin: http://a\r\nX-Requested-With: perfcountd\r\n",
     200,
     {"\"paused\": false"}},
    {"OPTIONS /api/v1/pause",
     "Origin: http://evil.example\r\nAccess-Control-Request-Headers: x-requested-with\r\n",
     405,
     {"Allow: GET, HEAD, POST, DELETE\r\n"}},
    /* Heads that others may read in another way. */
    {"GET /-/healthy", "Content-Length: 0\r\nContent-Length: 0\r\n", 200, {"healthy"}},
    {"GET /-/healthy", "Content-Length: 0\r\nContent-Length: 4\r\n", 400, {"Connection: close\r\n"}},
    {"GET /-/healthy", "Content-Length : 4\r\n", 400, {"Connection: close\r\n"}},
    {"GET /-/healthy", "Transfer-Encoding\t: chunked\r\n", 400, {"Connection: close\r\n"}},
    {"GET /-/healthy", "Host: b\r\n", 400, {"Connection: close\r\n", "ambiguous"}},
    {"POST /api/v1/pause",
     "Content-Length: 0\r\nOrigin: http://evil.example\r\n",
     403,
     {"may come from a page in a browser"}},
    {"DELETE /api/v1/pause", "Origin: http://evil.example\r\n", 403, {"may come from a page in a browser"}},
    {"DELETE /api/v1/pause?seconds=1", "", 400, {"unknown parameter"}},
    {"PUT /api/v1/pause", "Content-Length: 0\r\n", 405, {"Allow: GET, HEAD, POST, DELETE\r\n"}},
    {"GET /api/v1/pmus", "", 200, {"Content-Type: application/json\r\n", "\"document\": \"pmus\""}},
    {"GET /api/v1/events", "", 200, {"\"document\": \"events\""}},
    {"GET /api/v1/cgroups", "", 200, {"Content-Type: application/json\r\n", "\"document\": \"cgroups\""}},
    {"GET /api/v1/cgroups?cgroup=/", "", 400, {"unknown parameter \\\"cgroup\\\""}},
    {"POST /api/v1/cgroups", "Content-Length: 0\r\n", 405, {"Allow: GET, HEAD\r\n"}},
    {"GET /api/v1/status", "Accept: application/*;q=0.1\r\n", 200, {"\"document\": \"status\""}},
    {"GET /api/v1/config", "", 200, {"\"document\": \"config\""}},
    {"GET /api/v1/config", "Accept: text/html, application/json;q=0\r\n", 406, {"\"status\": 406}"}},
    {"GET /api/v1/counters?event=cycles&cpu=2",
     "",
     200,
     {"{\"timestamp\": 1700000001.123, \"hostname\": \"",
      "{\"collector\": \"cpu\", \"event\": \"cycles\", \"cpu\": 2, \"pmu\": \"cpu\", \"group\": \"core\", \"unit\": "
      "\"\", \"value\": 1200000000, \"raw\": 600000000, \"enabled_ns\": 1000000000, \"running_ns\": 500000000, "
      "\"state\": \"counting\"}]}\n"}},
    {"GET /api/v1/counters?cpu=x",
     "",
     400,
     {"parameter \\\"cpu\\\": expected a number from 0 to 65535 or a range such as 0-3, found \\\"x\\\""}},
    {"GET /api/v1/counters?cpu=3-1", "", 400, {"parameter \\\"cpu\\\""}},
    {"GET /api/v1/counters?collector=x", "", 400, {"known are \\\"cpu\\\""}},
    {"GET /api/v1/counters?seconds=1", "", 400, {"unknown parameter \\\"seconds\\\""}},
    {"GET /api/v1/rates?seconds=0.04",
     "",
     400,
     {"parameter \\\"seconds\\\": expected a number from 0.05 to 60, found \\\"0.04\\\""}},
    {"GET /api/v1/rates?seconds=61", "", 400, {"from 0.05 to 60"}},
    {"GET /api/v1/rates?seconds=nan", "", 400, {"from 0.05 to 60"}},
    {"GET /api/v1/rates?seconds=", "", 400, {"from 0.05 to 60"}},
    {"GET /api/v1/rates?seconds=0.05&cpu=1",
     "",
     200,
     {"\"cycles\": 1200000000.0", "\"ipc\": 0.8,", "\"running_ratio\": 0.5"}},
    {"GET /api/v1/rates?limit=0",
     "",
     400,
     {"parameter \\\"limit\\\": expected a number from 1 to 10000, found \\\"0\\\""}},
    {"GET /api/v1/rates?order=up",
     "",
     400,
     {"parameter \\\"order\\\": expected \\\"asc\\\" or \\\"desc\\\", found \\\"up\\\""}},
    {"GET /api/v1/rates?order=asc", "", 400, {"parameter \\\"order\\\" needs \\\"sort\\\""}},
    {"GET /api/v1/rates?sort=ipcc", "", 400, {"no row has \\\"ipcc\\\"; known are ipc, ", ", cycles, instructions"}},
    {"GET /api/v1/counters?sort=ipc", "", 400, {"unknown parameter \\\"sort\\\""}},
    {"GET /api/v1/counters?cgroup=/%5Ba", "", 400, {"parameter \\\"cgroup\\\": "}},
    {"GET /api/v1/rates?seconds=0.05&sort=cpu_utilization&limit=1",
     "",
     200,
     {"\"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\"", "\"cpu_utilization\": 0.96"}},
    {"POST /-/reload", "Content-Length: 2000\r\n", 413, {"needs no body"}},
    {"GET /metrics", "Transfer-Encoding: chunked\r\n", 413, {"needs no body"}},
    {"GET /-/healthy", "Content-Length: 4\r\n\r\nbody", 200, {"healthy"}},
};

static void test_answers(void **state)
{
    struct served f;
    char status[32];

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *response = served_answer(&f, 0, cases[i].in, cases[i].headers);
        snprintf(status, sizeof(status), "HTTP/1.1 %u ", cases[i].out_status);
        print_message("%s\n", cases[i].in);
        assert_has(response, status);
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].out) && cases[i].out[k]; k++)
            assert_has(response, cases[i].out[k]);
    }
    served_done(&f);
}

static void test_keep_alive(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    for (int i = 0; i < 3; i++) {
        served_send(fd, "GET /metrics", "");
        _cleanup_(freep) char *response = served_receive_text(&f, fd, false);
        assert_has(response, "HTTP/1.1 200 ");
        assert_has_not(response, "Connection: close");
    }
    served_say(fd, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    _cleanup_(freep) char *head = served_receive_text(&f, fd, true);
    assert_has(head, "HTTP/1.1 200 ");
    if (!strstr(head, " 404 ")) {
        served_expect(&f, fd, "HTTP/1.1 404 ");
    }
    served_done(&f);
}

static void test_too_long(void **state)
{
    struct served f;
    _cleanup_(buffer_done) struct buffer url = {0};

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    buffer_append_text(&url, "GET /metrics?");
    for (int i = 0; i < 20000; i++)
        buffer_append_text(&url, "a&");
    buffer_append_char(&url, '\0');
    served_expect_answer(&f, 0, url.data, "", "HTTP/1.1 414 ");
    buffer_clear(&url);
    buffer_append_text(&url, "X: ");
    for (int i = 0; i < 20000; i++)
        buffer_append_text(&url, "ab");
    buffer_append_text(&url, "\r\n");
    buffer_append_char(&url, '\0');
    served_expect_answer(&f, 0, "GET /metrics", url.data, "HTTP/1.1 431 ");
    served_done(&f);
}

static char *ask_with_parameters(struct served *f, int fd, const char *path, unsigned n)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_appendf(&text, "GET %s?", path);
    for (unsigned i = 0; i < n; i++)
        buffer_append_text(&text, i ? "&collect[]=cpu" : "collect[]=cpu");
    buffer_append_text(&text, " HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nUser-Agent: a/1\r\n\r\n");
    buffer_append_char(&text, '\0');
    served_say(fd, text.data);
    return served_receive_text(f, fd, false);
}

/* However many there are: an answer, and the connection goes on. */
static void test_many_parameters(void **state)
{
    const unsigned sizes[] = {4096, 16384};
    struct served f;

    (void)state;
    for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
        struct server_limits limits = few;
        limits.memory_per_connection = sizes[k];
        start(&f, &limits, "127.0.0.1:0");
        _cleanup_(closep) int fd = served_connect(&f, 0, 0);
        unsigned most = (sizes[k] - sizes[k] / 4) / (64 + 14), n = 0;
        for (; n * 15 < sizes[k] - 512; n += n < 10 ? 1 : 7) {
            _cleanup_(freep) char *response = ask_with_parameters(&f, fd, "/metrics", n);
            assert_has(response, n < most ? "HTTP/1.1 200 " : n > most + 1 ? "HTTP/1.1 414 URI Too Long\r\n" : "HTTP/");
        }
        assert_true(n > 200 * k);
        _cleanup_(freep) char *json = ask_with_parameters(&f, fd, "/api/v1/counters", n - 7);
        assert_has(json, "{\"error\": \"the query has too many parameters");
        served_done(&f);
    }
}

static void test_gzip(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    for (int i = 0; i < 2; i++) {
        _cleanup_(freep) char *text = served_answer(&f, 0, "GET /metrics", "Accept-Encoding: gzip\r\n");
        assert_has(text, "Content-Encoding: gzip\r\n");
        const char *body = strstr(text, "\r\n\r\n") + 4;
        assert_memory_equal(body, "\x1f\x8b", 2);
    }
    _cleanup_(freep) char *plain = served_answer(&f, 0, "GET /metrics", "Accept-Encoding: gzip;q=0\r\n");
    assert_has_not(plain, "Content-Encoding");
    served_expect_answer(&f, 0, "GET /api/v1/counters", "Accept-Encoding: gzip\r\n", "Content-Encoding: gzip\r\n");
    _cleanup_(freep) char *small = served_answer(&f, 0, "GET /api/v1/counters?cpu=1", "Accept-Encoding: gzip\r\n");
    assert_has_not(small, "Content-Encoding");
    served_done(&f);
}

static void test_pause(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    _cleanup_(freep) char *pause = served_answer(&f, 0, "POST /api/v1/pause?seconds=3600", "Content-Length: 0\r\n");
    assert_has(pause, "\"paused\": true,\n  \"seconds\": 3600,\n  \"until\": 1700000000.5\n");
    served_expect_answer(&f, 0, "POST /api/v1/pause", "Content-Length: 0\r\n", "\"seconds\": 60,");
    served_expect_answer(&f, 0, "GET /api/v1/pause", "",
                         "\"paused\": true,\n  \"seconds\": 60,\n  \"until\": 1700000000.5\n");
    assert_int_equal(f.fake.pauses, 2);
    served_expect_answer(&f, 0, "DELETE /api/v1/pause", "", "\"paused\": false\n");
    assert_int_equal(f.fake.pauses, 3);
    assert_int_equal(f.fake.paused, 0);
    served_done(&f);
}

static void test_ready_and_reload(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    f.fake.ready = false;
    _cleanup_(freep) char *ready = served_answer(&f, 0, "GET /-/ready", "");
    assert_has(ready, "HTTP/1.1 503 ");
    f.fake.reload_error = "perfcountd.yaml:3:1: unknown key";
    _cleanup_(freep) char *reload = served_answer(&f, 0, "POST /-/reload", "");
    assert_has(reload, "HTTP/1.1 400 ");
    assert_has(reload, "perfcountd.yaml:3:1: unknown key\n");
    assert_int_equal(f.fake.reloads, 1);
    assert_int_equal(server_set_telemetry_path(f.server, "/other"), 0);
    _cleanup_(freep) char *old = served_answer(&f, 0, "GET /metrics", ""),
                          *new = served_answer(&f, 0, "GET /other", "");
    assert_has(old, "HTTP/1.1 404 ");
    assert_has(new, "HTTP/1.1 200 ");
    served_done(&f);
}

static void test_rates_hold_up_nobody(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    _cleanup_(closep) int waiting = served_connect(&f, 0, 0);
    uint64_t begun = served_now(&f);
    served_send(waiting, "GET /api/v1/rates?seconds=0.6", "");
    served_run(&f, 20 * NSEC_PER_MSEC);
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
    start(&f, NULL, "127.0.0.1:0");
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
    start(&f, NULL, "127.0.0.1:0");
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
    start(&f, NULL, "127.0.0.1:0");
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
    start(&f, &tight, "127.0.0.1:0");
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
    assert_true(is_closed(&f, half, NSEC_PER_SEC));
    assert_true(is_closed(&f, silent, NSEC_PER_SEC));
    assert_in_range(served_now(&f) - begun, 150 * NSEC_PER_MSEC, 2 * NSEC_PER_SEC);
    served_send(kept, "GET /-/healthy", "");
    served_expect(&f, kept, "HTTP/1.1 200 ");
    assert_true(is_closed(&f, kept, NSEC_PER_SEC));
    served_done(&f);
}

static void test_response_is_not_taken(void **state)
{
    uint64_t before, connected, after;
    struct served f;
    int size = 4096;

    (void)state;
    start(&f, &tight, "127.0.0.1:0");
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
    start(&f, &few, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_connect(&f, 0, 0);
    served_run(&f, 10 * NSEC_PER_MSEC);
    _cleanup_(closep) int fifth = served_connect(&f, 0, 0);
    assert_true(is_closed(&f, fifth, NSEC_PER_SEC));
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
    start(&f, &few, "127.0.0.1:0");
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
    _cleanup_(freep) char *rates = served_receive_text(&f, busy, false);
    assert_has(rates, "HTTP/1.1 200 ");
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
    struct server_limits large = few;
    struct served f;
    char long_path[12000];

    (void)state;
    start(&f, &few, "127.0.0.1:0");
    _cleanup_(freep) char *url = strdup(server_url(f.server, 0));
    snprintf(long_path, sizeof(long_path), "GET /%0*d", (int)sizeof(long_path) - 10, 0);
    _cleanup_(freep) char *refused = served_answer(&f, 0, long_path, "");
    assert_has(refused, "HTTP/1.1 4");
    assert_null(strstr(refused, " 404 "));
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
    assert_true(is_closed(&f, begun, NSEC_PER_SEC));
    served_done(&f);
}

static void test_limits_change(void **state)
{
    struct served f;

    (void)state;
    start(&f, &few, "127.0.0.1:0");
    _cleanup_(closep) int silent = served_connect(&f, 0, 0), kept = served_connect(&f, 0, 0);
    served_send(kept, "GET /-/healthy", "");
    served_expect(&f, kept, "HTTP/1.1 200 ");
    assert_false(is_closed(&f, silent, 200 * NSEC_PER_MSEC));
    /* Shorter times are for those that wait already, each for its own. */
    set_limits(&f, &tight);
    assert_true(is_closed(&f, silent, NSEC_PER_SEC));
    assert_true(is_closed(&f, kept, NSEC_PER_SEC));
    set_limits(&f, &few);
    _cleanup_(closep) int patient = served_connect(&f, 0, 0);
    assert_false(is_closed(&f, patient, 300 * NSEC_PER_MSEC));
    served_done(&f);
}

static void test_listeners(void **state)
{
    char *both[] = {(char *)"127.0.0.1:0", (char *)"127.0.0.2:0"}, *bad[] = {(char *)"127.0.0.3:0", NULL};
    char taken[64], *gone[] = {(char *)"127.0.0.2:0"}, *foreign[] = {(char *)"192.0.2.1:1234"};
    struct served f;
    struct error error;
    unsigned port;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(f.server, both, 2, &error), 0);
    assert_null(server_url(f.server, 2));
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *response = served_answer(&f, i, "GET /-/healthy", "");
        assert_has(response, "HTTP/1.1 200 ");
    }
    /* A failure changes nothing. */
    _cleanup_(closep) int holder = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(in);
    assert_int_equal(bind(holder, (struct sockaddr *)&in, size), 0);
    assert_int_equal(listen(holder, 1), 0);
    getsockname(holder, (struct sockaddr *)&in, &size);
    snprintf(taken, sizeof(taken), "127.0.0.1:%u", ntohs(in.sin_port));
    bad[1] = taken;
    assert_int_equal(server_listen(f.server, bad, 2, &error), -EADDRINUSE);
    assert_has(error.message, taken);
    assert_has(error.message, "EADDRINUSE");
    assert_int_equal(server_listen(f.server, foreign, 1, &error), -EADDRNOTAVAIL);
    assert_has(error.message, "192.0.2.1:1234");
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    /* A retired one answers open requests, and ends its idle connections. */
    _cleanup_(closep) int waiting = served_connect(&f, 0, 0), idle = served_connect(&f, 0, 0);
    served_send(waiting, "GET /api/v1/rates?seconds=0.2", "");
    served_send(idle, "GET /-/healthy", "");
    _cleanup_(freep) char *response = served_receive_text(&f, idle, false);
    assert_has(response, "HTTP/1.1 200 ");
    assert_int_equal(sscanf(server_url(f.server, 0), "http://127.0.0.1:%u/", &port), 1);
    assert_int_equal(server_listen(f.server, gone, 1, &error), 0);
    assert_true(is_closed(&f, idle, NSEC_PER_SEC));
    _cleanup_(freep) char *rates = served_receive_text(&f, waiting, false);
    assert_has(rates, "HTTP/1.1 200 ");
    assert_true(is_closed(&f, waiting, NSEC_PER_SEC));
    _cleanup_(closep) int refused = socket(AF_INET, SOCK_STREAM, 0);
    in.sin_port = htons((in_port_t)port);
    assert_int_equal(connect(refused, (struct sockaddr *)&in, sizeof(in)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    served_done(&f);
}

static int move(struct fake_service *fake)
{
    char *addresses[] = {(char *)"127.0.0.2:0"};
    struct error error;

    return server_listen(fake->reload_userdata, addresses, 1, &error);
}

/* A reload that takes away the address it was asked on is answered all the same. */
static void test_reload_retires_its_listener(void **state)
{
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    f.fake.reload_userdata = f.server;
    f.fake.on_reload = move;
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    served_send(fd, "POST /-/reload", "");
    served_expect(&f, fd, "HTTP/1.1 200 ");
    assert_true(is_closed(&f, fd, NSEC_PER_SEC));
    served_expect_answer(&f, 0, "GET /-/healthy", "", "HTTP/1.1 200 ");
    served_done(&f);
}

static void test_unix_socket(void **state)
{
    char directory[] = "/tmp/test-server-XXXXXX", path[64], address[80], *addresses[] = {address};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct served f, second;
    struct error error;
    struct stat status;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/http.sock", directory);
    snprintf(address, sizeof(address), "unix:%s", path);
    /* The socket of a dead process is replaced. */
    strcpy(un.sun_path, path);
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (struct sockaddr *)&un, sizeof(un)), 0);
    close(stale);
    start(&f, NULL, address);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    served_expect_answer(&f, 0, "POST /-/reload", "", "HTTP/1.1 200 ");
    /* A living one is. */
    start(&second, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(second.server, addresses, 1, &error), -EADDRINUSE);
    assert_has(error.message, path);
    served_done(&second);
    served_done(&f);
    assert_int_equal(stat(path, &status), -1);
    /* And a file that is no socket is not touched. */
    fclose(fopen(path, "w"));
    start(&f, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(f.server, addresses, 1, &error), -ENOTSOCK);
    served_done(&f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void assert_reload(struct served *f, size_t n, const char *host, const char *out)
{
    _cleanup_(closep) int fd = served_connect(f, n, 0);
    char request[256];

    snprintf(request, sizeof(request), "POST /-/reload HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    served_say(fd, request);
    served_expect(f, fd, out);
}

/* A page whose owner has its name lead here is no operator, though its browser is on this machine. */
static void test_rebound_name(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } hosts[] = {
        {"evil.example:10298", "HTTP/1.1 403 "}, {"printer", "HTTP/1.1 403 "},  {"127.0.0.1:10298", "HTTP/1.1 200 "},
        {"localhost", "HTTP/1.1 200 "},          {"A.:10298", "HTTP/1.1 200 "},
    };
    struct served f;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        assert_reload(&f, 0, hosts[i].in, hosts[i].out);
    served_done(&f);
}

/* Where nothing says otherwise, a client of loopback is not an operator, and root on a unix socket is. */
static void test_operators(void **state)
{
    char address[64], *addresses[] = {(char *)"127.0.0.1:0", address};
    struct served f;
    struct error error;

    (void)state;
    snprintf(address, sizeof(address), "unix:/tmp/test-server-%d.sock", (int)getpid());
    served_init(&f, NULL);
    assert_int_equal(server_listen(f.server, addresses, 2, &error), 0);
    assert_reload(&f, 0, "localhost", "HTTP/1.1 403 ");
    assert_reload(&f, 1, "localhost", "HTTP/1.1 200 ");
    assert_reload(&f, 1, "x\r\nForwarded: for=192.0.2.1", "HTTP/1.1 403 ");
    assert_int_equal(server_trust(f.server, STANDING_LOCAL, NULL, 0), 0);
    assert_reload(&f, 0, "localhost", "HTTP/1.1 200 ");
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
        start(&f, NULL, "127.0.0.1:0");
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
    start(&f, NULL, "127.0.0.1:0");
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

/* Many clients within one reading: rendered once, and byte for byte the same. */
static void test_responses_are_shared(void **state)
{
    struct served f;
    _cleanup_(freep) char *first = NULL;

    (void)state;
    start(&f, NULL, "127.0.0.1:0");
    for (int i = 0; i < 20; i++) {
        _cleanup_(freep) char *response = served_answer(&f, 0, "GET /metrics", "");
        const char *body = strstr(response, "\r\n\r\n");
        if (first)
            assert_string_equal(body, strstr(first, "\r\n\r\n"));
        else
            first = steal(response);
    }
    assert_int_equal(f.fake.reads, 20);
    fake_service_advance(&f.fake);
    served_expect_answer(&f, 0, "GET /metrics", "",
                         "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"} 2400000000\n");
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_many_parameters),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_ready_and_reload),
        cmocka_unit_test(test_rates_hold_up_nobody),
        cmocka_unit_test(test_rates_of_one_address),
        cmocka_unit_test(test_client_disappears_while_waiting),
        cmocka_unit_test(test_server_is_freed_while_waiting),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_response_is_not_taken),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_makes_room),
        cmocka_unit_test(test_limits_change),
        cmocka_unit_test(test_header_size_changes),
        cmocka_unit_test(test_listeners),
        cmocka_unit_test(test_reload_retires_its_listener),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_rebound_name),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_shut_down),
        cmocka_unit_test(test_responses_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
