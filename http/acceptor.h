/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts the clients of a listening socket in the event loop.
 *
 * libmicrohttpd 0.9.75 could accept them itself. But where the process has no descriptor left it spins while no client
 * is connected, and otherwise listens no more once the last connection has ended.
 */
#ifndef HTTP_ACCEPTOR_H
#define HTTP_ACCEPTOR_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/util.h"

struct acceptor;

struct acceptor_calls {
    /* Takes the descriptor over, which does not block. Must not free the acceptor. */
    void (*take)(void *userdata, int fd, const struct sockaddr *address, socklen_t size);
    /*
     * Clients wait, because there are no descriptors or no memory (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM), a security
     * policy forbids it (-EACCES, -EPERM) or the socket was shut down (-EINVAL). At most once a minute.
     */
    void (*starve)(void *userdata, int error);
    void *userdata;
};

/* Takes over `fd`, which listens and does not block, on success. */
int acceptor_new(sd_event *event, int fd, const struct acceptor_calls *calls, struct acceptor **ret);
/* Takes no more clients, which wait in the socket. */
void acceptor_stop(struct acceptor *acceptor);
/* Closes the socket: clients that have connected and were not taken are refused, unless there is a duplicate of it. */
struct acceptor *acceptor_free(struct acceptor *acceptor);
/* The listening socket, which stays the acceptor's. */
int acceptor_fd(const struct acceptor *acceptor);

#endif
