/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that the HTTP server listens on, how they change, and the operators among their clients. */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static void test_listeners(void **state)
{
    char *both[] = {(char *)"127.0.0.1:0", (char *)"127.0.0.2:0"}, *bad[] = {(char *)"127.0.0.3:0", NULL};
    char taken[64], *foreign[] = {(char *)"192.0.2.1:1234"};
    struct served f;
    struct error error;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(f.server, both, 2, &error), 0);
    assert_null(server_url(f.server, 2));
    for (size_t i = 0; i < 2; i++)
        served_expect_answer(&f, i, "GET /-/healthy", "", "HTTP/1.1 200 ");
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
    served_done(&f);
}

#define USER "basic_auth_users: {alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}\n"

/* The log says from where an address can be reached, and whether anybody may ask there. */
static void test_described(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"127.0.0.1:0", "http://127.0.0.1:*/"},
        {"127.0.0.3:0", "http://127.0.0.3:*/"},
        {"[::1]:0", "http://[[]::1]:*/"},
        {"0.0.0.0:0", "http://localhost:*/ and all other IPv4 addresses of this machine, without a password"},
        {"[::]:0", "http://localhost:*/ and all other IPv6 addresses of this machine, without a password"},
        {":0", "http://localhost:*/ and all other addresses of this machine, without a password"},
    };
    char file[] = "/tmp/test-listeners.XXXXXX", text[256];
    struct served f;
    struct error error;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *address = (char *)cases[i].in;
        int r = server_listen(f.server, &address, 1, &error);
        if (r == -EAFNOSUPPORT || (r == -EADDRNOTAVAIL && address[0] == '[')) {
            print_message("left out: this machine has no IPv6: %s\n", error.message);
            continue;
        }
        assert_int_equal(r, 0);
        assert_true(server_describe(f.server, 0, text, sizeof(text)));
        print_message("%s\n", text);
        assert_int_equal(fnmatch(cases[i].out, text, 0), 0);
        assert_false(server_describe(f.server, 1, text, sizeof(text)));
    }
    int fd = mkstemp(file);
    assert_int_equal(write(fd, USER, strlen(USER)), strlen(USER));
    close(fd);
    assert_int_equal(server_secure(f.server, file, &error), 0);
    assert_true(server_describe(f.server, 0, text, sizeof(text)));
    assert_int_equal(fnmatch("http://localhost:*/ and all other addresses of this machine", text, 0), 0);
    unlink(file);
    served_done(&f);
}

/* It answers open requests, and ends its idle connections. */
static void test_retired_listener(void **state)
{
    char *both[] = {(char *)"127.0.0.1:0", (char *)"127.0.0.2:0"};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct served f;
    struct error error;
    unsigned port;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(f.server, both, 2, &error), 0);
    _cleanup_(closep) int waiting = served_connect(&f, 0, 0), idle = served_connect(&f, 0, 0);
    served_send(waiting, "GET /api/v1/rates?seconds=0.2", "");
    served_send(idle, "GET /-/healthy", "");
    served_expect(&f, idle, "HTTP/1.1 200 ");
    assert_int_equal(sscanf(server_url(f.server, 0), "http://127.0.0.1:%u/", &port), 1);
    assert_int_equal(server_listen(f.server, both + 1, 1, &error), 0);
    assert_true(served_is_closed(&f, idle, NSEC_PER_SEC));
    served_expect(&f, waiting, "HTTP/1.1 200 ");
    assert_true(served_is_closed(&f, waiting, NSEC_PER_SEC));
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
    served_start(&f, NULL, "127.0.0.1:0");
    f.fake.reload_userdata = f.server;
    f.fake.on_reload = move;
    _cleanup_(closep) int fd = served_connect(&f, 0, 0);
    served_send(fd, "POST /-/reload", "");
    served_expect(&f, fd, "HTTP/1.1 200 ");
    assert_true(served_is_closed(&f, fd, NSEC_PER_SEC));
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
    served_start(&f, NULL, address);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    served_expect_answer(&f, 0, "POST /-/reload", "", "HTTP/1.1 200 ");
    /* A living one is. */
    served_start(&second, NULL, "127.0.0.1:0");
    assert_int_equal(server_listen(second.server, addresses, 1, &error), -EADDRINUSE);
    assert_has(error.message, path);
    served_done(&second);
    served_done(&f);
    assert_int_equal(stat(path, &status), -1);
    /* And a file that is no socket is not touched. */
    fclose(fopen(path, "w"));
    served_start(&f, NULL, "127.0.0.1:0");
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
    served_start(&f, NULL, "127.0.0.1:0");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listeners),        cmocka_unit_test(test_described),
        cmocka_unit_test(test_retired_listener), cmocka_unit_test(test_reload_retires_its_listener),
        cmocka_unit_test(test_unix_socket),      cmocka_unit_test(test_rebound_name),
        cmocka_unit_test(test_operators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
