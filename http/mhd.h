/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the head of a request can be read in one way only (RFC 9112, sections 2.2, 3.2, 5.1, 5.2 and 6.3), so that a
 * proxy in front sees no other request in it than is seen here. Pure but for framing_is_followed().
 *
 * libmicrohttpd 0.9.77 and later refuse a folded line by themselves when an option makes them strict. Earlier versions
 * glue it to the *name* of the header above. There the head is followed through the buffer that it was read into: it
 * must consist of the headers that libmicrohttpd has found, and of nothing else.
 *
 * A libmicrohttpd daemon in the event loop: it serves the clients that were accepted, from the TLS session over the
 * requests to the end.
 */
#ifndef HTTP_MHD_H
#define HTTP_MHD_H

#include "base/util.h"
#include "http/connection.h"

/* Whether this version of libmicrohttpd ("0.9.75", as MHD_get_version() has it) is one whose heads are followed. */
bool framing_is_followed(const char *version);

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
