/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords, the rate limit, headers and permissions, asked of a server over real sockets. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "http/auth/auth.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define SALT "abcdefghijklmnopqrstuu"
/* "secret" at the lowest cost, and at one that takes its time. */
#define CHEAP "$2y$04$" SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define COSTLY "$2y$10$" SALT "qflPDzB6gcMhKa1rZqKiun2YGL5sa2u"
#define CHANGED "$2y$06$" SALT "6FttqYLNXdPO90XO7YlC0uHRd1WxOhm" /* "other" */

struct fixture {
    struct served served;
    char web_config[32]; /* a file */
};

/* The users of most tests. Their passwords are "secret". */
#define USERS(hash) "basic_auth_users: {alice: \"" hash "\", bob: \"" CHEAP "\"}\n"

/* Sets the web configuration. */
static void apply(struct fixture *f, const char *text)
{
    struct error error = {0};
    int fd = open(f->web_config, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    if (server_secure(f->served.server, f->web_config, &error) < 0)
        fail_msg("%s", error.message);
}

static void start(struct fixture *f, const char *web_config)
{
    *f = (struct fixture){.web_config = "/tmp/test-auth.XXXXXX"};
    close(mkstemp(f->web_config));
    served_init(&f->served, NULL);
    if (web_config)
        apply(f, web_config);
    served_listen(&f->served, "127.0.0.1:0");
}

static void stop(struct fixture *f)
{
    served_done(&f->served);
    unlink(f->web_config);
}

/* Sends a request with a name and password, which may be NULL. */
static void say(int fd, const char *request, const char *credential, const char *headers)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    gnutls_datum_t raw = {(unsigned char *)credential, credential ? (unsigned)strlen(credential) : 0}, encoded = {0};

    buffer_append_text(&text, headers);
    if (credential) {
        assert_int_equal(gnutls_base64_encode2(&raw, &encoded), 0);
        buffer_appendf(&text, "Authorization: Basic %s\r\n", (char *)encoded.data);
        gnutls_free(encoded.data);
    }
    buffer_append_char(&text, '\0');
    served_send(fd, request, text.data);
}

static char *ask(struct fixture *f, const char *request, const char *credential, const char *headers)
{
    _cleanup_(closep) int fd = served_connect(&f->served, 0, 1);

    say(fd, request, credential, headers);
    return served_receive_text(&f->served, fd, false);
}

static unsigned status(struct fixture *f, const char *request, const char *credential)
{
    _cleanup_(freep) char *response = ask(f, request, credential, "");

    return served_status(response);
}

static const struct {
    const char *in_request, *in_credential, *in_headers;
    unsigned out_status;
    const char *out;
} cases[] = {
    {"GET /metrics", "alice:secret", "", 200, "perf_cpu_cycles_total"},
    {"GET /metrics", "alice:secret", "", 200, "perf_cpu_cycles_total"},
    {"GET /metrics", "bob:secret", "", 200, "perf_cpu_cycles_total"},
    {"GET /metrics", "alice:wrong", "", 401, "WWW-Authenticate: Basic realm=\"perfcountd\", charset=\"UTF-8\"\r\n"},
    /* The page hears of a wrong password; without any, its browser has to be asked for the one that it knows. */
    {"GET /metrics", "alice:wrong", "X-Requested-With: perfcountd\r\n", 401, "WWW-Authenticate: X-Basic realm="},
    {"GET /metrics", NULL, "X-Requested-With: perfcountd\r\n", 401, "WWW-Authenticate: Basic realm="},
    {"GET /metrics", "alice:wrong", "X-Requested-With: x\r\n", 401, "WWW-Authenticate: Basic realm="},
    {"GET /metrics", "alice:wrong", "", 401, "\r\n\r\nthe name or the password is wrong\n"},
    {"GET /metrics", "carol:secret", "", 401, "\r\n\r\nthe name or the password is wrong\n"},
    {"GET /metrics", NULL, "", 401, "\r\n\r\nthis needs a name and a password, as in curl -u NAME\n"},
    {"GET /metrics", "alice", "", 401, "the \"Authorization\" header has no name and password"},
    {"GET /metrics", "alice:secret:", "", 401, ""},
    {"GET /metrics", "Alice:secret", "", 401, ""},
    {"GET /metrics", ":", "", 401, ""},
    {"GET /metrics", "", "", 401, ""},
    {"GET /metrics", NULL, "", 401, "Content-Type: text/plain"},
    {"GET /api/v1/counters", NULL, "", 401,
     "{\"error\": \"this needs a name and a password, as in curl -u NAME\", \"status\": 401}\n"},
    {"GET /nothing", NULL, "", 401, ""},
    {"GET /nothing", "alice:secret", "", 404, ""},
    {"GET /%zz", "alice:secret", "", 400, ""},
    {"GET /metrics", NULL, "Authorization: Basic ????\r\n", 401, ""},
    {"GET /metrics", NULL, "Authorization: Bearer abc\r\n", 401, "header has no name and password"},
    {"GET /metrics", NULL, "authorization: bASIC YWxpY2U6c2VjcmV0\r\n", 200, ""},
    {"POST /-/reload", "alice:secret", "Content-Length: 0\r\n", 200, "reloaded"},
    {"POST /-/reload", NULL, "Content-Length: 0\r\n", 401, ""},
    {"POST /-/reload", "alice:wrong", "Content-Length: 0\r\n", 401, ""},
    {"POST /-/reload", "alice:secret", "Content-Length: 0\r\nOrigin: http://evil.example\r\n", 403,
     "may come from a page in a browser"},
    {"GET /api/v1/rates?seconds=0.05", "alice:secret", "", 200, "\"ipc\""},
    {"GET /-/healthy", NULL, "", 200, "healthy"},
    {"GET /-/healthy", "alice:wrong", "", 200, "healthy"},
    {"GET /-/healthy/", NULL, "", 401, ""},
    {"GET /-/ready", NULL, "", 401, ""},
};

static void test_answers(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, USERS(CHEAP) "auth_excluded_paths: [/-/healthy]\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(closep) int fd = served_connect(&f.served, 0, 1);
        print_message("%s %s\n", cases[i].in_request, cases[i].in_credential ? cases[i].in_credential : "");
        say(fd, cases[i].in_request, cases[i].in_credential, cases[i].in_headers);
        _cleanup_(freep) char *response = served_receive_text(&f.served, fd, false);
        assert_int_equal(served_status(response), cases[i].out_status);
        assert_has(response, cases[i].out);
    }
    stop(&f);
}

/* The first time in a connection that is kept, and again in it. */
static void test_keep_alive(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, USERS(CHEAP));
    _cleanup_(closep) int fd = served_connect(&f.served, 0, 1);
    for (unsigned i = 0; i < 6; i++) {
        say(fd, "GET /-/healthy", i % 3 ? "alice:secret" : "alice:wrong", "");
        _cleanup_(freep) char *response = served_receive_text(&f.served, fd, false);
        assert_int_equal(served_status(response), i % 3 ? 200 : 401);
    }
    stop(&f);
}

static void test_no_users(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, NULL);
    assert_int_equal(status(&f, "GET /metrics", NULL), 200);
    assert_int_equal(status(&f, "GET /metrics", "alice:wrong"), 200);
    assert_int_equal(status(&f, "POST /-/reload", NULL), 403);
    apply(&f, USERS(CHEAP));
    assert_int_equal(status(&f, "GET /metrics", NULL), 401);
    apply(&f, "# nothing\n");
    assert_int_equal(status(&f, "GET /metrics", NULL), 200);
    stop(&f);
}

/* A new hash is in force with the next request, whatever is remembered. */
static void test_change_of_password(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, USERS(CHEAP));
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    assert_int_equal(status(&f, "GET /metrics", "alice:other"), 401);
    apply(&f, USERS(CHANGED));
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 401);
    assert_int_equal(status(&f, "GET /metrics", "alice:other"), 200);
    apply(&f, "basic_auth_users: {dave: \"" CHANGED "\"}\n");
    assert_int_equal(status(&f, "GET /metrics", "alice:other"), 401);
    assert_int_equal(status(&f, "GET /metrics", "dave:other"), 200);
    stop(&f);
}

/* Sends the i-th wrong password. */
static int ask_wrongly(const struct fixture *f, unsigned from, unsigned i)
{
    char credential[32];
    int fd = served_connect(&f->served, 0, from);

    snprintf(credential, sizeof(credential), "alice:wrong%u", i);
    say(fd, "GET /metrics", credential, "");
    return fd;
}

static void test_queue(void **state)
{
    enum { N = CHECKS_PER_ADDRESS_MAX + 3 };
    struct fixture f;
    int fds[N];
    unsigned busy = 0, wrong = 0;

    (void)state;
    start(&f, USERS(COSTLY));
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    for (unsigned i = 0; i < N; i++)
        fds[i] = ask_wrongly(&f, 1, i);
    served_run(&f.served, 5 * NSEC_PER_MSEC);
    /* A known client does not wait, nor does an address that has asked for nothing yet. */
    uint64_t begun = served_now(&f.served);
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    assert_true(served_now(&f.served) - begun < 40 * NSEC_PER_MSEC);
    _cleanup_(closep) int other = served_connect(&f.served, 0, 2);
    say(other, "GET /metrics", "bob:secret", "");
    for (unsigned i = 0; i < N; i++) {
        _cleanup_(freep) char *response = served_receive_text(&f.served, fds[i], false);
        if (served_status(response) == 503)
            assert_has(response, "Retry-After: 1\r\n");
        busy += served_status(response) == 503;
        wrong += served_status(response) == 401;
        close(fds[i]);
    }
    assert_int_equal(busy, N - CHECKS_PER_ADDRESS_MAX);
    assert_int_equal(wrong, CHECKS_PER_ADDRESS_MAX);
    _cleanup_(freep) char *response = served_receive_text(&f.served, other, false);
    assert_int_equal(served_status(response), 200);
    stop(&f);
}

/* All addresses together. */
static void test_whole_queue(void **state)
{
    enum { N = CHECKS_MAX + CHECKS_PER_ADDRESS_MAX };
    struct fixture f;
    int fds[N];
    unsigned busy = 0;

    (void)state;
    start(&f, USERS(COSTLY));
    for (unsigned i = 0; i < N; i++)
        fds[i] = ask_wrongly(&f, 1 + i / CHECKS_PER_ADDRESS_MAX, i);
    for (unsigned i = 0; i < N; i++) {
        _cleanup_(freep) char *response = served_receive_text(&f.served, fds[i], false);
        busy += served_status(response) == 503;
        close(fds[i]);
    }
    assert_in_range(busy, 1, CHECKS_PER_ADDRESS_MAX);
    stop(&f);
}

/* The same password sent many times at once is checked once, and all have its answer. */
static void test_same_at_once(void **state)
{
    struct fixture f;
    int fds[CHECKS_PER_ADDRESS_MAX];

    (void)state;
    start(&f, USERS(COSTLY));
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = served_connect(&f.served, 0, 1);
        say(fds[i], "GET /metrics", "alice:secret", "");
    }
    uint64_t ends[ARRAY_SIZE(fds)];
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        _cleanup_(freep) char *response = served_receive_text(&f.served, fds[i], false);
        assert_int_equal(served_status(response), 200);
        ends[i] = served_now(&f.served);
        close(fds[i]);
    }
    assert_true(ends[ARRAY_SIZE(fds) - 1] - ends[0] < 50 * NSEC_PER_MSEC);
    stop(&f);
}

/* Clients that have left make room for those that are there. */
static void test_leavers_make_room(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, USERS(COSTLY));
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < CHECKS_PER_ADDRESS_MAX; i++) {
            int fd = ask_wrongly(&f, 1, round * CHECKS_PER_ADDRESS_MAX + i);
            sd_event_run(f.served.event, 1000);
            close(fd);
        }
    served_run(&f.served, 5 * NSEC_PER_MSEC);
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    stop(&f);
}

static void test_freed_while_checking(void **state)
{
    struct fixture f;
    int fds[3];

    (void)state;
    start(&f, USERS(COSTLY));
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_wrongly(&f, 1, i);
    served_run(&f.served, 5 * NSEC_PER_MSEC);
    stop(&f);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

static void test_rate_limit(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, USERS(CHEAP) "rate_limit: {interval: 1h, burst: 3}\n");
    /* A suspension does not count twice. */
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    assert_int_equal(status(&f, "GET /metrics", NULL), 401);
    assert_int_equal(status(&f, "GET /-/healthy", "alice:secret"), 200);
    _cleanup_(freep) char *response = ask(&f, "GET /api/v1/counters", "alice:secret", "");
    assert_int_equal(served_status(response), 429);
    assert_has(response, "Retry-After: 3600\r\n");
    assert_has(response, "\"status\": 429}");
    apply(&f, USERS(CHEAP));
    assert_int_equal(status(&f, "GET /metrics", "alice:secret"), 200);
    stop(&f);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    while ((text = strcasestr(text, part))) {
        n++;
        text += strlen(part);
    }
    return n;
}

static void test_headers(void **state)
{
    static const char *const requests[] = {"GET /page/app.js",     "GET /metrics",
                                           "GET /metrics",         "GET /api/v1/counters",
                                           "GET /api/v1/counters", "GET /-/healthy",
                                           "GET /nothing",         "GET /api/v1/nothing",
                                           "POST /metrics",        "GET /api/v1/rates?seconds=0.05",
                                           "GET /metrics?a=b"};
    struct fixture f;

    (void)state;
    start(&f, USERS(CHEAP));
    _cleanup_(freep) char *before = ask(&f, "GET /metrics", "alice:secret", "");
    assert_int_equal(count_of(before, "Strict-Transport-Security"), 0);
    apply(&f, USERS(CHEAP) "http_server_config: {headers: {Strict-Transport-Security: max-age=31536000, "
                           "X-Content-Type-Options: nosniff}}\n");
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        for (int k = 0; k < 2; k++) {
            _cleanup_(freep) char *response = ask(&f, requests[i], k ? "alice:secret" : NULL, "");
            print_message("%s: %u\n", requests[i], served_status(response));
            assert_int_equal(count_of(response, "\r\nStrict-Transport-Security: max-age=31536000\r\n"), 1);
            assert_int_equal(count_of(response, "\r\nX-Content-Type-Options: nosniff\r\n"), 1);
        }
    apply(&f, USERS(CHEAP) "http_server_config: {headers: {Content-Security-Policy: \"default-src 'self'\"}}\n");
    _cleanup_(freep) char *index = ask(&f, "GET /", "alice:secret", "Accept: text/html\r\n");
    assert_int_equal(count_of(index, "Content-Security-Policy: "), 1);
    assert_has(index, "Content-Security-Policy: default-src 'self'\r\n");
    _cleanup_(freep) char *refused = ask(&f, "POST /metrics", "alice:secret", "Content-Length: 5000\r\n");
    assert_int_equal(served_status(refused), 413);
    assert_has(refused, "Content-Security-Policy: default-src 'self'\r\n");
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_no_users),
        cmocka_unit_test(test_change_of_password),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_whole_queue),
        cmocka_unit_test(test_same_at_once),
        cmocka_unit_test(test_leavers_make_room),
        cmocka_unit_test(test_freed_while_checking),
        cmocka_unit_test(test_rate_limit),
        cmocka_unit_test(test_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
