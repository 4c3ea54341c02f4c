/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with a descriptor: see fd-socket.h. */
#include "base/fd-socket.h"

#include <sys/socket.h>

#include "base/cleanup.h"

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

int fd_socket_send_one(int socket, const void *message, size_t size, int fd)
{
    union control control = {0};
    struct iovec bytes = {(void *)message, size};
    struct msghdr header = {.msg_iov = &bytes, .msg_iovlen = 1};

    if (fd >= 0) {
        header.msg_control = &control;
        header.msg_controllen = sizeof(control);
        *CMSG_FIRSTHDR(&header) = (struct cmsghdr){CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), &fd, sizeof(fd));
    }
    ssize_t n;
    do
        n = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int fd_socket_receive_one(int socket, void *message, size_t size, int *ret_fd)
{
    union control control;
    struct iovec bytes = {message, size};
    /* CMSG_SPACE would have room for a second descriptor, which nobody would close. */
    struct msghdr header = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    _cleanup_(closep) int fd = -1;
    ssize_t n;

    do
        n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    const struct cmsghdr *first = CMSG_FIRSTHDR(&header);
    if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
        first->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(first), sizeof(fd));
    if (n == 0)
        return -EPIPE;
    if ((size_t)n != size || header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return -EBADMSG;
    *ret_fd = steal_fd(&fd);
    return 0;
}
