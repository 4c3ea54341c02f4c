/* SPDX-License-Identifier: Apache-2.0 */
#include "process/fdpass.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES_MAX 1000 /* maximum number of recvmsg(2) calls while the kernel is out of memory */

union control {
    char bytes[CMSG_SPACE(FD_LIST_MAX * sizeof(int))];
    struct cmsghdr align;
};

void fd_list_close(struct fd_list *list)
{
    while (list->n > 0)
        close(list->fds[--list->n]);
}

static int packet_send(int socket, const void *packet, size_t size, const struct fd_list *fds, int flags)
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
        if (sendmsg(socket, &message, MSG_NOSIGNAL | flags) >= 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds)
{
    return packet_send(socket, packet, size, fds, 0);
}

static void fd_list_take(struct fd_list *list, struct msghdr *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = MIN((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), FD_LIST_MAX - list->n);
        memcpy(list->fds + list->n, CMSG_DATA(header), n * sizeof(int));
        list->n += n;
    }
}

/*
 * Returns whether to retry after this error: always on EINTR, and up to TRIES_MAX times while the kernel is out of
 * memory.
 */
static bool receives_again(int error, unsigned *tries)
{
    if (error == EINTR)
        return true;
    if ((error != ENOMEM && error != ENOBUFS) || ++*tries >= TRIES_MAX)
        return false;
    sched_yield();
    return true;
}

/*
 * Receives at most `fds_max` descriptors; the kernel discards the rest and sets MSG_CTRUNC. The control length must be
 * CMSG_LEN(), since CMSG_SPACE() rounds up and could leave room for one more descriptor.
 */
static ssize_t packet_receive(int socket, void *packet, size_t size, size_t fds_max, int flags, struct fd_list *ret_fds,
                              bool *ret_short)
{
    union control control;
    struct iovec vector = {.iov_base = packet, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = fds_max ? &control : NULL,
        .msg_controllen = fds_max ? CMSG_LEN(fds_max * sizeof(int)) : 0,
    };
    struct fd_list fds = {0};
    unsigned tries = 0;
    ssize_t n;

    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    while (n < 0 && receives_again(errno, &tries));
    if (n < 0)
        return -errno;
    fd_list_take(&fds, &message);
    if (message.msg_flags & MSG_TRUNC || (message.msg_flags & MSG_CTRUNC && !ret_short)) {
        fd_list_close(&fds);
        return -EBADMSG;
    }
    if (ret_short)
        *ret_short = message.msg_flags & MSG_CTRUNC;
    *ret_fds = fds;
    return n;
}

ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short)
{
    return packet_receive(socket, packet, size, FD_LIST_MAX, 0, ret_fds, ret_short);
}

int fd_socket_send_one(int socket, const void *packet, size_t size, int fd)
{
    return fd_socket_send(socket, packet, size, &(struct fd_list){.n = fd >= 0, .fds = {fd}});
}

int fd_socket_send_one_now(int socket, const void *packet, size_t size, int fd)
{
    return packet_send(socket, packet, size, &(struct fd_list){.n = fd >= 0, .fds = {fd}}, MSG_DONTWAIT);
}

/*
 * Returns the size of the packet. If `ret_fd` is NULL, descriptors are not received, and their truncation is not an
 * error.
 */
static ssize_t receive_one(int socket, void *packet, size_t least, size_t size, int flags, int *ret_fd)
{
    struct fd_list fds = {0};
    bool cut;
    ssize_t n = packet_receive(socket, packet, size, ret_fd ? 1 : 0, flags, &fds, ret_fd ? NULL : &cut);

    if (n > 0 && (size_t)n >= least) {
        if (ret_fd)
            *ret_fd = fds.n ? fds.fds[0] : -1;
        return n;
    }
    fd_list_close(&fds);
    return n < 0 ? n : n == 0 ? -EPIPE : -EBADMSG;
}

ssize_t fd_socket_receive_up_to(int socket, void *packet, size_t least, size_t size, int *ret_fd)
{
    return receive_one(socket, packet, least, size, 0, ret_fd);
}

int fd_socket_receive_one(int socket, void *packet, size_t size, int *ret_fd)
{
    ssize_t n = receive_one(socket, packet, size, size, 0, ret_fd);

    return n < 0 ? (int)n : 0;
}

int fd_socket_peek_one(int socket, void *packet, size_t size, int *ret_fd)
{
    ssize_t n = receive_one(socket, packet, size, size, MSG_PEEK, ret_fd);

    return n < 0 ? (int)n : 0;
}

int fd_socket_drop(int socket)
{
    char byte;
    ssize_t r = receive_one(socket, &byte, sizeof(byte), sizeof(byte), MSG_DONTWAIT, NULL);

    return r < 0 && r != -EBADMSG ? (int)r : 0;
}
