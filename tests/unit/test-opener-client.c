/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the opener: files, late replies, and an opener that has exited. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/fdpass.h"
#include "tests/unit/opener-rig.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

/* The reply is sent before the request, so that no other code opens or closes descriptors in between. */
TEST(test_no_room)
{
    struct perf_event_attr attrs[] = {opener_rig_event(1), opener_rig_event(2), opener_rig_event(3),
                                      opener_rig_event(4)};
    struct sys_group group = {.attrs = attrs, .n = 4, .pid = -1, .leader = -1};
    struct opener_client client = {.socket = -1};
    struct opener_reply reply = {.n = 4};
    struct fd_list some = {.n = 4};
    struct rlimit before, less;
    int sockets[2], fds[4];
    struct bpf_calls bpf;
    struct sys sys;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(fd_socket_send(sockets[1], &reply, offsetof(struct opener_reply, results[4]), &some), 0);
    client.socket = sockets[0];
    sys_init(&sys);
    opener_client_attach(&client, &(struct privileged_calls){&sys, &bpf, NULL});
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    less = before;
    less.rlim_cur = (rlim_t)next + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    sys_open_group(&sys, &group, fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(fds[0], next);
    assert_int_equal(fds[1], next + 1);
    assert_int_equal(fds[2], -EMFILE);
    assert_int_equal(fds[3], -EMFILE);
    assert_false(client.lost);
    close(fds[0]);
    close(fds[1]);
    opener_client_done(&client);
    close(sockets[1]);
}

TEST_WITH_OPENER(test_files)
{
    struct fd_list none = {0}, given;
    struct opener_reply reply;

    /* The daemon opens files that it may read itself, and does not ask for files that no rule permits. */
    int fd = sys_open_file(&rig.daemon, "/proc/self/stat", 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sys_open_file(&rig.daemon, "/does/not/exist", 0), -ENOENT);
    /* The opener, too, refuses a request for a file that no rule permits. */
    _cleanup_(buffer_done) struct buffer packet = {0};
    assert_int_equal(opener_request_write_file("/etc/shadow", &packet), 0);
    assert_int_equal(fd_socket_send(rig.client.socket, packet.data, packet.size, &none), 0);
    assert_true(fd_socket_receive(rig.client.socket, &reply, sizeof(reply), &given, NULL) > 0);
    assert_int_equal(reply.error, -EBADRQC);
    assert_int_equal(given.n, 0);
}

static int fake_open_file(struct sys *sys, const char *path, int flags)
{
    rig.n_files++;
    return sys_own_open_file(sys, path, flags);
}

/*
 * With sampling, the daemon first asks the opener for files that show more to a privileged reader, and opens them
 * itself only if that fails.
 */
TEST_WITH_OPENER(test_asks_opener_first)
{
    wrap_calls(&rig.kernel, (struct sys_calls){.open_file = fake_open_file});
    for (int sampling = 0; sampling <= 1; sampling++) {
        rig.server.rules.permissions.sampling = rig.client.rules.permissions.sampling = sampling;
        for (int i = 0; i < 2; i++) {
            static const char *const paths[] = {"/proc/kallsyms", "/proc/self/maps"};
            _cleanup_(closep) int fd = sys_open_file(&rig.daemon, paths[i], 0);
            assert_true(fd >= 0);
        }
        assert_int_equal(rig.n_files, sampling);
    }
    shutdown(rig.client.socket, SHUT_RDWR);
    _cleanup_(closep) int fd = sys_open_file(&rig.daemon, "/proc/kallsyms", 0);
    assert_true(fd >= 0);
    assert_int_equal(rig.n_files, 1);
}

TEST_WITH_OPENER(test_lost)
{
    struct perf_event_attr attrs[] = {opener_rig_event(1), opener_rig_event(2)};
    struct sys_group group = {.attrs = attrs, .n = 2, .pid = -1, .leader = -1};
    int fds[2];

    shutdown(rig.client.socket, SHUT_RDWR);
    for (size_t i = 0; i < 3; i++) {
        opener_rig_open_group(&group, fds);
        assert_int_equal(fds[0], -EPIPE);
        assert_int_equal(fds[1], -EPIPE);
        assert_true(rig.client.lost);
    }
}

/*
 * The client waits only once for an opener that hangs. When the opener resumes, its late descriptors are closed and
 * requests work again.
 */
TEST_WITH_OPENER(test_late)
{
    assert_int_equal(pipe2(rig.gate, O_CLOEXEC), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(opener_rig_open(SLOW), -ETIMEDOUT);
        /* If each request waited as long as the first one, the loop would take more than a minute. */
        alarm(60);
        for (int k = 0; k < 100; k++)
            assert_int_equal(opener_rig_open(1), -ETIMEDOUT);
        alarm(0);
        assert_int_equal(opener_client_check(&rig.client), -ETIMEDOUT);
        assert_true(rig.client.late && !rig.client.lost);
        assert_int_equal(opener_client_take_late_reply(&rig.client), 0);
        assert_int_equal(write(rig.gate[1], "", 1), 1);
        struct pollfd answer = {.fd = rig.client.socket, .events = POLLIN};
        assert_int_equal(poll(&answer, 1, 60000), 1);
        if (i == 0)
            assert_int_equal(opener_client_take_late_reply(&rig.client), 1);
        opener_rig_assert_opened(opener_rig_open(7), "config 7 pid -1 cpu 0 leads disabled");
        assert_false(rig.client.late);
        assert_int_equal(opener_client_check(&rig.client), 0);
        assert_int_equal(opener_client_take_late_reply(&rig.client), 0);
    }
    close(rig.gate[0]);
    close(rig.gate[1]);
}

TEST_WITH_OPENER(test_unrequested_reply)
{
    assert_int_equal(opener_client_take_late_reply(&rig.client), 0);
    /* The server replies to this packet, although the client is not waiting for a reply. */
    assert_int_equal(fd_socket_send(rig.client.socket, "?", 1, &(struct fd_list){0}), 0);
    struct pollfd answer = {.fd = rig.client.socket, .events = POLLIN};
    assert_int_equal(poll(&answer, 1, 60000), 1);
    assert_int_equal(opener_client_take_late_reply(&rig.client), -EPIPE);
    assert_int_equal(opener_rig_open(1), -EPIPE);
    /* Without this read the server would get an error, since the socket would be closed with unread data. */
    struct opener_reply reply;
    assert_true(recv(rig.client.socket, &reply, sizeof(reply), 0) > 0);
}

TEST_MAIN(NULL, NULL)
