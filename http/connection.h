/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of all listeners: how many there may be, and until when each must have done what it is at.
 *
 * libmicrohttpd's own timeout counts idle time only, so that a byte a second holds a connection forever; here a
 * deadline is for the whole. All connections that wait for the same thing have the same time for it, so a list per kind
 * of deadline is in order of time by itself, and the next deadline is at the head of one of them. One timer serves all:
 * it is not touched when a deadline moves away, but finds nothing to do and is set anew.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "http/peer.h"
#include "http/request.h"
#include "http/server.h"
#include "http/tls-transport.h"

enum deadline { DEADLINE_REQUEST, DEADLINE_KEEPALIVE, DEADLINE_RESPONSE, DEADLINE_NONE };
#define N_DEADLINES 4

struct engine;

struct connection {
    struct connections *all;
    struct engine *engine;
    struct MHD_Connection *mhd;
    int fd;          /* libmicrohttpd's */
    struct tls *tls; /* what its session began with; NULL: plain HTTP */
    struct tls_transport transport;
    struct peer peer;
    enum deadline deadline;
    uint64_t deadline_ns;
    struct connection *previous, *next; /* of the same deadline */
    struct request request;
};

struct connection_list {
    struct connection *first, *last;
};

struct connections {
    struct server_limits limits;
    const struct service *service;
    struct connection_list lists[N_DEADLINES];
    unsigned n;
    sd_event_source *timer;
    uint64_t armed_ns; /* 0: it is off */
    bool armed_for_request;
};

/* `limits` may be NULL for the defaults. -errno of sd_event_add_time(3). */
int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits);
/* What is open has the new times from now on. */
void connections_set_limits(struct connections *all, const struct server_limits *limits);
/* There must be none left. */
void connections_done(struct connections *all);
/* Whether one more connection from there fits. */
bool connections_admit(const struct connections *all, const struct peer *peer);
/* Sees to it that the timer fires at the next deadline or before; call when libmicrohttpd has run. */
void connections_arm(struct connections *all);

/* Calls `visit` for each; it may not free any but the one it is given. */
void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata);

/* Starts at DEADLINE_REQUEST. NULL when out of memory. */
struct connection *connection_new(struct connections *all, struct engine *engine, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer);
struct connection *connection_free(struct connection *connection);
/* What it must do next, from now on; DEADLINE_NONE: nothing in particular. */
void connection_set_deadline(struct connection *connection, enum deadline deadline);
/* Ends it, whatever it is at; libmicrohttpd learns it from its socket and frees it later. */
void connection_shutdown(struct connection *connection);
/* The same for one that has nothing more to say, of which TLS tells the client. */
void connection_end(struct connection *connection);

#endif
