/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives packets with file descriptors over SOCK_SEQPACKET sockets (unix(7), SCM_RIGHTS).
 *
 * The sender keeps its descriptors, and the receiver owns the received copies. All functions of this module retry on
 * EINTR.
 */
#ifndef PROCESS_FDPASS_H
#define PROCESS_FDPASS_H

#include <sys/types.h>

#include "base/util.h"

#define FD_LIST_MAX 64

/* A list of descriptors; a zeroed list is empty. */
struct fd_list {
    size_t n;
    int fds[FD_LIST_MAX];
};
void fd_list_close(struct fd_list *list);

/* Sends a packet with all descriptors of `fds`, which may be empty. Returns 0 or an error from sendmsg(2). */
int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds);
/*
 * Receives a packet. Returns its size, 0 when the peer has closed its end, -EBADMSG if the packet has more than `size`
 * bytes or the kernel dropped descriptors, or an error from recvmsg(2). The kernel drops descriptors that exceed
 * FD_LIST_MAX or RLIMIT_NOFILE. If `ret_short` is not NULL, dropped descriptors are not an error: *ret_short tells
 * whether descriptors were dropped, and the other descriptors are returned.
 */
ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short);

/* Sends a packet with one descriptor, or without a descriptor if `fd` is -1. */
int fd_socket_send_one(int socket, const void *packet, size_t size, int fd);
/* Like fd_socket_send_one(), but never blocks. Returns -EAGAIN if the socket buffer is full. */
int fd_socket_send_one_now(int socket, const void *packet, size_t size, int fd);
/*
 * Receives a packet of exactly `size` bytes. *ret_fd is set to the packet's descriptor, or to -1 if the packet has no
 * descriptor. Returns -EPIPE when the peer has closed its end, -EBADMSG for a packet of another size or with several
 * descriptors, or an error from recvmsg(2).
 */
int fd_socket_receive_one(int socket, void *packet, size_t size, int *ret_fd);
/* Like fd_socket_receive_one(), for a packet of `least` to `size` bytes. Returns the size of the packet. */
ssize_t fd_socket_receive_up_to(int socket, void *packet, size_t least, size_t size, int *ret_fd);
/*
 * Like fd_socket_receive_one(), but leaves the packet in the socket. If `ret_fd` is NULL, the packet's descriptor is
 * not received, so that this process need not close it: close(2) may block forever on another user's file.
 */
int fd_socket_peek_one(int socket, void *packet, size_t size, int *ret_fd);
/*
 * Removes the next packet from the socket without receiving the packet's descriptors. Never blocks. Returns -EPIPE when
 * the peer has closed its end, or an error from recvmsg(2).
 */
int fd_socket_drop(int socket);

#endif
