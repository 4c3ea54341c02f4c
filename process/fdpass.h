/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets with file descriptors, over a SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS).
 *
 * Senders keep their descriptors; receivers own what they receive. All functions retry on EINTR.
 */
#ifndef PROCESS_FDPASS_H
#define PROCESS_FDPASS_H

#include <sys/types.h>

#include "base/util.h"

#define FD_LIST_MAX 64

/* A zeroed list is empty. */
struct fd_list {
    size_t n;
    int fds[FD_LIST_MAX];
};
void fd_list_close(struct fd_list *list);

/* Sends a packet with all descriptors of `fds`, possibly none. Returns 0 or an error of sendmsg(2). */
int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds);
/*
 * Returns the size of the packet, or 0 when the peer has closed. Returns -EBADMSG if the packet has more than `size`
 * bytes or descriptors were truncated, or an error of recvmsg(2). The kernel truncates descriptors that exceed
 * FD_LIST_MAX or RLIMIT_NOFILE. If `ret_short` is not NULL, truncated descriptors are not an error: *ret_short is set
 * to whether there were any, and the remaining descriptors are returned.
 */
ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short);

/* Sends a packet with one descriptor, or with none if `fd` is -1. */
int fd_socket_send_one(int socket, const void *packet, size_t size, int fd);
/* The same without blocking. Returns -EAGAIN if the socket buffer is full. */
int fd_socket_send_one_now(int socket, const void *packet, size_t size, int fd);
/*
 * Receives a packet of exactly `size` bytes. *ret_fd is -1 if it has no descriptor. Returns -EPIPE when the peer has
 * closed, -EBADMSG for a packet of another size or with several descriptors, or an error of recvmsg(2).
 */
int fd_socket_receive_one(int socket, void *packet, size_t size, int *ret_fd);
/* The same for a packet of `least` to `size` bytes. Returns its size. */
ssize_t fd_socket_receive_up_to(int socket, void *packet, size_t least, size_t size, int *ret_fd);
/*
 * Like fd_socket_receive_one(), but leaves the packet in the socket. If `ret_fd` is NULL, the packet's descriptor is
 * not received: a process that receives it must close it, and close(2) may block forever on another user's file.
 */
int fd_socket_peek_one(int socket, void *packet, size_t size, int *ret_fd);
/*
 * Removes the next packet without receiving its descriptors. Never blocks. Returns -EPIPE when the peer has closed, or
 * an error of recvmsg(2).
 */
int fd_socket_drop(int socket);

#endif
