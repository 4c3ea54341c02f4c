/* SPDX-License-Identifier: Apache-2.0 */
/* One packet with descriptors beside it: see message.h. */
#include "opener/message.h"

#include <sys/socket.h>
#include <unistd.h>

union control {
    char bytes[CMSG_SPACE(OPENER_MESSAGE_FDS_MAX * sizeof(int))];
    struct cmsghdr align;
};

void fd_list_close(struct fd_list *fds)
{
    while (fds->n > 0)
        close(fds->fds[--fds->n]);
}

int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds)
{
    union control control = {.bytes = {0}};
    struct iovec vector = {.iov_base = (void *)packet, .iov_len = size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

    if (fds->n) {
        control.align = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(fds->n * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds->fds, fds->n * sizeof(int));
    }
    for (;;) {
        if (sendmsg(socket, &message, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

static void take_fds(struct msghdr *message, struct fd_list *fds)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = MIN((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), OPENER_MESSAGE_FDS_MAX - fds->n);
        memcpy(fds->fds + fds->n, CMSG_DATA(header), n * sizeof(int));
        fds->n += n;
    }
}

ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short)
{
    union control control;
    struct iovec vector = {.iov_base = packet, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct fd_list fds = {0};
    ssize_t n;

    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    take_fds(&message, &fds);
    if (message.msg_flags & MSG_TRUNC || (message.msg_flags & MSG_CTRUNC && !ret_short)) {
        fd_list_close(&fds);
        return -EBADMSG;
    }
    if (ret_short)
        *ret_short = message.msg_flags & MSG_CTRUNC;
    *ret_fds = fds;
    return n;
}
