/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets that are handed over. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "http/server.h"
#include "http/socket.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/test.h"

static int listening(const char *host)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, host, &in.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static int listening_unix(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    unlink(path);
    strcpy(un.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static int datagram(void)
{
    return socket(AF_INET, SOCK_DGRAM, 0);
}

static int silent(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int a_file(void)
{
    return open("/dev/null", O_RDONLY);
}

static int closed(void)
{
    return 1000;
}

static const struct {
    int (*make)(void);
    int code;
    const char *sentence;
} bad[] = {
    {datagram, -EINVAL, "does not listen for streams"},
    {silent, -EINVAL, "does not listen for streams"},
    {a_file, -ENOTSOCK, "is not a socket"},
    {closed, -EBADF, "is not a socket"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error error = {0};
        int fd = bad[i].make(), own = -1;
        char *url = NULL;

        assert_int_equal(socket_adopt(fd, &own, &url, &error), bad[i].code);
        assert_non_null(strstr(error.message, bad[i].sentence));
        assert_int_equal(own, -1);
        assert_null(url);
        close(fd);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *host, *url;
    } cases[] = {{"127.0.0.1", "http://127.0.0.1:%u/"}, {"0.0.0.0", "http://localhost:%u/"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(closep) int fd = listening(cases[i].host), own = -1;
        _cleanup_(freep) char *url = NULL;
        struct error error;
        unsigned port;

        assert_int_equal(socket_adopt(fd, &own, &url, &error), 0);
        assert_int_equal(sscanf(url, cases[i].url, &port), 1);
        assert_true(fcntl(own, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(own, F_GETFD) & FD_CLOEXEC);
    }
}

/* The process that has the address is named, with a name that does nothing to a terminal. */
static void test_busy(void **state)
{
    char directory[] = "/tmp/test-socket-XXXXXX", local[64], any[64], path[64], expected[64];
    int fd = -1, second = -1;
    struct socket_file file = {0}, none = {0};
    _cleanup_(closep) int held = listening("127.0.0.1");
    _cleanup_(freep) char *url = NULL, *own = NULL;
    struct error error;
    unsigned port;

    (void)state;
    prctl(PR_SET_NAME, "a\x1b[31m b\xff");
    snprintf(expected, sizeof(expected), ": process %d (a?[31m b?) listens there; stop it or choose another ",
             getpid());
    assert_int_equal(socket_adopt(held, &fd, &url, &error), 0);
    assert_int_equal(sscanf(url, "http://127.0.0.1:%u/", &port), 1);
    close(fd);
    snprintf(local, sizeof(local), "127.0.0.1:%u", port);
    snprintf(any, sizeof(any), ":%u", port);
    snprintf(path, sizeof(path), "unix:%s/http.sock", mkdtemp(directory));
    const char *const busy[] = {local, any, path};
    assert_int_equal(socket_listen(path, &fd, &own, &file, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
        assert_int_equal(socket_listen(busy[i], &second, &own, &none, &error), -EADDRINUSE);
        print_message("%s\n", error.message);
        assert_non_null(strstr(error.message, expected));
    }
    close(fd);
    socket_file_done(&file);
    rmdir(directory);
    prctl(PR_SET_NAME, "test-socket");
}

static char *ask(sd_event *event, int domain, const struct sockaddr *address, socklen_t size)
{
    static const char request[] = "GET /-/healthy HTTP/1.0\r\n\r\n";
    static char answer[1024];
    _cleanup_(closep) int fd = socket(domain, SOCK_STREAM, 0);
    size_t n = 0;

    assert_int_equal(connect(fd, address, size), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    for (ssize_t got = -1; got != 0;) {
        sd_event_run(event, 10000);
        got = recv(fd, answer + n, sizeof(answer) - 1 - n, MSG_DONTWAIT);
        n += got > 0 ? (size_t)got : 0;
    }
    answer[n] = '\0';
    return answer;
}

/* Both are served, addresses do not matter any more, and the file of the unix socket stays. */
static void test_server(void **state)
{
    char directory[] = "/tmp/test-socket-XXXXXX", url[64] = "unix:", *path = url + strlen(url);
    int fds[] = {listening("127.0.0.1"), -1}, wrong[] = {listening("127.0.0.1"), datagram()};
    char *elsewhere[] = {(char *)"127.0.0.1:0"};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct sockaddr_in in;
    socklen_t size = sizeof(in);
    struct fake_service fake;
    struct server *server;
    struct error error;
    sd_event *event;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(url) - strlen("unix:"), "%s/socket", directory);
    fds[1] = listening_unix(path);
    strcpy(un.sun_path, path);
    getsockname(fds[0], (struct sockaddr *)&in, &size);
    fake_service_init(&fake, 1);
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(server_new(event, &fake.service, "/metrics", NULL, &server, &error), 0);
    assert_int_equal(server_adopt(server, wrong, 2, &error), -EINVAL);
    assert_null(server_url(server, 0));
    assert_int_equal(close(wrong[0]) + close(wrong[1]), 0);
    assert_int_equal(server_adopt(server, fds, 2, &error), 0);
    assert_int_equal(close(fds[0]), -1);
    assert_non_null(strstr(server_url(server, 0), "http://127.0.0.1:"));
    assert_string_equal(server_url(server, 1), url);
    assert_int_equal(server_listen(server, elsewhere, 1, &error), 0);
    assert_non_null(server_url(server, 1));
    assert_null(server_url(server, 2));
    assert_non_null(strstr(ask(event, AF_INET, (struct sockaddr *)&in, sizeof(in)), " 200 OK"));
    assert_non_null(strstr(ask(event, AF_UNIX, (struct sockaddr *)&un, sizeof(un)), " 200 OK"));
    server_free(server);
    sd_event_unref(event);
    fake_service_done(&fake);
    assert_int_equal(unlink(path) + rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
