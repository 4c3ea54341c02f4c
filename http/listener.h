/* SPDX-License-Identifier: Apache-2.0 */
/* One address that is listened on: a socket, its acceptor, and the libmicrohttpd daemon that serves its clients. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include "http/mhd.h"

struct listener;

/* `site` and `all` must outlive it. -EADDRINUSE... with a sentence that names the address. */
int listener_open(struct site *site, struct connections *all, const char *address, const struct mhd_terms *terms,
                  struct listener **ret, struct error *error);
/*
 * On a listening socket that was handed over. The descriptor remains the caller's, to be closed on success; the file
 * of a unix socket stays where it is.
 */
int listener_adopt(struct site *site, struct connections *all, int fd, const struct mhd_terms *terms,
                   struct listener **ret, struct error *error);
/* On the socket of another listener, which has to be retired, on other terms. No client is refused meanwhile. */
int listener_succeed(const struct listener *before, const struct mhd_terms *terms, struct listener **ret,
                     struct error *error);
/* Takes over the file of a unix socket, once it is certain that the other listener retires. */
void listener_inherit(struct listener *listener, struct listener *before);
/* Whether it runs on these terms already. */
bool listener_is_on(const struct listener *listener, const struct mhd_terms *terms);
/* Ends its connections as well, at once. */
struct listener *listener_free(struct listener *listener);

/* As configured; for a socket that was handed over, its URL. Borrowed. */
const char *listener_address(const struct listener *listener);
/* With the port that was bound, as a client writes it. Borrowed. */
const char *listener_url(const struct listener *listener);
/*
 * The URL, and where it can be reached from more than this machine, the other addresses and whether anybody may ask:
 * "http://localhost:10298/ and all other addresses of this machine, without a password".
 */
void listener_describe(const struct listener *listener, char *text, size_t size);

/* Accepts no more clients; those that are connected are answered. */
void listener_leave(struct listener *listener);
/*
 * Listens no more, but answers open requests. `on_empty` is called from the event loop when the last connection is
 * gone, and may free the listener.
 */
void listener_retire(struct listener *listener, void (*on_empty)(struct listener *listener, void *userdata),
                     void *userdata);

#endif
