/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libmicrohttpd daemon in the event loop, which serves accepted clients from the TLS handshake to the end of the
 * connection.
 *
 * Requests whose head can be read in more than one way are refused (RFC 9112, sections 2.2, 3.2, 5.1, 5.2 and 6.3), so
 * that a proxy in front of the daemon cannot see a different request. libmicrohttpd 0.9.77 and later refuse folded
 * header lines themselves if an option makes them strict. Older versions of libmicrohttpd append a folded line to the
 * *name* of the preceding header. With older versions, this module therefore follows each head through libmicrohttpd's
 * buffer, and checks that the head consists of exactly the headers that libmicrohttpd found.
 */
#ifndef HTTP_MHD_H
#define HTTP_MHD_H

#include "base/util.h"
#include "http/connection.h"

/*
 * Returns whether this version of libmicrohttpd may accept ambiguous request heads, so that this module must follow
 * them through its buffer. `version` has the form of MHD_get_version(), such as "0.9.75". Pure.
 */
bool head_check_is_followed(const char *version);

struct mhd_loop;

/* The settings that are fixed for the lifetime of a loop. */
struct mhd_terms {
    bool tls;
    size_t memory_per_connection;
    unsigned connections;
    gid_t group; /* group of a unix socket, whose members are operators, or PEER_ID_NOBODY */
};

/*
 * `site` and `all` must outlive the loop. Returns -EOPNOTSUPP if libmicrohttpd was built without TLS, and -EIO if
 * libmicrohttpd does not start.
 */
int mhd_loop_new(struct site *site, struct connections *all, const struct mhd_terms *terms, struct mhd_loop **ret);
/* Ends all connections immediately, and frees the loop. */
struct mhd_loop *mhd_loop_free(struct mhd_loop *loop);
/* Takes ownership of a client's nonblocking socket, and closes the socket if the limits are reached. */
void mhd_loop_take(struct mhd_loop *loop, int fd, const struct sockaddr *address, socklen_t size);
/*
 * Ends each connection once its request is answered. When the last connection has closed, the event loop calls
 * `on_empty`, which may free the mhd_loop.
 */
void mhd_loop_retire(struct mhd_loop *loop, void (*on_empty)(void *userdata), void *userdata);

#endif
