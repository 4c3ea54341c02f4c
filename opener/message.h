/* SPDX-License-Identifier: Apache-2.0 */
/* One packet with descriptors beside it, over a socket pair (unix(7), SCM_RIGHTS), and what the opener answers. */
#ifndef OPENER_MESSAGE_H
#define OPENER_MESSAGE_H

#include <sys/types.h>

#include "opener/request.h"

#define OPENER_MESSAGE_FDS_MAX OPENER_EVENTS_MAX

struct fd_list {
    size_t n;
    int fds[OPENER_MESSAGE_FDS_MAX];
};
void fd_list_close(struct fd_list *fds);

/* To OPENER_REQUEST_GROUP and OPENER_REQUEST_FILE. A descriptor comes along for each result that is 0, in order. */
struct opener_reply {
    int32_t error; /* of the request as a whole: nothing was tried */
    uint32_t n;
    int32_t results[OPENER_EVENTS_MAX];
};

/* What the opener says first. */
struct opener_hello {
    int32_t error; /* 0, or why it cannot start: `message` says so */
    uint32_t filtered;
    uint64_t capabilities; /* a bit each */
    char message[240];
};

/* Errors of sendmsg(2). */
int fd_socket_send(int socket, const void *packet, size_t size, const struct fd_list *fds);
/*
 * The packet's size, 0 at the end. Errors of recvmsg(2); -EBADMSG for a packet or a list of descriptors too large.
 * `ret_short`, where it is not NULL, takes a list that this process had no room for as it is.
 */
ssize_t fd_socket_receive(int socket, void *packet, size_t size, struct fd_list *ret_fds, bool *ret_short);

#endif
