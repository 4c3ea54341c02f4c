/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/opener-rig.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

struct opener_rig rig;

static uint32_t counting_types[] = {PERF_TYPE_HARDWARE}, probing_types[] = {KPROBE};

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    assert_int_equal(syscall(SYS_capset, &header, none), 0);
}

static int fake_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags)
{
    char text[256], byte;
    int ends[2];

    if (rig.powerless)
        drop_capabilities();
    if (attr->config == SLOW)
        assert_int_equal(read(rig.gate[0], &byte, 1), 1);
    if (attr->config >= FIRST_ERROR)
        return -(int)(attr->config - FIRST_ERROR);
    assert_int_equal(pipe2(ends, O_CLOEXEC),
                     0); /* unlike a regular file, a pipe can be registered with epoll(7), as an event can */
    snprintf(text, sizeof(text), "config %d pid %d cpu %d %s%s%.100s", (int)attr->config, (int)pid, cpu,
             group_fd < 0 ? "leads" : "joins", attr->disabled ? " disabled" : "",
             attr->type == KPROBE ? (const char *)(uintptr_t)attr->config1 : "");
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    return ends[0];
}

static int fake_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{

    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(request, PERF_EVENT_IOC_SET_FILTER);
    assert_string_equal((const char *)argument, "common_pid >= 0");
    rig.n_sealed++;
    return rig.takes_no_filter ? -EINVAL : 0;
}

static void *run(void *userdata)
{
    rig.ended = opener_server_run(&rig.server);
    close(rig.server.socket);
    return NULL;
}

int opener_rig_setup(void **state)
{
    int sockets[2];

    memset(&rig, 0, sizeof(rig));
    assert_int_equal(fd_count_open(-1, &rig.n_open), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    rig.stragglers.waited_max_ns = rig.programs.waited_max_ns = PATIENT_NS;
    sys_init(&rig.kernel);
    sys_init(&rig.daemon);
    wrap_calls(&rig.kernel, (struct sys_calls){.perf_event_open = fake_open, .ioctl = fake_ioctl});
    rig.client.socket = sockets[0];
    rig.client.rules = (struct opener_rules){.daemon = getpid(), .permissions.state_files = true};
    rig.server = (struct opener_server){
        .sys = &rig.kernel,
        .socket = sockets[1],
        .reader = -1,
        .rules = {.daemon = getpid(),
                  .counting = {counting_types, ARRAY_SIZE(counting_types)},
                  .probing = {probing_types, ARRAY_SIZE(probing_types)},
                  .n_cpus = 6,
                  .permissions.limits = {RIG_CPU_LIMIT, RIG_BPF_LIMIT, RIG_THREAD_LIMIT, RIG_THREADS_LIMIT}},
        .cgroups = "/sys/fs/cgroup",
        .events = &rig.events,
        .bpf_programs = &rig.bpf_programs,
        .stragglers = &rig.stragglers,
        .programs = &rig.programs,
    };
    assert_int_equal(event_quota_open(&rig.events, &rig.server.rules), 0);
    assert_int_equal(quota_open(&rig.bpf_programs, 1), 0);
    opener_client_attach(&rig.client, &(struct privileged_calls){&rig.daemon, &rig.bpf, &rig.state_files});
    assert_int_equal(pthread_create(&rig.thread, NULL, run, NULL), 0);
    return 0;
}

int opener_rig_teardown(void **state)
{
    uint64_t n_open;

    opener_client_done(&rig.client);
    pthread_join(rig.thread, NULL);
    assert_int_equal(rig.ended, 0);
    event_quota_close(&rig.events);
    quota_close(&rig.bpf_programs);
    assert_int_equal(fd_count_open(-1, &n_open), 0);
    assert_int_equal(n_open, rig.n_open);
    return 0;
}

struct perf_event_attr opener_rig_event(uint64_t config)
{
    return (struct perf_event_attr){.size = sizeof(struct perf_event_attr), .config = config, .disabled = 1};
}

void opener_rig_assert_opened(int fd, const char *expected)
{
    char text[256] = "";

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, expected);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

int opener_rig_open(uint64_t config)
{
    struct perf_event_attr attr = opener_rig_event(config);

    return sys_perf_event_open(&rig.daemon, &attr, -1, 0, -1, 0);
}

void opener_rig_open_group(const struct sys_group *group, int *fds)
{
    sys_open_group(&rig.daemon, group, fds);
}

void opener_rig_permit(struct opener_permitted_event *events, size_t n)
{
    rig.server.rules.permissions.events = events;
    rig.server.rules.permissions.n_events = n;
}
