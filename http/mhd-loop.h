/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libmicrohttpd daemon in the event loop: what becomes of a client that was accepted, from its TLS session over its
 * requests to its end.
 */
#ifndef HTTP_MHD_LOOP_H
#define HTTP_MHD_LOOP_H

#include "http/connection.h"

struct mhd_loop;

/* What cannot change while it runs. */
struct mhd_terms {
    bool tls;
    size_t memory_per_connection;
    unsigned connections;
    gid_t group; /* of a unix socket, whose members are operators; PEER_ID_NOBODY for none */
};

/* `site` and `all` must outlive it. -EOPNOTSUPP: libmicrohttpd was built without TLS; -EIO: it does not start. */
int mhd_loop_new(struct site *site, struct connections *all, const struct mhd_terms *terms, struct mhd_loop **ret);
/* Ends its connections as well, at once. */
struct mhd_loop *mhd_loop_free(struct mhd_loop *engine);
/* Takes over a socket that does not block; one that is beyond the limits is closed. */
void mhd_loop_take(struct mhd_loop *engine, int fd, const struct sockaddr *address, socklen_t size);
/*
 * Ends each connection as soon as what it asked is answered. `on_empty` is called from the event loop when the last one
 * is gone, and may free the engine.
 */
void mhd_loop_retire(struct mhd_loop *engine, void (*on_empty)(void *userdata), void *userdata);

#endif
