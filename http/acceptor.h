/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of a listening socket, as they come, in the event loop.
 *
 * Libmicrohttpd 0.9.75 could accept them itself. But where the process has no descriptor left it spins while nobody is
 * connected, and else listens no more once the last connection has ended.
 */
#ifndef HTTP_ACCEPTOR_H
#define HTTP_ACCEPTOR_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/util.h"

struct acceptor;

struct acceptor_calls {
    /* Takes the descriptor over, which does not block. May not free the acceptor. */
    void (*take)(void *userdata, int fd, const struct sockaddr *address, socklen_t size);
    /*
     * Clients wait, since there are no descriptors or no memory (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM), a security
     * policy forbids it (-EACCES, -EPERM) or somebody has shut the socket down (-EINVAL). At most once a minute.
     */
    void (*starve)(void *userdata, int error);
    void *userdata;
};

/* Takes over `fd`, which listens and does not block, on success. */
int acceptor_new(sd_event *event, int fd, const struct acceptor_calls *calls, struct acceptor **ret);
/* Closes the socket: who has connected and was not taken is refused, unless there is a duplicate of it. */
struct acceptor *acceptor_free(struct acceptor *acceptor);
/* The listening socket, which stays the acceptor's. */
int acceptor_fd(const struct acceptor *acceptor);

#endif
