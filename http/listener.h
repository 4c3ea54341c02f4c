/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that the server listens on, and the change from one set of addresses to another.
 *
 * A listener is one address: its socket, the event source that accepts clients, and the libmicrohttpd daemon that
 * serves them. A change is all or nothing: everything new is opened before anything old is closed.
 *
 * The event loop accepts the clients, not libmicrohttpd. When the process runs out of descriptors, libmicrohttpd 0.9.75
 * spins if no client is connected; otherwise it stops listening after the last connection ends.
 */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "http/mhd.h"

struct listener;
/* The URL with the port that was bound. Borrowed. */
const char *listener_url(const struct listener *listener);
/*
 * Writes the URL; for an address that is reachable from other machines, also which other addresses it covers and
 * whether it is open to all: "http://localhost:10298/ and all other addresses of this machine, without a password".
 */
void listener_describe(const struct listener *listener, char *text, size_t size);

struct listener_list {
    struct listener **items;
    size_t n;
};

struct listeners {
    struct site *site;
    struct connections *connections;
    struct listener_list active;  /* in the order in which they were configured */
    struct listener_list retired; /* they still answer open requests */
    bool adopted;                 /* the active sockets were passed in; addresses are ignored */
};

/* Stops accepting clients on sockets that were passed in by a service manager. */
void listeners_leave(struct listeners *listeners);
/* Closes all listeners and their connections at once. */
void listeners_done(struct listeners *listeners);
/*
 * Listens on exactly these addresses with these terms. If `addresses` is NULL, the active addresses stay. Opens the new
 * addresses, then retires those that are gone. On failure nothing changes, and the error names the address.
 */
int listeners_change(struct listeners *listeners, const struct mhd_terms *terms, char *const *addresses, size_t n,
                     struct error *error);
/*
 * Listens on sockets that were passed in; configured addresses are ignored from then on. On success the descriptors are
 * closed. On failure nothing changes.
 */
int listeners_adopt(struct listeners *listeners, const struct mhd_terms *terms, const int *fds, size_t n,
                    struct error *error);

#endif
