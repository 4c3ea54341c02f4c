/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server over real sockets: requests, responses and limits. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/names.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static const struct served_case answers[] = {
    {"GET /metrics", "", 200,
     "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n ... Vary: Accept, Accept-Encoding\r\n ... "
     "\nperf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"} 1200000000\n"},
    {"GET /metrics",
     "Accept: "
     "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/"
     "plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n",
     200, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n ... # EOF\n"},
    {"GET /metrics", "Accept: image/png\r\n", 200, "text/plain; version=0.0.4"},
    {"GET /metrics?collect[]=self", "", 200, "\n# HELP perfcountd_collector_success"},
    {"GET /metrics?collect[]=nope", "", 400,
     "parameter \"collect[]\": there is no collector \"nope\"; known are cpu, cgroup, self\n"},
    {"GET /metrics?collect=cpu", "", 400,
     "unknown parameter \"collect\"; did you mean \"collect[]\"? Known are collect[]\n"},
    {"POST /metrics", "Content-Length: 0\r\n", 405,
     "Allow: GET, HEAD\r\n ... POST is not allowed here, only GET, HEAD\n"},
    {"OPTIONS /-/reload", "", 405, "Allow: POST\r\n"},
    {"DELETE /api/v1/rates", "", 405, "{\"error\": \"DELETE is not allowed here, only GET, HEAD\", \"status\": 405}\n"},
    {"GET /nothing", "", 404,
     "Content-Type: text/plain; charset=utf-8\r\n ... no such path: /nothing (see / for the list)\n"},
    {"GET /metrics/", "", 404, "no such path: /metrics/ (see / for the list); did you mean \"/metrics\"?\n"},
    {"GET /api/v1/counter", "", 404, "did you mean \\\"/api/v1/counters\\\"?"},
    {"GET /api/v1/%22nothing%22", "", 404,
     "Content-Type: application/json\r\n ... {\"error\": \"no such path: /api/v1/\\\"nothing\\\" (see / for the "
     "list)\", \"status\": 404}\n"},
    {"GET /%zz", "", 400, "not well-formed"},
    {"GET /%ff", "", 400, "not well-formed"},
    {"GET /metrics?collect[]=%ff", "", 400, "parameter \"collect[]\" is not UTF-8"},
    {"GET /metrics?%c3%28=1", "", 400, "is not UTF-8"},
    {"GET /", "", 200,
     "Content-Type: text/plain ... \n/api/v1/rates\n     ...     curl 'http://a/api/v1/rates?seconds=1'\n"},
    {"GET /", "Accept: */*\r\n", 200,
     "Content-Type: text/plain ... \nPOST /-/reload\n ...     curl -X POST 'http://a/"},
    {"GET /", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n", 200,
     "Content-Type: text/html ... <code>curl 'http://a/api/v1/rates?seconds=1'</code> ... curl -X POST "
     "'http://a/-/reload'"},
    {"GET /?%3cb%3e", "", 400, "Content-Type: text/plain ... unknown parameter \"<b>\""},
    {"POST /-/reload", "Content-Length: 0\r\n", 200, "\r\n\r\nreloaded\n"},
    {"GET /api/v1/pause", "", 200, "Content-Type: application/json\r\n ... \"paused\": false\n"},
    {"GET /api/v1/pause", "X-Forwarded-For: 192.0.2.1\r\n", 200,
     "\"paused\": false,\n  \"refusal\": \"only operators may do this"},
    {"GET /api/v1/pause", "User-Agent: Mozilla/5.0 (X11)\r\n", 200,
     "\"refusal\": \"this request may come from a web page"},
    {"GET /api/v1/pause", "User-Agent: Mozilla/5.0 (X11)\r\nX-Requested-With: perfcountd\r\n", 200,
     "\"paused\": false\n}"},
    {"POST /api/v1/pause?seconds=0", "Content-Length: 0\r\n", 400,
     "expected whole seconds from 1 to 3600, or a duration such as 5m, found \\\"0\\\""},
    {"POST /api/v1/pause?seconds=3601", "Content-Length: 0\r\n", 400, "parameter \\\"seconds\\\""},
    /*
     * A page of another site makes the browser load an image from this server. Over plain HTTP the browser sends no
     * Sec-Fetch headers.
     */
    {"GET /api/v1/samples", "User-Agent: Mozilla/5.0 (X11)\r\n", 403,
     "\"status\": 403 ... may come from a web page of another site"},
    {"GET /debug/pprof/profile", "Accept-Language: de\r\nUser-Agent: curl/8\r\n", 403,
     "may come from a web page of another site"},
    {"GET /metrics", "User-Agent: Mozilla/5.0 (X11)\r\n", 200, "perf_cpu_cycles_total"},
    {"DELETE /api/v1/pause", "User-Agent: Mozilla/5.0 (X11)\r\nOrigin: http://a\r\nX-Requested-With: perfcountd\r\n",
     200, "\"paused\": false"},
    {"OPTIONS /api/v1/pause", "Origin: http://evil.example\r\nAccess-Control-Request-Headers: x-requested-with\r\n",
     405, "Allow: GET, HEAD, POST, DELETE\r\n"},
    {"POST /api/v1/resume", "Content-Length: 0\r\n", 200, "\"paused\": false"},
    {"POST /api/v1/resume", "Content-Length: 0\r\nX-Forwarded-For: 192.0.2.1\r\n", 403, "only operators"},
    {"GET /api/v1/resume", "", 405, "Allow: POST\r\n"},
    /* Request heads that a proxy may parse differently. */
    {"GET /-/healthy", "Content-Length: 0\r\nContent-Length: 0\r\n", 200, "healthy"},
    {"GET /-/healthy", "Content-Length: 0\r\nContent-Length: 4\r\n", 400, "Connection: close\r\n"},
    {"GET /-/healthy", "Host: b\r\n", 400, "Connection: close\r\n ... ambiguous"},
    {"GET /api/v1/cgroups", "", 200, "Content-Type: application/json\r\n ... \"document\": \"cgroups\""},
    {"GET /api/v1/cgroups?cgroup=/", "", 400, "unknown parameter \\\"cgroup\\\"; there are none here"},
    {"POST /api/v1/cgroups", "Content-Length: 0\r\n", 405, "Allow: GET, HEAD\r\n"},
    {"GET /api/v1/status", "Accept: application/*;q=0.1\r\n", 200, "\"document\": \"status\""},
    {"GET /api/v1/config", "Accept: text/html, application/json;q=0\r\n", 406, "\"status\": 406}"},
    {"GET /api/v1/counters?event=cycles&cpu=2", "", 200,
     "{\"timestamp\": 1700000001.123, \"hostname\": \" ... {\"collector\": \"cpu\", \"event\": \"cycles\", \"cpu\": 2, "
     "\"pmu\": \"cpu\", \"group\": \"core\", \"unit\": "
     "\"\", \"value\": 1200000000, \"raw\": 600000000, \"enabled_ns\": 1000000000, \"running_ns\": 500000000, "
     "\"state\": \"counting\"}]}\n"},
    {"GET /api/v1/counters?cpu=x", "", 400,
     "parameter \\\"cpu\\\": expected a number from 0 to 65535 or a range such as 0-3, found \\\"x\\\""},
    {"GET /api/v1/counters?collector=x", "", 400, "there is no collector \\\"x\\\"; known are cpu, cgroup, self"},
    {"GET /api/v1/rates?seconds=0.04", "", 400,
     "parameter \\\"seconds\\\": expected seconds from 0.05 to 60, or a duration from 50ms to 1m, found \\\"0.04\\\""},
    {"GET /api/v1/rates?seconds=50ms", "", 200, "\"rates\""},
    {"GET /api/v1/rates?seconds=61", "", 400, "seconds from 0.05 to 60"},
    {"GET /api/v1/rates?seconds=nan", "", 400, "seconds from 0.05 to 60"},
    {"GET /api/v1/rates?seconds=0.05&cpu=1", "", 200,
     "\"cycles\": 1200000000.0 ... \"ipc\": 0.8, ... \"running_ratio\": 0.5"},
    {"GET /api/v1/rates?limit=0", "", 400,
     "parameter \\\"limit\\\": expected a number from 1 to 10000, found \\\"0\\\""},
    {"GET /api/v1/rates?order=up", "", 400,
     "parameter \\\"order\\\": expected \\\"asc\\\" or \\\"desc\\\", found \\\"up\\\""},
    {"GET /api/v1/rates?order=asc", "", 400, "parameter \\\"order\\\" needs \\\"sort\\\""},
    {"GET /api/v1/counters?sort=ipc", "", 400, "unknown parameter \\\"sort\\\""},
    {"GET /api/v1/counters?cgroup=/%5Ba", "", 400, "parameter \\\"cgroup\\\": "},
    {"GET /api/v1/rates?seconds=0.05&sort=cpu_utilization&limit=1", "", 200,
     "\"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\" ... \"cpu_utilization\": 0.96"},
    {"POST /-/reload", "Content-Length: 2000\r\n", 413, "needs no body"},
    {"GET /metrics", "Transfer-Encoding: chunked\r\n", 413, "needs no body"},
    {"GET /-/healthy", "Content-Length: 4\r\n\r\nbody", 200, "healthy"},
    /* A filter that can never match anything is an error; one that currently matches nothing gives an empty list. */
    {"GET /api/v1/counters?event=cyclez", "", 400,
     "\"parameter \\\"event\\\": no counter here has the event \\\"cyclez\\\"; did you mean \\\"cycles\\\"? Known are "
     "cycles, instructions, task_clock, bus_cycles\""},
    {"GET /api/v1/counters?group=nope", "", 400,
     "no counter here has the group \\\"nope\\\"; did you mean \\\"core\\\"? Known are core, late, bus"},
    {"GET /api/v1/counters?pmu=cup", "", 400,
     "no counter here has the PMU \\\"cup\\\"; did you mean \\\"cpu\\\"? Known are cpu, software"},
    {"GET /api/v1/counters?cgroup=/nope", "", 200, "\"counters\": []"},
    {"GET /api/v1/counters?event=cycles&pmu=software", "", 200, "\"counters\": []"},
    {"GET /api/v1/rates?totals=cpu", "", 400,
     "parameter \\\"totals\\\": there are no totals by \\\"cpu\\\"; did you mean \\\"pmu\\\"? Known are pmu, cgroup"},
    {"GET /api/v1/rates?seconds=0.05&collector=cpu&totals=pmu", "", 200,
     "\"totals\": [ ... \"cpus\": \"0-3\" ... \"cycles\": 4800000000.0"},
    /* Filters apply before rows are added up. The order and the limit of the rows do not affect the sums. */
    {"GET /api/v1/rates?seconds=0.05&cpu=1-2&totals=pmu&sort=ipc&limit=1", "", 200,
     "\"totals\": [ ... \"cpus\": \"1-2\" ... \"cycles\": 2400000000.0 ... \"ipc\": 0.8"},
    {"GET /api/v1/rates?seconds=0.05&event=instructions&collector=cpu&totals=pmu", "", 200,
     "\"cpus\": \"0-3\" ... \"instructions\": 3840000000.0"},
    {"GET /api/v1/rates?seconds=0.05&collector=cgroup&limit=1&totals=cgroup", "", 200,
     "\"totals\": [ ... \"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\" ... \"pmus\": [ ... \"cpu\" ... "
     "\"frequency_hertz\": 1250000000.0 ... \"cpu_utilization\": 0.96"},
    {"GET /api/v1/rates?seconds=0.05&collector=cpu&totals=cgroup", "", 200,
     "\"totals\": [ ... \"pmu\": \"cpu\" ... \"cpus\": \"0-3\" ... \"cycles\": 4800000000.0"},
    {"GET /api/v1/counters?totals=pmu", "", 400, "totals"},
    {"GET /api/v1/rates?sort=ipcc", "", 400,
     "there is no event or derived metric \\\"ipcc\\\" here; did you mean \\\"ipc\\\" ... ? Known are ipc,  ... , "
     "cycles, instructions"},
    {"GET /api/v1/rates?sort=bus-cycles", "", 400,
     "parameter \\\"sort\\\": no row has \\\"bus-cycles\\\": no such \\\"event\\\" (ENOENT)"},
    {"GET /api/v1/rates?sort=ipc&collector=cgroup", "", 400,
     "parameter \\\"sort\\\": no row has \\\"ipc\\\"; /api/v1/metrics and"},
    {"GET /api/v1/rates?seconds=0.05&sort=task-clock&cgroup=/nope", "", 200, "\"rates\": []"},
    {"GET /api/v1/rates?seconds=0.05&sort=Task-Clock&limit=1", "", 200,
     "\"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\" ... \"cpu_utilization\": 0.96"},
};

SERVED_TEST(test_answers)
{
    served_check_all(*state, answers, ARRAY_SIZE(answers));
}

/* Each kind of cgroup name is a query parameter. An unknown name is not an error, since names change all the time. */
SERVED_TEST(test_names)
{
    static const char *const paths[][2] = {{"counters?", "\"counters\": []"}, {"rates?seconds=0.05&", "\"rates\": []"}};
    char request[128];

    for (size_t i = 0; i < N_NAME_KEYS; i++)
        for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
            snprintf(request, sizeof(request), "GET /api/v1/%s%s=x", paths[k][0], name_kind_text((enum name_kind)i));
            served_check(*state, &(struct served_case){request, "", 200, paths[k][1]});
        }
}

SERVED_TEST(test_keep_alive)
{
    struct served *f = *state;

    _cleanup_(closep) int fd = served_connect(f, 0, 0);
    for (int i = 0; i < 3; i++) {
        served_send(fd, "GET /metrics", "");
        _cleanup_(freep) char *response = served_receive_text(f, fd, false);
        assert_has(response, OK);
        assert_has_not(response, "Connection: close");
    }
    served_say(fd, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    _cleanup_(freep) char *head = served_receive_text(f, fd, true);
    assert_has(head, OK);
    if (!strstr(head, " 404 ")) {
        served_expect(f, fd, "HTTP/1.1 404 ");
    }
}

static char *repeated(const char *begin, const char *text, unsigned n, const char *end)
{
    _cleanup_(buffer_done) struct buffer out = {0};

    buffer_append_text(&out, begin);
    for (unsigned i = 0; i < n; i++)
        buffer_append_text(&out, text);
    buffer_append_text(&out, end);
    return buffer_string(&out);
}

/* A request with any number of parameters gets a response, and the connection stays open. */
TEST(test_many_parameters)
{
    const unsigned sizes[] = {4096, 16384};

    for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
        struct server_limits limits = served_few;
        struct served f;
        limits.memory_per_connection = sizes[k];
        served_start(&f, &limits, "127.0.0.1:0");
        _cleanup_(closep) int fd = served_connect(&f, 0, 0);
        unsigned most = (sizes[k] / 2 - sizes[k] / 8) / (64 + 14), n = 1;
        for (; n * 15 < sizes[k] - 512; n += n < 10 ? 1 : 7) {
            _cleanup_(freep) char *request = repeated("GET /metrics?collect[]=cpu", "&collect[]=cpu", n - 1, "");
            served_send(fd, request, "Accept: */*\r\nUser-Agent: a/1\r\n");
            served_expect(&f, fd, n < most ? OK : n > most + 1 ? "HTTP/1.1 414 URI Too Long\r\n" : "HTTP/");
        }
        assert_true(n > 200 * k);
        _cleanup_(freep) char *last = repeated("GET /api/v1/counters?collect[]=cpu", "&collect[]=cpu", n - 8, "");
        served_send(fd, last, "");
        served_expect(&f, fd, "{\"error\": \"the query has too many parameters");
        served_done(&f);
    }
}

SERVED_TEST(test_gzip)
{
    struct served *f = *state;

    for (int i = 0; i < 2; i++) {
        _cleanup_(freep) char *text = served_answer(f, 0, "GET /metrics", GZIP);
        assert_has(text, "Content-Encoding: gzip\r\n");
        const char *body = strstr(text, "\r\n\r\n") + 4;
        assert_memory_equal(body, "\x1f\x8b", 2);
    }
    _cleanup_(freep) char *plain = served_answer(f, 0, "GET /metrics", "Accept-Encoding: gzip;q=0\r\n");
    assert_has_not(plain, "Content-Encoding");
    served_expect_answer(f, 0, "GET /api/v1/counters", GZIP, "Content-Encoding: gzip\r\n");
    _cleanup_(freep) char *small = served_answer(f, 0, "GET /api/v1/counters?cpu=1", GZIP);
    assert_has_not(small, "Content-Encoding");
}

SERVED_TEST(test_pause)
{
    struct served *f = *state;

    _cleanup_(freep) char *pause = served_answer(f, 0, "POST /api/v1/pause?seconds=3600", "Content-Length: 0\r\n");
    assert_has(pause, "\"paused\": true,\n  \"seconds\": 3600,\n  \"until\": 1700000000.5\n");
    served_expect_answer(f, 0, "POST /api/v1/pause?seconds=5m", "Content-Length: 0\r\n", "\"seconds\": 300,");
    served_expect_answer(f, 0, "POST /api/v1/pause", "Content-Length: 0\r\n", "\"seconds\": 60,");
    served_expect_answer(f, 0, "GET /api/v1/pause", "",
                         "\"paused\": true,\n  \"seconds\": 60,\n  \"until\": 1700000000.5\n");
    assert_int_equal(f->fake.pauses, 3);
    served_expect_answer(f, 0, "DELETE /api/v1/pause", "", "\"paused\": false\n");
    assert_int_equal(f->fake.pauses, 4);
    assert_int_equal(f->fake.paused, 0);
    served_expect_answer(f, 0, "POST /api/v1/pause", "Content-Length: 0\r\n", "\"seconds\": 60,");
    served_expect_answer(f, 0, "POST /api/v1/resume", "Content-Length: 0\r\n", "\"paused\": false\n");
    assert_int_equal(f->fake.paused, 0);
}

SERVED_TEST(test_ready_and_reload)
{
    struct served *f = *state;

    f->fake.ready = false;
    _cleanup_(freep) char *ready = served_answer(f, 0, "GET /-/ready", "");
    assert_has(ready, "HTTP/1.1 503 ");
    f->fake.reload_error = "perfcountd.yaml:3:1: unknown key";
    _cleanup_(freep) char *reload = served_answer(f, 0, "POST /-/reload", "");
    assert_has(reload, "HTTP/1.1 400 ");
    assert_has(reload, "perfcountd.yaml:3:1: unknown key\n");
    f->fake.reload_result = -ETIMEDOUT;
    served_expect_answer(f, 0, "POST /-/reload", "", "HTTP/1.1 503 ");
    assert_int_equal(f->fake.reloads, 2);
    assert_int_equal(server_set_telemetry_path(f->server, "/other"), 0);
    _cleanup_(freep) char *old = served_answer(f, 0, "GET /metrics", ""), *new = served_answer(f, 0, "GET /other", "");
    assert_has(old, "HTTP/1.1 404 ");
    assert_has(new, OK);
}

/* Other requests are answered while a client waits for rates, and a client may disconnect while it waits. */
SERVED_TEST(test_rates_hold_up_nobody)
{
    struct served *f = *state;
    _cleanup_(closep) int waits = served_ask(f, "GET /api/v1/rates?seconds=60", "");
    char c;

    served_wait(f, f->fake.fresh_reads == 1);
    int leaves = served_ask(f, "GET /api/v1/rates?seconds=0.05", "");
    served_wait(f, f->fake.fresh_reads == 2);
    close(leaves);
    served_wait(f, f->fake.fresh_reads == 3);
    _cleanup_(closep) int stays = served_ask(f, "GET /api/v1/rates?seconds=0.05", "");
    served_expect(f, stays, "\"seconds\": 1.0");
    served_send(stays, HEALTHY, "");
    served_expect(f, stays, OK);
    assert_int_equal(f->fake.fresh_reads, 5);
    assert_int_equal(recv(waits, &c, 1, MSG_DONTWAIT), -1);
}

static int ask_for_rates(const struct served *f, unsigned source, const char *request)
{
    int fd = served_connect(f, 0, source);

    served_send(fd, request, "");
    return fd;
}

/*
 * An address that has used up its share of waiting requests leaves room for others, and may send another request after
 * each response.
 */
SERVED_TEST(test_rates_of_one_address)
{
    struct served *f = *state;
    int fds[16];

    for (size_t i = 0; i < ARRAY_SIZE(fds) + 1; i++) {
        _cleanup_(closep) int fd = ask_for_rates(f, 1, "GET /api/v1/rates?seconds=0.05");
        served_expect(f, fd, OK);
    }
    f->fake.fresh_reads = 0;
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_for_rates(f, 1, "GET /api/v1/rates?seconds=60");
    served_wait(f, f->fake.fresh_reads == ARRAY_SIZE(fds));
    _cleanup_(closep) int same = ask_for_rates(f, 1, "GET /api/v1/rates?seconds=0.05");
    _cleanup_(closep) int other = ask_for_rates(f, 2, "GET /api/v1/rates?seconds=0.05");
    served_expect(f, same, "HTTP/1.1 503 ");
    served_expect(f, other, OK);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

static void set_limits(struct served *f, const struct server_limits *limits)
{
    char *addresses[] = {(char *)"127.0.0.1:0"};
    struct server_settings settings = {
        .addresses = addresses, .n_addresses = 1, .telemetry_path = "/metrics", .limits = *limits};
    struct error error;

    assert_int_equal(server_configure(f->server, &settings, &error), 0);
}

/* Each timeout closes only connections of its own kind, including those that are already waiting when it changes. */
TEST(test_deadlines)
{
    struct server_limits limits = served_few;
    struct served f;

    served_start(&f, &limits, "127.0.0.1:0");
    _cleanup_(closep) int silent = served_connect(&f, 0, 0), half = served_connect(&f, 0, 0);
    _cleanup_(closep) int kept = served_ask(&f, HEALTHY, "");
    served_say(half, "GET /metrics HTTP/1.1\r\nHost:");
    served_expect(&f, kept, OK);
    limits.request_ns = 100 * NSEC_PER_MSEC;
    set_limits(&f, &limits);
    /* Sending a byte at a time does not extend the timeout. */
    served_wait(&f, send(half, "x", 1, MSG_NOSIGNAL) < 0);
    served_expect_end(&f, silent, NULL);
    served_send(kept, HEALTHY, "");
    served_expect(&f, kept, OK);
    limits = served_few;
    limits.keepalive_ns = 100 * NSEC_PER_MSEC;
    set_limits(&f, &limits);
    _cleanup_(closep) int patient = served_connect(&f, 0, 0);
    served_expect_end(&f, kept, NULL);
    served_send(patient, HEALTHY, "");
    served_expect(&f, patient, OK);
    served_done(&f);
}

static uint64_t n_open(void)
{
    uint64_t n;

    assert_int_equal(fd_count_open(-1, &n), 0);
    return n;
}

TEST(test_response_is_not_taken)
{
    struct server_limits limits = served_few;
    struct served f;
    int size = 4096;

    limits.response_ns = 100 * NSEC_PER_MSEC;
    served_start(&f, &limits, "127.0.0.1:0");
    fake_service_done(&f.fake);
    fake_service_init(&f.fake, 30000);
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    uint64_t before = n_open();
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    served_send(fd, "GET /metrics", "");
    served_wait(&f, n_open() == before + 1);
    served_wait(&f, n_open() == before);
    served_expect_answer(&f, 0, HEALTHY, "", OK);
    served_done(&f);
}

TEST(test_limits)
{
    struct served f;
    int fds[4];

    served_start(&f, &served_few, "127.0.0.1:0");
    uint64_t before = n_open();
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = served_connect(&f, 0, 0);
    int fifth = served_connect(&f, 0, 0);
    served_expect_end(&f, fifth, NULL);
    close(fifth);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        served_send(fds[i], HEALTHY, "");
        served_expect(&f, fds[i], OK);
        close(fds[i]);
    }
    served_wait(&f, n_open() == before);
    served_expect_answer(&f, 0, HEALTHY, "", OK);
    served_done(&f);
}

/*
 * If silent and idle clients hold all connections, a new client replaces one of them, but never a client that waits for
 * rates.
 */
TEST(test_makes_room)
{
    struct served f;
    int fds[6];
    char c;

    served_start(&f, &served_few, "127.0.0.1:0");
    _cleanup_(closep) int busy = ask_for_rates(&f, 9, "GET /api/v1/rates?seconds=60");
    served_wait(&f, f.fake.fresh_reads == 1);
    for (size_t round = 0; round < 3; round++) {
        for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
            fds[i] = served_connect(&f, 0, 2 + i / 3);
            served_spin(&f, 20);
            served_say(fds[i], i % 2 ? "GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n" : "G");
            served_spin(&f, 20);
        }
        served_expect_answer(&f, 0, HEALTHY, "", OK);
        for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
            close(fds[i]);
    }
    assert_int_equal(recv(busy, &c, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    served_done(&f);
}

/* A new header size needs a new MHD daemon on the same socket. The old MHD daemon answers its open requests. */
TEST(test_header_size_changes)
{
    struct server_limits large = served_few;
    struct served f;
    char long_path[12000];

    served_start(&f, &served_few, "127.0.0.1:0");
    _cleanup_(freep) char *url = strdup(server_url(f.server, 0));
    snprintf(long_path, sizeof(long_path), "GET /%0*d", (int)sizeof(long_path) - 10, 0);
    served_expect_answer(&f, 0, long_path, "", " 414 URI Too Long\r\n");
    _cleanup_(closep) int begun = served_connect(&f, 0, 0);
    served_say(begun, "GET /-/healthy HTTP/1.1\r\n");
    served_spin(&f, 20);
    large.memory_per_connection = 65536;
    set_limits(&f, &large);
    assert_string_equal(server_url(f.server, 0), url);
    served_say(begun, "Host: a\r\n\r\n");
    served_expect(&f, begun, OK);
    served_expect_answer(&f, 0, long_path, "", "HTTP/1.1 404 ");
    served_expect_end(&f, begun, NULL);
    served_done(&f);
}

/* Lowers the limit of open files to the current number. Returns the previous limit. */
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

/*
 * A client that connects when no descriptor is free waits without using CPU time, and is served once a descriptor is
 * free.
 */
TEST(test_no_descriptors)
{
    struct served f;

    for (unsigned n_open = 0; n_open <= 1; n_open++) {
        served_start(&f, NULL, "127.0.0.1:0");
        int other = n_open ? served_connect(&f, 0, 0) : -1;
        served_spin(&f, 20);
        int fd = served_connect(&f, 0, 0);
        struct rlimit before = take_descriptors_away();
        served_send(fd, HEALTHY, "");
        served_wait(&f, f.fake.complaint[0]);
        assert_has(f.fake.complaint, "waiting to be accepted: Too many open files (EMFILE)");
        served_wait(&f, sd_event_run(f.event, 10000) == 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (other >= 0)
            close(other);
        served_expect(&f, fd, OK);
        close(fd);
        served_done(&f);
    }
}

/* A listening socket that another process has shut down does not keep the event loop busy. */
SERVED_TEST(test_shut_down)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    _cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct served *f = *state;
    int handed = dup(fd);
    struct error error;

    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(server_adopt(f->server, &handed, 1, &error), 0);
    served_expect_answer(f, 0, HEALTHY, "", OK);
    shutdown(fd, SHUT_RDWR);
    served_wait(f, f->fake.complaint[0]);
    assert_has(f->fake.complaint, "waiting to be accepted: Invalid argument (EINVAL)");
    served_wait(f, sd_event_run(f->event, 10000) == 0);
}

TEST_MAIN(NULL, NULL)
