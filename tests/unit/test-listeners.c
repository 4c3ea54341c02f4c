/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that the HTTP server listens on, how they change, and sockets that a service manager passes from
 * descriptor 3 on (sd_listen_fds(3)). tests/e2e/local-user.sh covers which local users are operators.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/socket.h"
#include "systemd/service-manager.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

/* --- sockets passed by the service manager */

static int listening(const char *host)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, host, &in.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static int listening_anywhere(void)
{
    return listening("0.0.0.0");
}

static int listening_unix(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)), 0);
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
    {datagram, -EINVAL, "is not a listening stream socket"},
    {silent, -EINVAL, "is not a listening stream socket"},
    {a_file, -ENOTSOCK, "is not a socket"},
    {closed, -EBADF, "is not a socket"},
};

/* If an address is in use, the message contains a command that shows which process listens on it. */
TEST(test_busy)
{
    char directory[] = "/tmp/test-socket-XXXXXX", local[64], any[64], path[64], of_port[128], of_path[128];
    int fd = -1, second = -1;
    struct socket_file file = {0}, none = {0};
    _cleanup_(closep) int held = listening("127.0.0.1");
    _cleanup_(freep) char *url = NULL, *own = NULL;
    struct error error;
    unsigned port;

    assert_int_equal(socket_adopt(held, &fd, &url, &error), 0);
    assert_int_equal(sscanf(url, "http://127.0.0.1:%u/", &port), 1);
    close(fd);
    snprintf(local, sizeof(local), "127.0.0.1:%u", port);
    snprintf(any, sizeof(any), ":%u", port);
    snprintf(path, sizeof(path), "unix:%s/http.sock", mkdtemp(directory));
    snprintf(of_port, sizeof(of_port), "\"ss -ltnp sport = :%u\" shows which; stop it or choose another port", port);
    snprintf(of_path, sizeof(of_path), "\"ss -lxp src %s\" shows which; stop it or choose another path", path + 5);
    const struct {
        const char *in, *out;
    } busy[] = {{local, of_port}, {any, of_port}, {path, of_path}};
    assert_int_equal(socket_listen(path, &fd, &own, &file, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
        assert_int_equal(socket_listen(busy[i].in, &second, &own, &none, &error), -EADDRINUSE);
        assert_has(error.message, busy[i].out);
    }
    close(fd);
    socket_file_done(&file);
    rmdir(directory);
}

static const struct {
    int (*in[4])(void);
    bool in_other_pid; /* LISTEN_PID is the pid of another process */
    int out;
    size_t out_n;
    const char *in_names; /* LISTEN_FDNAMES; NULL: unset, as by systemd before 227 */
    int out_stored;       /* the descriptor from systemd's file descriptor store; 0: none */
} handed[] = {
    {{NULL}, false, 0, 0, NULL, 0},
    {{listening_anywhere}, false, 0, 1, NULL, 0},
    {{listening_anywhere, listening_unix, listening_anywhere}, false, 0, 3, NULL, 0},
    {{listening_anywhere}, true, 0, 0, NULL, 0},
    {{listening_anywhere, silent}, false, -EINVAL, 0, NULL, 0},
    {{datagram}, false, -EINVAL, 0, NULL, 0},
    {{a_file}, false, -EINVAL, 0, NULL, 0},
    {{listening_anywhere, a_file}, false, 0, 1, "perfcountd.socket:history", 4},
    {{listening_anywhere, a_file}, false, -EINVAL, 0, "perfcountd.socket:other", 0},
};

/* Runs in a child process, since the descriptor numbers matter. Exits with 0 if all results are as expected. */
static void sim(size_t i)
{
    struct sockets sockets = {.stored = -1};
    struct error error = {0};
    char text[16];
    int n = 0;

    for (int fd = 3; fd < 32; fd++)
        close(fd);
    for (; n < 4 && handed[i].in[n]; n++)
        if (handed[i].in[n]() != 3 + n)
            _exit(2);
    snprintf(text, sizeof(text), "%d", handed[i].in_other_pid ? 1 : (int)getpid());
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof(text), "%d", n);
    if (n > 0)
        setenv("LISTEN_FDS", text, 1);
    if (handed[i].in_names)
        setenv("LISTEN_FDNAMES", handed[i].in_names, 1);
    int r = sockets_take(&sockets, &error);
    if (r != handed[i].out || sockets.n != handed[i].out_n || (r < 0 && !error.message[0]))
        _exit(3);
    for (size_t k = 0; k < sockets.n; k++)
        if (sockets.fds[k] != 3 + (int)k || !(fcntl(sockets.fds[k], F_GETFD) & FD_CLOEXEC))
            _exit(4);
    if (!handed[i].in_other_pid && getenv("LISTEN_FDS"))
        _exit(5);
    if (sockets.stored != (handed[i].out_stored ? handed[i].out_stored : -1))
        _exit(7);
    sockets_done(&sockets);
    _exit(!handed[i].in_other_pid && n > 0 && fcntl(3, F_GETFD) >= 0 ? 6 : 0);
}

TEST(test_handed_over)
{
    for (size_t i = 0; i < ARRAY_SIZE(handed); i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            sim(i);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("case %zu: status %x", i, (unsigned)status);
    }
}

/* --- listeners */

/* Requests on passed sockets are served, configured addresses are ignored, and invalid sockets change nothing. */
SERVED_TEST(test_adopted)
{
    struct served *f = *state;
    int fds[] = {listening("127.0.0.1"), -1};
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        fds[1] = bad[i].make();
        assert_int_equal(server_adopt(f->server, fds, 2, &error), bad[i].code);
        assert_has(error.message, bad[i].sentence);
        assert_null(server_url(f->server, 1));
        close(fds[1]);
    }
    assert_int_equal(server_adopt(f->server, fds, 1, &error), 0);
    assert_int_equal(close(fds[0]), -1);
    assert_int_equal(served_listen(f, "127.0.0.2:0", &error), 0);
    assert_has(server_url(f->server, 0), "http://127.0.0.1:");
    assert_null(server_url(f->server, 1));
    served_expect_answer(f, 0, HEALTHY, "", OK);
}

SERVED_TEST(test_listeners)
{
    char *both[] = {(char *)"127.0.0.1:0", (char *)"127.0.0.2:0"}, *one_bad[] = {(char *)"127.0.0.3:0", NULL};
    _cleanup_(closep) int holder = listening("127.0.0.1");
    struct served *f = *state;
    struct sockaddr_in in;
    socklen_t size = sizeof(in);
    struct error error;
    char taken[64];

    assert_int_equal(server_listen(f->server, both, 2, &error), 0);
    assert_null(server_url(f->server, 2));
    for (size_t i = 0; i < 2; i++)
        served_expect_answer(f, i, HEALTHY, "", OK);
    /* A failure leaves the listeners unchanged. */
    getsockname(holder, (struct sockaddr *)&in, &size);
    snprintf(taken, sizeof(taken), "127.0.0.1:%u", ntohs(in.sin_port));
    one_bad[1] = taken;
    assert_int_equal(server_listen(f->server, one_bad, 2, &error), -EADDRINUSE);
    assert_has(error.message, taken);
    assert_has(error.message, "EADDRINUSE");
    assert_int_equal(served_listen(f, "192.0.2.1:1234", &error), -EADDRNOTAVAIL);
    assert_has(error.message, "192.0.2.1:1234");
    served_expect_answer(f, 0, HEALTHY, "", OK);
}

#define USER "basic_auth_users: {alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}\n"

/* The log says which clients can reach an address, and whether a password is required. */
SERVED_TEST(test_described)
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
    struct served *f = *state;
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = served_listen(f, cases[i].in, &error);
        if (r == -EAFNOSUPPORT || (r == -EADDRNOTAVAIL && cases[i].in[0] == '[')) {
            print_message("left out: this machine has no IPv6: %s\n", error.message);
            continue;
        }
        assert_int_equal(r, 0);
        assert_true(server_describe(f->server, 0, text, sizeof(text)));
        print_message("%s\n", text);
        assert_int_equal(fnmatch(cases[i].out, text, 0), 0);
        assert_false(server_describe(f->server, 1, text, sizeof(text)));
    }
    int fd = mkstemp(file);
    assert_int_equal(write(fd, USER, strlen(USER)), strlen(USER));
    close(fd);
    assert_int_equal(server_secure(f->server, file, &error), 0);
    assert_true(server_describe(f->server, 0, text, sizeof(text)));
    assert_int_equal(fnmatch("http://localhost:*/ and all other addresses of this machine", text, 0), 0);
    unlink(file);
}

/* A removed listener finishes the requests in progress and closes its idle connections. */
SERVED_TEST(test_retired_listener)
{
    char *both[] = {(char *)"127.0.0.1:0", (char *)"127.0.0.2:0"};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct served *f = *state;
    struct error error;
    unsigned port;

    assert_int_equal(server_listen(f->server, both, 2, &error), 0);
    _cleanup_(closep) int waiting = served_ask(f, "GET /api/v1/rates?seconds=0.5", "");
    _cleanup_(closep) int idle = served_ask(f, HEALTHY, "");
    served_expect(f, idle, OK);
    served_wait(f, f->fake.fresh_reads >= 1);
    assert_int_equal(sscanf(server_url(f->server, 0), "http://127.0.0.1:%u/", &port), 1);
    assert_int_equal(server_listen(f->server, both + 1, 1, &error), 0);
    served_expect_end(f, idle, NULL);
    served_expect(f, waiting, OK);
    served_expect_end(f, waiting, NULL);
    _cleanup_(closep) int refused = socket(AF_INET, SOCK_STREAM, 0);
    in.sin_port = htons((in_port_t)port);
    assert_int_equal(connect(refused, (struct sockaddr *)&in, sizeof(in)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    served_expect_answer(f, 0, HEALTHY, "", OK);
}

static int move(struct fake_service *fake)
{
    struct error error;

    return served_listen(fake->reload_userdata, "127.0.0.2:0", &error);
}

/* A reload that removes the address on which it was requested is still answered. */
SERVED_TEST(test_reload_retires_its_listener)
{
    struct served *f = *state;
    _cleanup_(closep) int fd = served_ask(f, "POST /-/reload", "");

    f->fake.reload_userdata = f;
    f->fake.on_reload = move;
    served_expect(f, fd, OK);
    served_expect_end(f, fd, NULL);
    served_expect_answer(f, 0, HEALTHY, "", OK);
}

SERVED_TEST(test_unix_socket)
{
    char directory[] = "/tmp/test-listeners.XXXXXX", address[80];
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct served f, *second = *state;
    struct error error;
    struct stat status;

    assert_non_null(mkdtemp(directory));
    snprintf(un.sun_path, sizeof(un.sun_path), "%s/http.sock", directory);
    snprintf(address, sizeof(address), "unix:%s/http.sock", directory);
    /* The socket of a dead process is replaced. */
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (struct sockaddr *)&un, sizeof(un)), 0);
    close(stale);
    served_start(&f, NULL, address);
    assert_int_equal(stat(un.sun_path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    served_expect_answer(&f, 0, "POST /-/reload", "", OK);
    /* The socket of a live process is not replaced. */
    assert_int_equal(served_listen(second, address, &error), -EADDRINUSE);
    assert_has(error.message, un.sun_path);
    served_done(&f);
    assert_int_equal(stat(un.sun_path, &status), -1);
    /* A file that is not a socket is left untouched. */
    fclose(fopen(un.sun_path, "w"));
    assert_int_equal(served_listen(second, address, &error), -ENOTSOCK);
    assert_int_equal(unlink(un.sun_path), 0);
    assert_int_equal(rmdir(directory), 0);
}

TEST_MAIN(NULL, NULL)
