/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes over TCP to the complete HTTP server: libmicrohttpd, the checks of heads and hosts, the routes
 * with their parameters, and the documents. Each response is valid, and never an internal error. A client that is not
 * an operator cannot reload or pause. Afterwards, an ordinary client is served.
 *
 * The first byte is the size of the pieces in which the rest is sent (0: at once). If the lowest bit of the second byte
 * is set, the client then shuts down its sending side.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "base/buffer.h"
#include "http/server.h"
#include "process/child.h"
#include "sampler/sampler.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake-service.h"

enum { TURNS_MAX = 2000, IDLE_TURNS = 3, ANSWER_MAX = 1 << 20, CHECK_EACH = 256, PATIENCE_TURNS = 20000 };

static struct {
    struct fake_service fake;
    sd_event *event;
    struct server *server;
    struct sampler *sampler;
    struct child symboliser;
    struct sys sys;
    struct config_sampler config;
    struct sockaddr_in address;
    unsigned n;
} world;

static struct sampler *sampler_of(void *userdata)
{
    (void)userdata;
    return world.sampler;
}

static void leave(void)
{
    server_free(world.server);
    sampler_free(world.sampler);
    fake_service_done(&world.fake);
    sd_event_unref(world.event);
}

static void enter(void)
{
    char *addresses[] = {(char *)"127.0.0.1:0"};
    struct error error;
    unsigned port;

    fake_service_init(&world.fake, 4);
    world.fake.service.sampler = sampler_of;
    sys_init(&world.sys);
    assert(sd_event_new(&world.event) >= 0);
    assert(sampler_new(&world.sys, world.event, &world.symboliser, NULL, &world.sampler) == 0);
    world.config.event = (char *)"cpu-clock";
    sampler_configure(world.sampler, NULL, &world.config, TRUST_OPERATOR);
    assert(server_new(world.event, &world.fake.service, "/metrics", NULL, &world.server, &error) == 0);
    assert(server_listen(world.server, addresses, 1, &error) == 0);
    assert(sscanf(server_url(world.server, 0), "http://127.0.0.1:%u/", &port) == 1);
    world.address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((in_port_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    atexit(leave);
}

/* The connection is reset when it is closed, so that its port is not left in TIME_WAIT. */
static int client_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    assert(fd >= 0 && connect(fd, (struct sockaddr *)&world.address, sizeof(world.address)) == 0);
    return fd;
}

/* Returns 1 if something happened, 0 if not, and -1 if the server has closed the connection. */
static int turn(int fd, struct buffer *answer)
{
    char bytes[16384];
    int happened = sd_event_run(world.event, 0);
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0 && answer->size < ANSWER_MAX)
        buffer_append(answer, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        return -1;
    return happened > 0 || n > 0;
}

static void converse(const uint8_t *data, size_t size, size_t piece, bool ends, struct buffer *answer)
{
    int fd = client_connect(), r = 0;

    for (size_t at = 0; at < size && r >= 0; at += piece) {
        if (send(fd, data + at, MIN(piece, size - at), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        r = turn(fd, answer);
    }
    if (ends)
        shutdown(fd, SHUT_WR);
    for (unsigned i = 0, idle = 0; i < TURNS_MAX && idle < IDLE_TURNS && r >= 0; i++) {
        r = turn(fd, answer);
        idle = r > 0 ? 0 : idle + 1;
    }
    close(fd);
    for (unsigned i = 0; i < TURNS_MAX && sd_event_run(world.event, 0) > 0; i++)
        continue;
}

static void check_answer(struct buffer *answer)
{
    unsigned status;

    if (answer->size == 0)
        return;
    buffer_append_char(answer, '\0');
    assert(!answer->failed && sscanf(answer->data, "HTTP/1.%*1[01] %3u ", &status) == 1);
    assert(status >= 100 && status < 600 && status != 500);
    assert(strstr(answer->data, "\r\n\r\n") || status == 100);
}

/* Checks that an ordinary client is served. */
static void check_service(void)
{
    static const char request[] = "GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    _cleanup_(buffer_done) struct buffer answer = {0};
    int fd = client_connect();

    assert(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1);
    for (unsigned i = 0; i < PATIENCE_TURNS && answer.size == 0; i++) {
        assert(turn(fd, &answer) >= 0);
        sd_event_run(world.event, 100);
    }
    assert(answer.size > 13 && memcmp(answer.data, "HTTP/1.1 200 ", 13) == 0);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(buffer_done) struct buffer answer = {0};

    if (size < 3)
        return 0;
    if (!world.server)
        enter();
    converse(data + 2, size - 2, data[0] ? data[0] : size, data[1] & 1, &answer);
    check_answer(&answer);
    assert(world.fake.reloads == 0 && world.fake.pauses == 0);
    if (world.n++ % CHECK_EACH == 0)
        check_service();
    return 0;
}

/* See fuzz-head.c. */
const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
    return "interceptor_via_lib:libmicrohttpd\n";
}
