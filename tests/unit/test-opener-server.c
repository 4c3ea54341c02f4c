/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's work: what it opens for each request, what it refuses, and that nothing stays open. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/process/fd.h"
#include "tests/unit/opener-rig.h"
#include "tests/unit/test.h"

static void test_group(void **state)
{
    struct perf_event_attr attrs[] = {opener_rig_event(FIRST_ERROR + ENOENT), opener_rig_event(1),
                                      opener_rig_event(FIRST_ERROR + EINVAL), opener_rig_event(2)};
    struct sys_group group = {.attrs = attrs, .n = 4, .pid = -1, .cpu = 3, .leader = -1};
    struct opener_rig *rig = *state;
    int fds[4];

    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_int_equal(fds[0], -ENOENT);
    assert_int_equal(fds[2], -EINVAL);
    opener_rig_assert_opened(fds[1], "config 1 pid -1 cpu 3 leads disabled");
    opener_rig_assert_opened(fds[3], "config 2 pid -1 cpu 3 joins");
}

static void test_whole(void **state)
{
    struct perf_event_attr attrs[] = {opener_rig_event(1), opener_rig_event(FIRST_ERROR + EACCES), opener_rig_event(2)};
    struct sys_group group = {.attrs = attrs, .n = 3, .pid = -1, .leader = -1, .whole = true};
    struct opener_rig *rig = *state;
    int fds[3];

    rig->daemon.open_group(&rig->daemon, &group, fds);
    opener_rig_assert_opened(fds[0], "config 1 pid -1 cpu 0 leads disabled");
    assert_int_equal(fds[1], -EACCES);
    assert_int_equal(fds[2], -ECANCELED);
}

static void test_single_and_leader(void **state)
{
    struct perf_event_attr attr = opener_rig_event(5);
    struct opener_rig *rig = *state;
    char expected[128];

    int leader = rig->daemon.perf_event_open(&rig->daemon, &attr, 0, -1, -1, 0);
    int sibling = rig->daemon.perf_event_open(&rig->daemon, &attr, 0, -1, leader, 0);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 joins", (int)getpid());
    opener_rig_assert_opened(sibling, expected);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 leads disabled", (int)getpid());
    opener_rig_assert_opened(leader, expected);
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, 1, -1, -1, 0), -EBADRQC);
    attr.sample_period = 1;
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0), -EUNATCH);
    attr.sample_type = PERF_SAMPLE_REGS_USER;
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0), -EBADRQC);
}

/* Texts that are too long for one packet go into several, and the events are still one group. */
static void test_long_texts(void **state)
{
    struct perf_event_attr attrs[8];
    const char *texts[8];
    struct sys_group group = {.attrs = attrs, .texts = texts, .n = 8, .pid = -1, .leader = -1};
    char name[4001], expected[512];
    struct opener_permitted_event permitted[] = {{.type = KPROBE, .text = name},
                                                 {.type = KPROBE, .config = 1, .text = name}};
    struct opener_rig *rig = *state;
    int fds[8];

    memset(name, 'f', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < 8; i++) {
        attrs[i] = opener_rig_event(i % 2);
        attrs[i].type = KPROBE;
        texts[i] = name;
    }
    rig->server.rules.permissions.events = permitted;
    rig->server.rules.permissions.n_events = ARRAY_SIZE(permitted);
    rig->daemon.open_group(&rig->daemon, &group, fds);
    for (size_t i = 0; i < 8; i++) {
        snprintf(expected, sizeof(expected), "config %zu pid -1 cpu 0 %s%.100s", i % 2, i ? "joins" : "leads disabled",
                 name);
        opener_rig_assert_opened(fds[i], expected);
    }
    assert_int_equal(rig->n_sealed, 8);
}

/* The opener finds a program first and gives the kernel that file: a link on its path may change meanwhile. */
static void test_programs(void **state)
{
    char directory[] = "/tmp/test-opener-server.XXXXXX", path[64];
    struct perf_event_attr attr = opener_rig_event(1);
    const char *text = path;
    const struct sys_group group = {.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1};
    struct opener_permitted_event event = {.type = KPROBE, .config = 1, .text = path};
    struct opener_rig *rig = *state;
    int fd;

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/program", directory);
    attr.type = KPROBE;
    rig->server.rules.permissions.events = &event;
    rig->server.rules.permissions.n_events = 1;
    rig->daemon.open_group(&rig->daemon, &group, &fd);
    assert_int_equal(fd, -ENOENT);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    rig->daemon.open_group(&rig->daemon, &group, &fd);
    char found[256] = "";
    assert_true(fd >= 0 && pread(fd, found, sizeof(found) - 1, 0) > 0);
    assert_non_null(strstr(found, "leads disabled/proc/self/fd/"));
    close(fd);
    assert_int_equal(chmod(directory, 0777), 0);
    rig->daemon.open_group(&rig->daemon, &group, &fd);
    assert_int_equal(fd, -EBADRQC);
    unlink(path);
    rmdir(directory);
}

/* A tracepoint that refuses the opener's filter could get a stranger's filter, so it is not handed out. */
static void test_seal(void **state)
{
    struct perf_event_attr attrs[] = {opener_rig_event(1), opener_rig_event(2), opener_rig_event(3)};
    struct sys_group group = {.attrs = attrs, .n = 3, .pid = -1, .leader = -1};
    struct opener_permitted_event permitted[] = {{.type = PERF_TYPE_TRACEPOINT, .config = 1},
                                                 {.type = PERF_TYPE_TRACEPOINT, .config = 2}};
    struct opener_rig *rig = *state;
    int fds[3];

    attrs[0].type = attrs[1].type = PERF_TYPE_TRACEPOINT;
    rig->server.rules.permissions.events = permitted;
    rig->server.rules.permissions.n_events = ARRAY_SIZE(permitted);
    rig->daemon.open_group(&rig->daemon, &group, fds);
    opener_rig_assert_opened(fds[0], "config 1 pid -1 cpu 0 leads disabled");
    opener_rig_assert_opened(fds[1], "config 2 pid -1 cpu 0 joins");
    opener_rig_assert_opened(fds[2], "config 3 pid -1 cpu 0 joins");
    assert_int_equal(rig->n_sealed, 2);
    rig->takes_no_filter = true;
    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_int_equal(fds[0], -EBADRQC);
    assert_int_equal(fds[1], -EBADRQC);
    assert_true(fds[2] >= 0);
    close(fds[2]);
}

static void test_cgroups(void **state)
{
    struct perf_event_attr attr = opener_rig_event(1);
    struct opener_rig *rig = *state;
    static const char *const refused[] = {"/tmp", "/", "/proc/self/stat", "/sys/kernel"};

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(closep) int fd = open(refused[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, fd, 0, -1, PERF_FLAG_PID_CGROUP), -EXDEV);
    }
}

/* Any packet gets a reply, with descriptors beside it or not, and no descriptor stays open. */
static void test_garbage(void **state)
{
    static const char garbage[OPENER_PACKET_MAX + 100] = "garbage";
    static const size_t sizes[] = {1, 7, 8, 48, 4096, OPENER_PACKET_MAX, sizeof(garbage)};
    struct perf_event_attr attr = opener_rig_event(1);
    struct opener_rig *rig = *state;
    uint64_t before, after;

    assert_int_equal(fd_count_open(-1, &before), 0);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (size_t n = 0; n <= 20; n += 5) {
            struct fd_list fds = {.n = n}, given;
            struct opener_reply reply;
            assert_int_equal(fd_socket_send(rig->client.socket, garbage, sizes[i], &fds), 0);
            assert_true(fd_socket_receive(rig->client.socket, &reply, sizeof(reply), &given, NULL) > 0);
            assert_int_equal(reply.error, -EBADMSG);
            assert_int_equal(given.n, 0);
        }
    opener_rig_assert_opened(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0),
                             "config 1 pid -1 cpu 0 leads disabled");
    /* The server closes its copies after the reply. */
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fd_count_open(-1, &after), 0);
        if (after == before)
            break;
        usleep(1000);
    }
    assert_int_equal(after, before);
}

/* Where too many descriptors of this user are in flight (unix(7)), the reply says so and the opener goes on. */
static void test_cannot_be_sent(void **state)
{
    struct fd_list many = {.n = FD_LIST_MAX};
    struct rlimit before, less;
    struct opener_rig *rig = *state;
    int sockets[2];

    rig->powerless = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    less.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    assert_int_equal(fd_socket_send(sockets[0], "", 1, &many), 0);
    assert_int_equal(opener_rig_open(rig, 1), -ETOOMANYREFS);
    assert_int_equal(opener_rig_open(rig, FIRST_ERROR + ENOENT), -ENOENT);
    /* Descriptors that are no longer in flight do not count. */
    close(sockets[1]);
    close(sockets[0]);
    int fd = opener_rig_open(rig, 1);
    for (int i = 0; i < 1000 && fd == -ETOOMANYREFS; i++) {
        usleep(1000);
        fd = opener_rig_open(rig, 1);
    }
    opener_rig_assert_opened(fd, "config 1 pid -1 cpu 0 leads disabled");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_group, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_whole, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_single_and_leader, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_long_texts, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_programs, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_seal, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_cgroups, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_garbage, opener_rig_setup, opener_rig_teardown),
        cmocka_unit_test_setup_teardown(test_cannot_be_sent, opener_rig_setup, opener_rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
