/* SPDX-License-Identifier: Apache-2.0 */
/* One message of a known size, with at most one descriptor, over a SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS). */
#ifndef BASE_FD_SOCKET_H
#define BASE_FD_SOCKET_H

#include "base/util.h"

/* `fd` -1: none; it stays the caller's. Errors of sendmsg(2). */
int fd_socket_send_one(int socket, const void *message, size_t size, int fd);
/*
 * `*ret_fd` is the caller's, -1 where none came. -EPIPE: the other side has closed; -EBADMSG: not a message of this
 * size; else errors of recvmsg(2).
 */
int fd_socket_receive_one(int socket, void *message, size_t size, int *ret_fd);

#endif
