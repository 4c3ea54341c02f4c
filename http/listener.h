/* SPDX-License-Identifier: Apache-2.0 */
/* One address that is listened on: a socket and the libmicrohttpd daemon that serves it inside the event loop. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include "http/connection.h"

/* `site` and `all` must outlive it. -EADDRINUSE... with a sentence that names the address. */
int listener_open(struct site *site, struct connections *all, const char *address, struct listener **ret,
                  struct error *error);
/* The same for a socket that listens already, which it takes; also on failure. */
int listener_adopt(struct site *site, struct connections *all, int fd, struct listener **ret, struct error *error);
/* Ends its connections as well, at once. */
struct listener *listener_free(struct listener *listener);

const char *listener_address(const struct listener *listener); /* as configured */
const char *listener_url(const struct listener *listener);

/*
 * Listens no more, but answers what was asked. `on_empty` is called from the event loop when the last connection is
 * gone, and may free the listener.
 */
void listener_retire(struct listener *listener, void (*on_empty)(struct listener *listener, void *userdata),
                     void *userdata);

#endif
