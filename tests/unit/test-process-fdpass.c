/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors, over a real socket pair. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "process/fdpass.h"
#include "tests/unit/test.h"

static int ends[2];
static uint64_t n_open; /* number of open descriptors before the test */

static int setup(void **state)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(fd_count_open(-1, &n_open), 0);
    return 0;
}

/* Descriptors of a refused packet are closed. */
static int teardown(void **state)
{
    uint64_t n;

    assert_int_equal(fd_count_open(-1, &n), 0);
    assert_int_equal(n, n_open);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void send_copies(const char *packet, size_t n)
{
    struct fd_list list = {.n = n};

    for (size_t i = 0; i < n; i++)
        list.fds[i] = ends[0];
    assert_int_equal(fd_socket_send(ends[0], packet, strlen(packet), &list), 0);
}

TEST_WITH(test_list, setup, teardown)
{
    static const size_t counts[] = {0, 1, 2, FD_LIST_MAX};
    char packet[8];

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        struct fd_list list;
        bool is_short = true;
        send_copies("packet", counts[i]);
        assert_int_equal(fd_socket_receive(ends[1], packet, sizeof(packet), &list, i % 2 ? &is_short : NULL), 6);
        assert_memory_equal(packet, "packet", 6);
        assert_int_equal(list.n, counts[i]);
        assert_true(is_short == (i % 2 == 0));
        for (size_t k = 0; k < list.n; k++)
            assert_int_equal(fcntl(list.fds[k], F_GETFD), FD_CLOEXEC);
        fd_list_close(&list);
        assert_int_equal(list.n, 0);
    }
}

TEST_WITH(test_large, setup, teardown)
{
    struct fd_list list = {0};
    char packet[4];

    send_copies("packet", 2);
    assert_int_equal(fd_socket_receive(ends[1], packet, sizeof(packet), &list, NULL), -EBADMSG);
    assert_int_equal(list.n, 0);
}

/* This process may open only one more file. */
TEST_WITH(test_short, setup, teardown)
{
    struct rlimit limit, low;
    struct fd_list list = {0};
    char packet[8];
    bool is_short = false;

    _cleanup_(closep) int next = dup(ends[0]);
    assert_true(next >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)next + 2, limit.rlim_max};
    for (int i = 0; i < 2; i++) {
        send_copies("packet", 3);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        ssize_t n = fd_socket_receive(ends[1], packet, sizeof(packet), &list, i ? &is_short : NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(n, i ? 6 : -EBADMSG);
        assert_int_equal(list.n, i);
        assert_true(is_short == (i == 1));
        fd_list_close(&list);
    }
}

TEST_WITH(test_one_refused, setup, teardown)
{
    static const struct {
        const char *packet;
        size_t n_fds;
    } cases[] = {{"pack", 1}, {"packets", 1}, {"packet", 2}, {"packet", 3}, {"p", 0}};
    char packet[6];
    int fd = -2;

    if (runs_emulated())
        skip_because("MSG_CTRUNC under qemu");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        send_copies(cases[i].packet, cases[i].n_fds);
        assert_int_equal(fd_socket_receive_one(ends[1], packet, sizeof(packet), &fd), -EBADMSG);
        assert_int_equal(fd, -2);
    }
}

TEST_WITH(test_sizes, setup, teardown)
{
    static const struct {
        const char *packet;
        size_t n_fds;
        ssize_t out;
    } cases[] = {{"pac", 0, -EBADMSG}, {"pac", 1, -EBADMSG},    {"pack", 1, 4},          {"packe", 0, 5},
                 {"packet", 1, 6},     {"packet", 2, -EBADMSG}, {"packets", 1, -EBADMSG}};
    char packet[6];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = -2;
        if (cases[i].n_fds > 1 && runs_emulated()) /* qemu does not set MSG_CTRUNC */
            continue;
        send_copies(cases[i].packet, cases[i].n_fds);
        assert_int_equal(fd_socket_receive_up_to(ends[1], packet, 4, sizeof(packet), &fd), cases[i].out);
        if (cases[i].out < 0) {
            assert_int_equal(fd, -2);
            continue;
        }
        assert_memory_equal(packet, cases[i].packet, (size_t)cases[i].out);
        assert_int_equal(fd >= 0, cases[i].n_fds);
        closep(&fd);
    }
}

TEST_WITH(test_full, setup, teardown)
{
    char packet[6];
    int fd, r = 0, n = 0;

    while ((r = fd_socket_send_one_now(ends[0], "packet", 6, -1)) == 0)
        n++;
    assert_int_equal(r, -EAGAIN);
    assert_true(n > 0);
    assert_int_equal(fd_socket_receive_one(ends[1], packet, sizeof(packet), &fd), 0);
    while (--n > 0)
        assert_int_equal(fd_socket_receive_one(ends[1], packet, sizeof(packet), &fd), 0);
    assert_int_equal(fd_socket_send_one_now(ends[0], "packet", 6, ends[0]), 0);
    assert_int_equal(fd_socket_receive_one(ends[1], packet, sizeof(packet), &fd), 0);
    close(fd);
}

TEST_WITH(test_closed, setup, teardown)
{
    struct fd_list list;
    char packet[6];
    int fd;

    assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    assert_int_equal(fd_socket_receive(ends[1], packet, sizeof(packet), &list, NULL), 0);
    assert_int_equal(fd_socket_receive_one(ends[1], packet, sizeof(packet), &fd), -EPIPE);
    assert_int_equal(fd_socket_send_one(ends[0], "packet", 6, -1), -EPIPE);
}

/*
 * Peeks at packets with and without a descriptor, and at packets of a wrong size. A packet stays queued until it is
 * dropped.
 */
TEST_WITH(test_peek, setup, teardown)
{
    static const struct {
        const char *in;
        size_t in_fds;
        int out;
    } cases[] = {{"packet", 0, 0}, {"packet", 1, 0}, {"packets", 1, -EBADMSG}, {"pack", 0, -EBADMSG}};
    char packet[6];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = -1;
        send_copies(cases[i].in, cases[i].in_fds);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(fd_socket_peek_one(ends[1], packet, sizeof(packet), NULL), cases[i].out);
            assert_int_equal(fd_socket_peek_one(ends[1], packet, sizeof(packet), &fd), cases[i].out);
            assert_true(cases[i].out < 0 || (fd >= 0) == (cases[i].in_fds == 1));
            closep(&fd);
            fd = -1;
        }
        assert_int_equal(fd_socket_drop(ends[1]), 0);
        assert_int_equal(fd_socket_drop(ends[1]), -EAGAIN);
    }
}

TEST_MAIN(NULL, NULL)
