/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libmicrohttpd daemon in the event loop: it serves the clients that were accepted, from the TLS session over the
 * requests to the end.
 */
#ifndef HTTP_MHD_H
#define HTTP_MHD_H

#include "http/connection.h"

struct mhd_loop;

/* Settings that cannot change while it runs. */
struct mhd_terms {
    bool tls;
    size_t memory_per_connection;
    unsigned connections;
    gid_t group; /* of a unix socket: its members are operators; PEER_ID_NOBODY: it has none */
};

/* `site` and `all` must outlive it. -EOPNOTSUPP: libmicrohttpd was built without TLS; -EIO: it does not start. */
int mhd_loop_new(struct site *site, struct connections *all, const struct mhd_terms *terms, struct mhd_loop **ret);
/* Ends its connections as well, at once. */
struct mhd_loop *mhd_loop_free(struct mhd_loop *loop);
/* Takes over a client's socket, which does not block; closes it where the limits are reached. */
void mhd_loop_take(struct mhd_loop *loop, int fd, const struct sockaddr *address, socklen_t size);
/*
 * Ends each connection as soon as its request is answered. `on_empty` is called from the event loop when the last one
 * is gone, and may free the loop.
 */
void mhd_loop_retire(struct mhd_loop *loop, void (*on_empty)(void *userdata), void *userdata);

#endif
