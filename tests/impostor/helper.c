/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that do as they are ordered: see helper.h. */
#include "tests/impostor/helper.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/util.h"

static long become(uid_t user)
{
    if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0)
        return -errno;
    /* As a process that was started by a shell is. */
    return prctl(PR_SET_DUMPABLE, 1) < 0 ? -errno : 0;
}

static long replace(const char *path)
{
    return unlink(path) < 0 || symlink("/bin/sh", path) < 0 ? -errno : 0;
}

#define CALLS 20
#define RIGHT "/impostor/no-such-file"
#define WRONG "/impostor/another-file"

/* Of a group's leader: the number of members and two times come first (perf_event_open(2)). */
static uint64_t oracle_count(int fd)
{
    uint64_t values[64] = {0};

    return read(fd, values, sizeof(values)) > 0 ? values[3] : 0;
}

static uint64_t oracle_count_calls(int fd, const char *name)
{
    uint64_t before = oracle_count(fd);

    for (int i = 0; i < CALLS; i++) {
        int opened = open(name, O_RDONLY | O_CLOEXEC);
        if (opened >= 0)
            close(opened);
    }
    return oracle_count(fd) - before;
}

/*
 * The attack by which a filter on syscalls:sys_enter_openat reads memory: the kernel compares what stands at the
 * address that a program gave as a file's name, and the count says whether it was equal. The count of matches that
 * only the contents of memory can explain, or -errno. Texts of user space want ".ustring" since Linux 5.18; before that
 * both were the same.
 */
static long oracle_try(int fd)
{
    static const char *const filters[] = {"filename.ustring ~ \"" RIGHT "\"", "filename ~ \"" RIGHT "\""};
    cpu_set_t set;
    long got = -EINVAL;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof(set), &set);
    for (size_t i = 0; i < ARRAY_SIZE(filters) && got < 0 && got != -EEXIST; i++)
        got = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[i]) < 0 ? -errno : 0;
    if (got < 0)
        return got;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    uint64_t right = oracle_count_calls(fd, RIGHT), wrong = oracle_count_calls(fd, WRONG);
    return right >= CALLS && wrong < CALLS ? (long)right : -ENODATA;
}

static long obey(const struct order *order, int fd)
{
    switch ((enum order_kind)order->kind) {
    case ORDER_BECOME:
        return become(order->number);
    case ORDER_POWER:
        return power_try(order, fd);
    case ORDER_ORACLE:
        return oracle_try(fd);
    case ORDER_REPLACE:
        return replace(order->path);
    case ORDER_ADDRESS:
        return map_find_address(fd, order->number);
    case ORDER_PROCESS:
        return intrusion_try((enum intrusion)order->number, order->pid);
    }
    return -EBADMSG;
}

static void serve(int socket)
{
    struct order order;

    for (;;) {
        _cleanup_(fd_list_close) struct fd_list fds = {0};
        if (fd_socket_receive(socket, &order, sizeof(order), &fds, NULL) != sizeof(order))
            return;
        int64_t got = obey(&order, fds.n ? fds.fds[0] : -1);
        if (fd_socket_send(socket, &got, sizeof(got), &(struct fd_list){0}) < 0)
            return;
    }
}

int helper_start(void)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(sockets[0]);
        signal(SIGIO, SIG_IGN);
        serve(sockets[1]);
        _exit(EXIT_SUCCESS);
    }
    close(sockets[1]);
    if (pid > 0)
        return sockets[0];
    close(sockets[0]);
    return -errno;
}

static int address_of(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(ret->sun_path))
        return -ENAMETOOLONG;
    strcpy(ret->sun_path, path);
    return 0;
}

int helper_connect(const char *path)
{
    struct sockaddr_un address;
    int r = address_of(path, &address);
    _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (r < 0)
        return r;
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return steal_fd(&fd);
}

int helper_listen(const char *path)
{
    struct sockaddr_un address;
    int r = address_of(path, &address);
    _cleanup_(closep) int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (r < 0)
        return r;
    unlink(path);
    if (listening < 0 || bind(listening, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0666) < 0 || listen(listening, 1) < 0)
        return -errno;
    _cleanup_(closep) int fd = accept(listening, NULL, NULL);
    if (fd < 0)
        return -errno;
    signal(SIGIO, SIG_IGN);
    serve(fd);
    return 0;
}

long helper_order(int socket, const struct order *order, int fd)
{
    struct fd_list fds = {.n = fd >= 0, .fds = {fd}}, none;
    int64_t got;
    int r = fd_socket_send(socket, order, sizeof(*order), &fds);

    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(socket, &got, sizeof(got), &none, NULL);
    return n == sizeof(got) ? (long)got : n < 0 ? (long)n : -EPIPE;
}
