/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the HTTP server and its answers, over real sockets. */
#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static const struct served_case cases[] = {
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
     {"parameter \"collect[]\": there is no collector \"nope\"; known are cpu, cgroup, self\n"}},
    {"GET /metrics?collect=cpu",
     "",
     400,
     {"unknown parameter \"collect\"; did you mean \"collect[]\"? Known are collect[]\n"}},
    {"GET /metrics?x", "", 400, {"unknown parameter \"x\"; known are collect[]\n"}},
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
    {"GET /metrics/", "", 404, {"there is nothing at /metrics/; did you mean \"/metrics\"? See / for what there is\n"}},
    {"GET /api/v1/counter", "", 404, {"did you mean \\\"/api/v1/counters\\\"?"}},
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
     {"Content-Type: text/plain", "\n/api/v1/rates\n    ", "    curl 'http://a/api/v1/rates?seconds=1'\n"}},
    {"GET /",
     "Accept: */*\r\n",
     200,
     {"Content-Type: text/plain", "\nPOST /-/reload\n", "    curl -X POST 'http://a/"}},
    {"GET /",
     "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n",
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
    {"GET /api/v1/pause",
     "X-Forwarded-For: 192.0.2.1\r\n",
     200,
     {"\"paused\": false,\n  \"refusal\": \"only operators may do this"}},
    {"GET /api/v1/pause", "User-Agent: Mozilla/5.0 (X11)\r\n", 200, {"\"refusal\": \"this may come from a page"}},
    {"GET /api/v1/pause",
     "User-Agent: Mozilla/5.0 (X11)\r\nX-Requested-With: perfcountd\r\n",
     200,
     {"\"paused\": false\n}"}},
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
    {"GET /api/v1/metrics", "", 200, {"Content-Type: application/json\r\n", "\"document\": \"metrics\""}},
    {"GET /api/v1/events", "", 200, {"\"document\": \"events\""}},
    {"GET /api/v1/cgroups", "", 200, {"Content-Type: application/json\r\n", "\"document\": \"cgroups\""}},
    {"GET /api/v1/cgroups?cgroup=/", "", 400, {"unknown parameter \\\"cgroup\\\"; there are none here"}},
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
    {"GET /api/v1/counters?collector=x", "", 400, {"there is no collector \\\"x\\\"; known are cpu, cgroup, self"}},
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
    (void)state;
    served_check_all(cases, ARRAY_SIZE(cases));
}

static void test_keep_alive(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
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
    served_start(&f, NULL, "127.0.0.1:0");
    buffer_append_text(&url, "GET /metrics?");
    for (int i = 0; i < 20000; i++)
        buffer_append_text(&url, "a&");
    buffer_append_char(&url, '\0');
    served_expect_answer(&f, 0, url.data, "", " 414 URI Too Long\r\n");
    buffer_clear(&url);
    buffer_append_text(&url, "X: ");
    for (int i = 0; i < 20000; i++)
        buffer_append_text(&url, "ab");
    buffer_append_text(&url, "\r\n");
    buffer_append_char(&url, '\0');
    served_expect_answer(&f, 0, "GET /metrics", url.data, " 431 ");
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
        struct server_limits limits = served_few;
        limits.memory_per_connection = sizes[k];
        served_start(&f, &limits, "127.0.0.1:0");
        _cleanup_(closep) int fd = served_connect(&f, 0, 0);
        unsigned most = (sizes[k] / 2 - sizes[k] / 8) / (64 + 14), n = 0;
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
    served_start(&f, NULL, "127.0.0.1:0");
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
    served_start(&f, NULL, "127.0.0.1:0");
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
    served_start(&f, NULL, "127.0.0.1:0");
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

/* Many clients within one reading: rendered once, and byte for byte the same. */
static void test_responses_are_shared(void **state)
{
    struct served f;
    _cleanup_(freep) char *first = NULL;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
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
        cmocka_unit_test(test_responses_are_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
