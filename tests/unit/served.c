/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/served.h"
#include "base/cleanup.h"
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_NS (60 * NSEC_PER_SEC)
#define TURN_USEC 1000
#define RECEIVE_SIZE 65536

const struct server_limits served_few = {
    .connections = 6,
    .connections_per_address = 4,
    .memory_per_connection = 8192,
    .request_ns = 300 * NSEC_PER_SEC,
    .keepalive_ns = 300 * NSEC_PER_SEC,
    .response_ns = 300 * NSEC_PER_SEC,
};

void served_init(struct served *served, const struct server_limits *limits)
{
    struct error error;

    *served = (struct served){0};
    fake_service_init(&served->fake, 4);
    assert_int_equal(sd_event_new(&served->event), 0);
    assert_int_equal(server_new(served->event, &served->fake.service, "/metrics", limits, &served->server, &error), 0);
}

int served_listen(struct served *served, const char *address, struct error *error)
{
    char *addresses[] = {(char *)address};

    return server_listen(served->server, addresses, 1, error);
}

void served_start(struct served *served, const struct server_limits *limits, const char *address)
{
    char *hosts[] = {(char *)"a"};
    struct error error;

    served_init(served, limits);
    assert_int_equal(server_trust(served->server, TRUST_LOCAL, hosts, 1), 0);
    assert_int_equal(served_listen(served, address, &error), 0);
}

void served_done(struct served *served)
{
    server_free(served->server);
    sd_event_unref(served->event);
    fake_service_done(&served->fake);
}

int served_setup(void **state)
{
    *state = malloc(sizeof(struct served));
    served_start(*state, NULL, "127.0.0.1:0");
    return 0;
}

int served_teardown(void **state)
{
    served_done(*state);
    free(*state);
    return 0;
}

bool served_turn(const struct served *served, uint64_t *deadline_ns)
{
    uint64_t now;

    sd_event_now(served->event, CLOCK_MONOTONIC, &now);
    now *= NSEC_PER_USEC;
    if (*deadline_ns == 0)
        *deadline_ns = now + PATIENCE_NS;
    sd_event_run(served->event, TURN_USEC);
    return now < *deadline_ns;
}

void served_spin(const struct served *served, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sd_event_run(served->event, TURN_USEC);
}

static int connect_unix(const char *url)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(sscanf(url, "unix:%107s", un.sun_path), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    return fd;
}

int served_connect(const struct served *served, size_t n, unsigned from)
{
    struct sockaddr_in client = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from)};
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *url = server_url(served->server, n);
    unsigned a, b, c, d, port;

    assert_non_null(url);
    if (sscanf(url, "http://%u.%u.%u.%u:%u/", &a, &b, &c, &d, &port) != 5)
        return connect_unix(url);
    in.sin_addr.s_addr = htonl(a << 24 | b << 16 | c << 8 | d);
    in.sin_port = htons((in_port_t)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (from)
        assert_int_equal(bind(fd, (struct sockaddr *)&client, sizeof(client)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    return fd;
}

void served_say(int fd, const char *text)
{
    size_t size = strlen(text);

    assert_int_equal(send(fd, text, size, MSG_NOSIGNAL), size);
}

void served_send(int fd, const char *request, const char *headers)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_appendf(&text, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n", request, headers);
    buffer_append_char(&text, '\0');
    served_say(fd, text.data);
}

int served_ask(const struct served *served, const char *request, const char *headers)
{
    int fd = served_connect(served, 0, 0);

    served_send(fd, request, headers);
    return fd;
}

/* Returns the offset of the body once the response is complete, and 0 before. */
static size_t whole_response(const struct buffer *in, bool head)
{
    const char *end = in->size ? memmem(in->data, in->size, "\r\n\r\n", 4) : NULL;
    size_t body = end ? (size_t)(end + 4 - in->data) : 0;
    const char *length = end && !head ? memmem(in->data, body, "Content-Length: ", 16) : NULL;

    return in->size >= body + (length ? strtoul(length + 16, NULL, 10) : 0) ? body : 0;
}

size_t served_receive(struct served *served, int fd, bool head, struct buffer *in)
{
    uint64_t deadline_ns = 0;
    size_t body;

    while (!(body = whole_response(in, head))) {
        if (!served_turn(served, &deadline_ns))
            fail_msg("waited in vain for a response, after \"%.*s\"", (int)MIN(in->size, 1000), in->data);
        ssize_t n = recv(fd, buffer_reserve(in, RECEIVE_SIZE), RECEIVE_SIZE, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return 0;
        if (n > 0)
            buffer_advance(in, (size_t)n);
    }
    return body;
}

char *served_receive_text(struct served *served, int fd, bool head)
{
    struct buffer in = {0};

    served_receive(served, fd, head, &in);
    return buffer_string(&in);
}

char *served_answer(struct served *served, size_t n, const char *request, const char *headers)
{
    _cleanup_(closep) int fd = served_connect(served, n, 0);

    served_send(fd, request, headers);
    return served_receive_text(served, fd, str_starts(request, "HEAD"));
}

void served_expect(struct served *served, int fd, const char *part)
{
    _cleanup_(freep) char *response = served_receive_text(served, fd, false);

    assert_has(response, part);
}

void served_expect_answer(struct served *served, size_t n, const char *request, const char *headers, const char *part)
{
    _cleanup_(freep) char *response = served_answer(served, n, request, headers);

    assert_has(response, part);
}

void served_expect_end(struct served *served, int fd, struct buffer *in)
{
    _cleanup_(buffer_done) struct buffer ignored = {0};
    uint64_t deadline_ns = 0;
    ssize_t n;

    in = in ? in : &ignored;
    do {
        if (!served_turn(served, &deadline_ns))
            fail_msg("waited in vain for the connection to be closed");
        n = recv(fd, buffer_reserve(in, RECEIVE_SIZE), RECEIVE_SIZE, MSG_DONTWAIT);
        buffer_advance(in, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && errno == EAGAIN));
}

unsigned served_status(const char *response)
{
    unsigned status = 0;

    sscanf(response, "HTTP/1.1 %u ", &status);
    return status;
}

unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    for (const char *at = text; (at = strcasestr(at, part)); at++)
        n++;
    return n;
}

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

void served_check(struct served *served, const struct served_case *the)
{
    _cleanup_(freep) char *response = served_answer(served, 0, the->in, the->headers), *parts = strdup(the->out);
    char *end, *part = parts;

    print_message("%s\n", the->in);
    assert_int_equal(served_status(response), the->out_status);
    while ((end = strstr(part, " ... "))) {
        *end = '\0';
        assert_has(response, part);
        part = end + strlen(" ... ");
    }
    assert_has(response, part);
}

void served_check_all(struct served *served, const struct served_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        served_check(served, &cases[i]);
}
