/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address that is listened on: a socket, its acceptor, and the libmicrohttpd daemon that serves its clients.
 *
 * All that a server listens on, and the change from one set of addresses to another.
 *
 * Accepts the clients of a listening socket in the event loop.
 *
 * libmicrohttpd 0.9.75 could accept them itself. But where the process has no descriptor left it spins while no client
 * is connected, and otherwise listens no more once the last connection has ended.
 */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "http/mhd.h"

struct listener;
/* With the port that was bound, as a client writes it. Borrowed. */
const char *listener_url(const struct listener *listener);
/*
 * The URL, and where it can be reached from more than this machine, the other addresses and whether anybody may ask:
 * "http://localhost:10298/ and all other addresses of this machine, without a password".
 */
void listener_describe(const struct listener *listener, char *text, size_t size);

struct listener_list {
    struct listener **items;
    size_t n;
};

struct listeners {
    struct site *site;
    struct connections *connections;
    struct listener_list active;  /* in the order in which they were asked for */
    struct listener_list retired; /* they answer requests that were open */
    bool adopted;                 /* the active ones were handed over: addresses do not matter */
};

/* No more clients are accepted from sockets that were handed over. */
void listeners_leave(struct listeners *listeners);
/* Closes all at once. */
void listeners_done(struct listeners *listeners);
/*
 * Listens on exactly these addresses, on these terms; `addresses` NULL: on those that are active. Opens what is new,
 * then retires what is gone. On failure nothing changes. Errors of listener_open().
 */
int listeners_change(struct listeners *listeners, const struct mhd_terms *terms, char *const *addresses, size_t n,
                     struct error *error);
/* The same on sockets that were handed over; from then on addresses do not matter. On success the sockets are closed.
 */
int listeners_adopt(struct listeners *listeners, const struct mhd_terms *terms, const int *fds, size_t n,
                    struct error *error);

#endif
