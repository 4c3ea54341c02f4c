/* SPDX-License-Identifier: Apache-2.0 */
/* One message of a known size, with at most one descriptor, over a SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS). */
#ifndef BASE_PASSING_H
#define BASE_PASSING_H

#include "base/util.h"

/* `fd` -1: none; it stays the caller's. Errors of sendmsg(2). */
int passing_send(int socket, const void *message, size_t size, int fd);
/*
 * `*ret_fd` is the caller's, -1 where none came. -EPIPE: the other side has closed; -EBADMSG: not a message of this
 * size; else errors of recvmsg(2).
 */
int passing_receive(int socket, void *message, size_t size, int *ret_fd);

#endif
