/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that the server listens on, and the change from one set of addresses to another.
 *
 * A listener belongs to one address, and has a socket, an event source that accepts clients, and a libmicrohttpd daemon
 * that serves the clients. Addresses change all at once or not at all: everything new is opened before anything old is
 * closed.
 *
 * Clients are accepted by the event loop, not by libmicrohttpd: when the process has no descriptors left, libmicrohttpd
 * 0.9.75 spins if no client is connected, and otherwise stops listening once the last connection ends.
 */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "http/mhd.h"

struct listener;
/* Returns the listener's URL with the port that was bound. Borrowed. */
const char *listener_url(const struct listener *listener);
/*
 * Writes the listener's URL and, for an address that is reachable from other machines, the other addresses that it
 * covers and whether it is open to all: "http://localhost:10298/ and all other addresses of this machine, without a
 * password".
 */
void listener_describe(const struct listener *listener, char *text, size_t size);

struct listener_list {
    struct listener **items;
    size_t n;
};

struct listeners {
    struct site *site;
    struct connections *connections;
    struct listener_list active;  /* active listeners, in the order of the configuration */
    struct listener_list retired; /* listeners that only answer open requests */
    bool adopted;                 /* the active sockets were passed in, so addresses are ignored */
};

/* Stops accepting clients on sockets that were passed in by a service manager. */
void listeners_leave(struct listeners *listeners);
/* Closes all listeners and their connections at once. */
void listeners_done(struct listeners *listeners);
/*
 * Listens on exactly these addresses with these terms. If `addresses` is NULL, the active addresses are kept. Opens the
 * new addresses first, and then retires the listeners of addresses that are no longer wanted. On failure nothing
 * changes, and the error names the address.
 */
int listeners_change(struct listeners *listeners, const struct mhd_terms *terms, char *const *addresses, size_t n,
                     struct error *error);
/*
 * Listens on sockets that a service manager passed in; configured addresses are ignored from then on. On success closes
 * the descriptors; on failure nothing changes.
 */
int listeners_adopt(struct listeners *listeners, const struct mhd_terms *terms, const int *fds, size_t n,
                    struct error *error);

#endif
