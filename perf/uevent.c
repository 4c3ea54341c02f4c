/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go: see uevent.h. */
#include "perf/uevent.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/number.h"

#define CPU_PATH "@/devices/system/cpu/cpu"
#define KERNEL_GROUP 1
/* Buffers of the kernel's own messages are 2 KiB (UEVENT_BUFFER_SIZE). */
#define MESSAGE_MAX 8192

static const struct {
    const char *action;
    enum uevent_change change;
} actions[] = {
    {"online", UEVENT_ONLINE},
    {"add", UEVENT_ONLINE},
    {"offline", UEVENT_OFFLINE},
    {"remove", UEVENT_OFFLINE},
};

int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu)
{
    size_t end = strnlen(message, size);
    const char *path = memmem(message, end, CPU_PATH, strlen(CPU_PATH));
    uint64_t cpu;

    if (!path || end == size)
        return -ENOENT;
    const char *number = path + strlen(CPU_PATH);
    if (number_parse_u64(number, &cpu) < 0 || cpu > UINT32_MAX)
        return -ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        size_t length = strlen(actions[i].action);
        if (length != (size_t)(path - message) || memcmp(message, actions[i].action, length) != 0)
            continue;
        *ret_change = actions[i].change;
        *ret_cpu = (unsigned)cpu;
        return 0;
    }
    return -ENOENT;
}

int uevent_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
    _cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return steal_fd(&fd);
}

int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu)
{
    char message[MESSAGE_MAX];

    for (;;) {
        struct sockaddr_nl sender = {0};
        struct iovec vector = {.iov_base = message, .iov_len = sizeof(message)};
        struct msghdr header = {
            .msg_name = &sender, .msg_namelen = sizeof(sender), .msg_iov = &vector, .msg_iovlen = 1};
        ssize_t n = recvmsg(fd, &header, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        /* Any process may send to a netlink group; port 0 is the kernel. */
        if (sender.nl_pid == 0 && uevent_parse(message, (size_t)n, ret_change, ret_cpu) == 0)
            return 0;
    }
}
