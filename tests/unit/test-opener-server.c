/* SPDX-License-Identifier: Apache-2.0 */
/* Client and server over a real socket pair; the kernel behind the server gives files of memory for events. */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd-socket.h"
#include "base/fd.h"
#include "opener/client.h"
#include "opener/server.h"
#include "tests/unit/test.h"

#define KPROBE 6
/* A config below this is an event; another is the errno with which it fails. */
#define FIRST_ERROR 1000
/* Opens when it may. */
#define SLOW 900

static uint32_t counting_types[] = {PERF_TYPE_HARDWARE}, probing_types[] = {KPROBE};

/* What the fake kernel was asked for, as text in what it opened. */
struct rig {
    struct opener_client client;
    struct opener_server server;
    struct sys daemon, kernel;
    pthread_t thread;
    int n_files;    /* that the kernel behind the server opened */
    int ended;      /* what opener_server_run() returned */
    int gate[2];    /* of a slow event: a byte lets it go on */
    bool powerless; /* it drops its capabilities first: those of its thread */
    int n_sealed;   /* descriptors that were given a filter */
    bool takes_no_filter;
};

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    assert_int_equal(syscall(SYS_capset, &header, none), 0);
}

static int fake_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags)
{
    struct rig *rig = (struct rig *)((char *)sys - offsetof(struct rig, kernel));
    char text[256], byte;

    (void)flags;
    if (rig->powerless)
        drop_capabilities();
    if (attr->config == SLOW)
        assert_int_equal(read(rig->gate[0], &byte, 1), 1);
    if (attr->config >= FIRST_ERROR)
        return -(int)(attr->config - FIRST_ERROR);
    int fd = memfd_create("event", MFD_CLOEXEC);
    snprintf(text, sizeof(text), "config %d pid %d cpu %d %s%s%.100s", (int)attr->config, (int)pid, cpu,
             group_fd < 0 ? "leads" : "joins", attr->disabled ? " disabled" : "",
             attr->type == KPROBE ? (const char *)(uintptr_t)attr->config1 : "");
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static int fake_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    struct rig *rig = (struct rig *)((char *)sys - offsetof(struct rig, kernel));

    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(request, PERF_EVENT_IOC_SET_FILTER);
    assert_string_equal((const char *)argument, "common_pid >= 0");
    rig->n_sealed++;
    return rig->takes_no_filter ? -EINVAL : 0;
}

static void *run(void *userdata)
{
    struct rig *rig = userdata;

    rig->ended = opener_server_run(&rig->server);
    close(rig->server.socket);
    return NULL;
}

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    int sockets[2];

    assert_non_null(rig);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    sys_init(&rig->kernel);
    sys_init(&rig->daemon);
    rig->kernel.perf_event_open = fake_open;
    rig->kernel.ioctl = fake_ioctl;
    rig->client.socket = sockets[0];
    rig->client.rules = (struct opener_rules){.daemon = getpid()};
    rig->server = (struct opener_server){
        .sys = &rig->kernel,
        .socket = sockets[1],
        .rules = {.daemon = getpid(),
                  .counting = {counting_types, ARRAY_SIZE(counting_types)},
                  .probing = {probing_types, ARRAY_SIZE(probing_types)}},
        .cgroups = "/sys/fs/cgroup",
    };
    opener_client_attach(&rig->client, &rig->daemon);
    assert_int_equal(pthread_create(&rig->thread, NULL, run, rig), 0);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    opener_client_done(&rig->client);
    pthread_join(rig->thread, NULL);
    assert_int_equal(rig->ended, 0);
    free(rig);
    return 0;
}

static struct perf_event_attr event(uint64_t config)
{
    return (struct perf_event_attr){.size = sizeof(struct perf_event_attr), .config = config, .disabled = 1};
}

static void assert_opened(int fd, const char *expected)
{
    char text[256] = "";

    assert_true(fd >= 0);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
    assert_string_equal(text, expected);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void test_group(void **state)
{
    struct perf_event_attr attrs[] = {event(FIRST_ERROR + ENOENT), event(1), event(FIRST_ERROR + EINVAL), event(2)};
    struct sys_group group = {.attrs = attrs, .n = 4, .pid = -1, .cpu = 3, .leader = -1};
    struct rig *rig = *state;
    int fds[4];

    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_int_equal(fds[0], -ENOENT);
    assert_int_equal(fds[2], -EINVAL);
    assert_opened(fds[1], "config 1 pid -1 cpu 3 leads disabled");
    assert_opened(fds[3], "config 2 pid -1 cpu 3 joins");
}

static void test_whole(void **state)
{
    struct perf_event_attr attrs[] = {event(1), event(FIRST_ERROR + EACCES), event(2)};
    struct sys_group group = {.attrs = attrs, .n = 3, .pid = -1, .leader = -1, .whole = true};
    struct rig *rig = *state;
    int fds[3];

    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_opened(fds[0], "config 1 pid -1 cpu 0 leads disabled");
    assert_int_equal(fds[1], -EACCES);
    assert_int_equal(fds[2], -ECANCELED);
}

static void test_single_and_leader(void **state)
{
    struct perf_event_attr attr = event(5);
    struct rig *rig = *state;
    char expected[128];

    int leader = rig->daemon.perf_event_open(&rig->daemon, &attr, 0, -1, -1, 0);
    int sibling = rig->daemon.perf_event_open(&rig->daemon, &attr, 0, -1, leader, 0);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 joins", (int)getpid());
    assert_opened(sibling, expected);
    snprintf(expected, sizeof(expected), "config 5 pid %d cpu -1 leads disabled", (int)getpid());
    assert_opened(leader, expected);
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, 1, -1, -1, 0), -EBADRQC);
    attr.sample_period = 1;
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0), -EUNATCH);
    attr.sample_type = PERF_SAMPLE_REGS_USER;
    assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0), -EBADRQC);
}

/* Texts that do not go into one packet go into several, and the group is one all the same. */
static void test_long_texts(void **state)
{
    struct perf_event_attr attrs[8];
    const char *texts[8];
    struct sys_group group = {.attrs = attrs, .texts = texts, .n = 8, .pid = -1, .leader = -1};
    char name[4001], expected[512];
    struct opener_permitted_event permitted[] = {{.type = KPROBE, .text = name},
                                                 {.type = KPROBE, .config = 1, .text = name}};
    struct rig *rig = *state;
    int fds[8];

    memset(name, 'f', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < 8; i++) {
        attrs[i] = event(i % 2);
        attrs[i].type = KPROBE;
        texts[i] = name;
    }
    rig->server.rules.permissions.events = permitted;
    rig->server.rules.permissions.n_events = ARRAY_SIZE(permitted);
    rig->daemon.open_group(&rig->daemon, &group, fds);
    for (size_t i = 0; i < 8; i++) {
        snprintf(expected, sizeof(expected), "config %zu pid -1 cpu 0 %s%.100s", i % 2, i ? "joins" : "leads disabled",
                 name);
        assert_opened(fds[i], expected);
    }
    assert_int_equal(rig->n_sealed, 8);
}

/* A program is found first, and the kernel gets what was found: a link on its path may be another one by then. */
static void test_programs(void **state)
{
    char directory[] = "/tmp/test-opener-server.XXXXXX", path[64];
    struct perf_event_attr attr = event(1);
    const char *text = path;
    const struct sys_group group = {.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1};
    struct opener_permitted_event grant = {.type = KPROBE, .config = 1, .text = path};
    struct rig *rig = *state;
    int fd;

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/program", directory);
    attr.type = KPROBE;
    rig->server.rules.permissions.events = &grant;
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

/* A tracepoint that does not take the filter of the opener's would take a stranger's: it is not given out. */
static void test_seal(void **state)
{
    struct perf_event_attr attrs[] = {event(1), event(2), event(3)};
    struct sys_group group = {.attrs = attrs, .n = 3, .pid = -1, .leader = -1};
    struct opener_permitted_event permitted[] = {{.type = PERF_TYPE_TRACEPOINT, .config = 1},
                                                 {.type = PERF_TYPE_TRACEPOINT, .config = 2}};
    struct rig *rig = *state;
    int fds[3];

    attrs[0].type = attrs[1].type = PERF_TYPE_TRACEPOINT;
    rig->server.rules.permissions.events = permitted;
    rig->server.rules.permissions.n_events = ARRAY_SIZE(permitted);
    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_opened(fds[0], "config 1 pid -1 cpu 0 leads disabled");
    assert_opened(fds[1], "config 2 pid -1 cpu 0 joins");
    assert_opened(fds[2], "config 3 pid -1 cpu 0 joins");
    assert_int_equal(rig->n_sealed, 2);
    rig->takes_no_filter = true;
    rig->daemon.open_group(&rig->daemon, &group, fds);
    assert_int_equal(fds[0], -EBADRQC);
    assert_int_equal(fds[1], -EBADRQC);
    assert_true(fds[2] >= 0);
    close(fds[2]);
}

/* The answer is there before it is asked for, so that nothing else opens or closes meanwhile. */
static void test_no_room(void **state)
{
    struct perf_event_attr attrs[] = {event(1), event(2), event(3), event(4)};
    struct sys_group group = {.attrs = attrs, .n = 4, .pid = -1, .leader = -1};
    struct opener_client client = {.socket = -1};
    struct opener_reply reply = {.n = 4};
    struct fd_list some = {.n = 4};
    struct rlimit before, less;
    int sockets[2], fds[4];
    struct sys sys;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(fd_socket_send(sockets[1], &reply, offsetof(struct opener_reply, results[4]), &some), 0);
    client.socket = sockets[0];
    sys_init(&sys);
    opener_client_attach(&client, &sys);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    less = before;
    less.rlim_cur = (rlim_t)next + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    sys.open_group(&sys, &group, fds);
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

static void test_cgroups(void **state)
{
    struct perf_event_attr attr = event(1);
    struct rig *rig = *state;
    static const char *const refused[] = {"/tmp", "/", "/proc/self/stat", "/sys/kernel"};

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(closep) int fd = open(refused[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(rig->daemon.perf_event_open(&rig->daemon, &attr, fd, 0, -1, PERF_FLAG_PID_CGROUP), -EXDEV);
    }
}

static void test_files(void **state)
{
    struct fd_list none = {0}, given;
    struct opener_reply reply;
    struct rig *rig = *state;

    /* What it may read it reads itself; what no rule knows is not asked for. */
    int fd = rig->daemon.open_file(&rig->daemon, "/proc/self/stat", 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rig->daemon.open_file(&rig->daemon, "/does/not/exist", 0), -ENOENT);
    /* Sent all the same. */
    _cleanup_(buffer_done) struct buffer packet = {0};
    assert_int_equal(opener_request_write_file("/etc/shadow", &packet), 0);
    assert_int_equal(fd_socket_send(rig->client.socket, packet.data, packet.size, &none), 0);
    assert_true(fd_socket_receive(rig->client.socket, &reply, sizeof(reply), &given, NULL) > 0);
    assert_int_equal(reply.error, -EBADRQC);
    assert_int_equal(given.n, 0);
}

static int fake_open_file(struct sys *sys, const char *path, int flags)
{
    struct rig *rig = (struct rig *)((char *)sys - offsetof(struct rig, kernel));

    rig->n_files++;
    return sys_open_file(sys, path, flags);
}

/* With samples: what the opener reads more of is asked for first, and opened here where it is of no help. */
static void test_better_asked_for(void **state)
{
    struct rig *rig = *state;

    rig->kernel.open_file = fake_open_file;
    for (int sampling = 0; sampling <= 1; sampling++) {
        rig->server.rules.permissions.sampling = rig->client.rules.permissions.sampling = sampling;
        for (int i = 0; i < 2; i++) {
            static const char *const paths[] = {"/proc/kallsyms", "/proc/self/maps"};
            _cleanup_(closep) int fd = rig->daemon.open_file(&rig->daemon, paths[i], 0);
            assert_true(fd >= 0);
        }
        assert_int_equal(rig->n_files, sampling);
    }
    shutdown(rig->client.socket, SHUT_RDWR);
    _cleanup_(closep) int fd = rig->daemon.open_file(&rig->daemon, "/proc/kallsyms", 0);
    assert_true(fd >= 0);
    assert_int_equal(rig->n_files, 1);
}

/* Whatever is sent, descriptors with it or not: there is an answer, and nothing stays open. */
/* What strangers may have put there the daemon does not open, and the opener looks at first. */
static void test_only_asked_for(void **state)
{
    struct rig *rig = *state;
    char path[64], link[64], events[256];

    rig->server.rules.permissions.sampling = rig->client.rules.permissions.sampling = true;
    snprintf(link, sizeof(link), "/tmp/perf-%d.map", (int)getpid());
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)getpid(), link);
    assert_int_equal(mkfifo(link, 0600), 0);
    _cleanup_(closep) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, link, IN_OPEN) >= 0);
    assert_int_equal(rig->daemon.open_file(&rig->daemon, path, 0), -EPERM);
    assert_int_equal(read(watch, events, sizeof(events)), -1);
    assert_int_equal(unlink(link), 0);
    _cleanup_(closep) int file = open(link, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    _cleanup_(closep) int given = rig->daemon.open_file(&rig->daemon, path, O_PATH);
    assert_true(given >= 0);
    assert_int_equal(fcntl(given, F_GETFL) & (O_PATH | O_ACCMODE), O_RDONLY);
    assert_int_equal(unlink(link), 0);
    shutdown(rig->client.socket, SHUT_RDWR);
    assert_int_equal(rig->daemon.open_file(&rig->daemon, path, 0), -EPIPE);
}

static void test_garbage(void **state)
{
    static const char garbage[OPENER_PACKET_MAX + 100] = "garbage";
    static const size_t sizes[] = {1, 7, 8, 48, 4096, OPENER_PACKET_MAX, sizeof(garbage)};
    struct perf_event_attr attr = event(1);
    struct rig *rig = *state;
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
    assert_opened(rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0),
                  "config 1 pid -1 cpu 0 leads disabled");
    /* The server closes its copies behind the answer. */
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fd_count_open(-1, &after), 0);
        if (after == before)
            break;
        usleep(1000);
    }
    assert_int_equal(after, before);
}

static void test_lost(void **state)
{
    struct perf_event_attr attrs[] = {event(1), event(2)};
    struct sys_group group = {.attrs = attrs, .n = 2, .pid = -1, .leader = -1};
    struct rig *rig = *state;
    int fds[2];

    shutdown(rig->client.socket, SHUT_RDWR);
    for (size_t i = 0; i < 3; i++) {
        rig->daemon.open_group(&rig->daemon, &group, fds);
        assert_int_equal(fds[0], -EPIPE);
        assert_int_equal(fds[1], -EPIPE);
        assert_true(rig->client.lost);
    }
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int open_one(struct rig *rig, uint64_t config)
{
    struct perf_event_attr attr = event(config);

    return rig->daemon.perf_event_open(&rig->daemon, &attr, -1, 0, -1, 0);
}

/* One that hangs is waited for once; when it goes on, what it opened for nobody is closed, and all is as before. */
static void test_late(void **state)
{
    struct rig *rig = *state;
    uint64_t before, after;

    assert_int_equal(pipe2(rig->gate, O_CLOEXEC), 0);
    assert_int_equal(fd_count_open(-1, &before), 0);
    for (int i = 0; i < 2; i++) {
        double start = seconds();
        assert_int_equal(open_one(rig, SLOW), -ETIMEDOUT);
        double waited = seconds() - start;
        assert_true(waited > 1.9 && waited < 8);
        start = seconds();
        for (int k = 0; k < 100; k++)
            assert_int_equal(open_one(rig, 1), -ETIMEDOUT);
        assert_true(seconds() - start < 1);
        assert_true(rig->client.late && !rig->client.lost);
        assert_int_equal(opener_client_take_late_reply(&rig->client), 0);
        assert_int_equal(write(rig->gate[1], "", 1), 1);
        struct pollfd answer = {.fd = rig->client.socket, .events = POLLIN};
        assert_int_equal(poll(&answer, 1, 10000), 1);
        if (i == 0)
            assert_int_equal(opener_client_take_late_reply(&rig->client), 1);
        assert_opened(open_one(rig, 7), "config 7 pid -1 cpu 0 leads disabled");
        assert_false(rig->client.late);
        assert_int_equal(opener_client_take_late_reply(&rig->client), 0);
    }
    /* The server closes its copies behind the answer. */
    for (int i = 0; i < 1000 && (fd_count_open(-1, &after) < 0 || after != before); i++)
        usleep(1000);
    assert_int_equal(after, before);
    close(rig->gate[0]);
    close(rig->gate[1]);
}

static void test_heard_unasked(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(opener_client_take_late_reply(&rig->client), 0);
    /* What it answers to this, the client has not asked for. */
    assert_int_equal(fd_socket_send(rig->client.socket, "?", 1, &(struct fd_list){0}), 0);
    struct pollfd answer = {.fd = rig->client.socket, .events = POLLIN};
    assert_int_equal(poll(&answer, 1, 10000), 1);
    assert_int_equal(opener_client_take_late_reply(&rig->client), -EPIPE);
    assert_int_equal(open_one(rig, 1), -EPIPE);
    /* To the server a socket that is closed with something unread is an error. */
    struct opener_reply reply;
    assert_true(recv(rig->client.socket, &reply, sizeof(reply), 0) > 0);
}

/* Too many descriptors of this user are under way (unix(7)): it is said, and no more than that. */
static void test_cannot_be_sent(void **state)
{
    struct fd_list many = {.n = FD_LIST_MAX};
    struct rlimit before, less;
    struct rig *rig = *state;
    int sockets[2];

    rig->powerless = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    less.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    assert_int_equal(fd_socket_send(sockets[0], "", 1, &many), 0);
    assert_int_equal(open_one(rig, 1), -ETOOMANYREFS);
    assert_int_equal(open_one(rig, FIRST_ERROR + ENOENT), -ENOENT);
    /* What is under way no more does not count. */
    close(sockets[1]);
    close(sockets[0]);
    int fd = open_one(rig, 1);
    for (int i = 0; i < 1000 && fd == -ETOOMANYREFS; i++) {
        usleep(1000);
        fd = open_one(rig, 1);
    }
    assert_opened(fd, "config 1 pid -1 cpu 0 leads disabled");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_group, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_single_and_leader, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_programs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_seal, setup, teardown),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test_setup_teardown(test_cgroups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_better_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_heard_unasked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cannot_be_sent, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
