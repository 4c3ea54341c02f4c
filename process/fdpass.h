/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with file descriptors beside them, over a SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS). */
#ifndef PROCESS_FDPASS_H
#define PROCESS_FDPASS_H

#include <sys/types.h>

#include "base/util.h"

#define FD_LIST_MAX 64

/* Zeroed, it is empty. */
struct fd_list {
    size_t n;
    int fds[FD_LIST_MAX];
};
void fd_list_close(struct fd_list *list);

/* The descriptors stay the caller's. Errors of sendmsg(2). */
int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds);
/*
 * Returns the packet's size, 0 when the other side has closed; the descriptors are the caller's. Errors of recvmsg(2);
 * -EBADMSG for a packet of more than `size` bytes and for too many descriptors. With `ret_short`, which may be NULL, a
 * list that was cut because this process may open no more files is no error: the rest of the list is returned, and
 * *ret_short is true.
 */
ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short);

/* One packet with one descriptor, or with none where `fd` is -1. The descriptor stays the caller's. */
int fd_socket_send_one(int socket, const void *packet, size_t size, int fd);
/* The same, without waiting: -EAGAIN where the other side has enough to read. */
int fd_socket_send_one_now(int socket, const void *packet, size_t size, int fd);
/*
 * One packet of exactly `size` bytes. *ret_fd is the caller's, -1 where the packet has no descriptor. -EPIPE when the
 * other side has closed; -EBADMSG for a packet of another size or with more descriptors; errors of recvmsg(2).
 */
int fd_socket_receive_one(int socket, void *packet, size_t size, int *ret_fd);
/*
 * Like fd_socket_receive_one(), but leaves the packet in the socket. If `ret_fd` is NULL, the packet's descriptor is
 * not received: a process that receives it must close it, and close(2) may block forever on another user's file.
 */
int fd_socket_peek_one(int socket, void *packet, size_t size, int *ret_fd);
/* Removes the next packet without receiving its descriptors. Never waits. Returns 0 or -errno of recvmsg(2). */
int fd_socket_drop(int socket);

#endif
