/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors over a real socket pair: what arrives, and that nothing that is refused stays open. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/process/fd.h"
#include "tests/unit/test.h"

struct rig {
    int ends[2];
    uint64_t n_open;
};

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, rig->ends), 0);
    assert_int_equal(fd_count_open(-1, &rig->n_open), 0);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    uint64_t n_open;

    assert_int_equal(fd_count_open(-1, &n_open), 0);
    assert_int_equal(n_open, rig->n_open);
    close(rig->ends[0]);
    close(rig->ends[1]);
    free(rig);
    return 0;
}

static void send_copies(const struct rig *rig, const char *packet, size_t n)
{
    struct fd_list list = {.n = n};

    for (size_t i = 0; i < n; i++)
        list.fds[i] = rig->ends[0];
    assert_int_equal(fd_socket_send(rig->ends[0], packet, strlen(packet), &list), 0);
}

static void test_list(void **state)
{
    static const size_t counts[] = {0, 1, 2, FD_LIST_MAX};
    const struct rig *rig = *state;
    char packet[8];

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        struct fd_list list;
        bool is_short = true;
        send_copies(rig, "packet", counts[i]);
        assert_int_equal(fd_socket_receive(rig->ends[1], packet, sizeof(packet), &list, i % 2 ? &is_short : NULL), 6);
        assert_memory_equal(packet, "packet", 6);
        assert_int_equal(list.n, counts[i]);
        assert_true(is_short == (i % 2 == 0));
        for (size_t k = 0; k < list.n; k++)
            assert_int_equal(fcntl(list.fds[k], F_GETFD), FD_CLOEXEC);
        fd_list_close(&list);
        assert_int_equal(list.n, 0);
    }
}

static void test_large(void **state)
{
    const struct rig *rig = *state;
    struct fd_list list = {0};
    char packet[4];

    send_copies(rig, "packet", 2);
    assert_int_equal(fd_socket_receive(rig->ends[1], packet, sizeof(packet), &list, NULL), -EBADMSG);
    assert_int_equal(list.n, 0);
}

/* This process may open no more files than one. */
static void test_short(void **state)
{
    const struct rig *rig = *state;
    struct rlimit limit, low;
    struct fd_list list = {0};
    char packet[8];
    bool is_short = false;

    _cleanup_(closep) int next = dup(rig->ends[0]);
    assert_true(next >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)next + 2, limit.rlim_max};
    for (int i = 0; i < 2; i++) {
        send_copies(rig, "packet", 3);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        ssize_t n = fd_socket_receive(rig->ends[1], packet, sizeof(packet), &list, i ? &is_short : NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(n, i ? 6 : -EBADMSG);
        assert_int_equal(list.n, i);
        assert_true(is_short == (i == 1));
        fd_list_close(&list);
    }
}

static void test_one(void **state)
{
    const struct rig *rig = *state;
    char packet[6];

    for (int i = 0; i < 2; i++) {
        int fd = -2;
        assert_int_equal(fd_socket_send_one(rig->ends[0], "packet", 6, i ? rig->ends[0] : -1), 0);
        assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), 0);
        assert_memory_equal(packet, "packet", 6);
        assert_true(i ? fd >= 0 : fd == -1);
        if (i)
            close(fd);
    }
}

static void test_one_refused(void **state)
{
    static const struct {
        const char *packet;
        size_t n_fds;
    } cases[] = {{"pack", 1}, {"packets", 1}, {"packet", 2}, {"packet", 3}, {"p", 0}};
    const struct rig *rig = *state;
    char packet[6];
    int fd = -2;

    if (runs_emulated())
        skip_because("qemu gives recvmsg(2) more room for descriptors than was asked for, and loses MSG_CTRUNC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        send_copies(rig, cases[i].packet, cases[i].n_fds);
        assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), -EBADMSG);
        assert_int_equal(fd, -2);
    }
}

static void test_full(void **state)
{
    const struct rig *rig = *state;
    char packet[6];
    int fd, r = 0, n = 0;

    while ((r = fd_socket_send_one_now(rig->ends[0], "packet", 6, -1)) == 0)
        n++;
    assert_int_equal(r, -EAGAIN);
    assert_true(n > 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), 0);
    while (--n > 0)
        assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), 0);
    assert_int_equal(fd_socket_send_one_now(rig->ends[0], "packet", 6, rig->ends[0]), 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), 0);
    close(fd);
}

static void test_closed(void **state)
{
    const struct rig *rig = *state;
    struct fd_list list;
    char packet[6];
    int fd;

    assert_int_equal(shutdown(rig->ends[0], SHUT_WR), 0);
    assert_int_equal(fd_socket_receive(rig->ends[1], packet, sizeof(packet), &list, NULL), 0);
    assert_int_equal(fd_socket_receive_one(rig->ends[1], packet, sizeof(packet), &fd), -EPIPE);
    assert_int_equal(fd_socket_send_one(rig->ends[0], "packet", 6, -1), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_short, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
