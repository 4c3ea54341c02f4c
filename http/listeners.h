/* SPDX-License-Identifier: Apache-2.0 */
/* All that a server listens on, and the change from one set of addresses to another. */
#ifndef HTTP_LISTENERS_H
#define HTTP_LISTENERS_H

#include "http/listener.h"

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
