/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of all listeners: their number, their deadlines, and which one is ended when there is no room
 * for another.
 *
 * libmicrohttpd's own timeout counts idle time only, so a client that sends one byte per second would hold a connection
 * forever. Here a deadline covers a whole step, such as receiving a request head. All connections with the same class
 * and at the same step have the same time for it, so the list of each pair is ordered by deadline without sorting: its
 * head has the next deadline, and is the connection that has waited longest. One timer serves all lists. It is not set
 * again when a deadline moves away: it fires, finds nothing to do, and is set for the next deadline.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "http/peer.h"
#include "http/request.h"
#include "http/service.h"
#include "http/tls.h"

/* Only the values before DEADLINE_NONE have a time limit. */
enum deadline {
    DEADLINE_REQUEST,   /* until the head of the first request is complete */
    DEADLINE_KEEPALIVE, /* between requests */
    DEADLINE_RESPONSE,
    DEADLINE_NONE,
    DEADLINE_HELD, /* the reply is delayed, and the delay can be cut short (http/auth.h) */
};
#define N_DEADLINES 5

/*
 * How firmly a connection holds its slot. A connection is known, and never ended to make room, if its client has shown
 * a password or certificate or uses a unix socket. Some slots are reserved for connections from this machine. All
 * others are strangers.
 */
enum connection_class { CONNECTION_STRANGER, CONNECTION_LOCAL, CONNECTION_KNOWN };
#define N_CONNECTION_CLASSES 3

/*
 * If passwords or certificates are requested, a connection that has shown neither is kept open this long between
 * requests.
 */
#define UNKNOWN_IDLE_NS (15 * NSEC_PER_SEC)

/* One slot in eight, and at least two, are not available to strangers. */
#define RESERVED_SHARE 8
#define RESERVED_MIN 2

/* How many ended connections, beyond the limit of open ones, may wait until libmicrohttpd closes them. */
#define ENDING_MAX 64

struct mhd_loop;

struct connection {
    struct connections *all;
    struct mhd_loop *loop;
    struct MHD_Connection *mhd;
    int fd;          /* owned by libmicrohttpd */
    struct tls *tls; /* the settings with which its session began; NULL: plain HTTP */
    struct tls_transport transport;
    struct peer peer;
    struct peer_count *count;
    enum connection_class connection_class;
    bool ended; /* not counted any more; libmicrohttpd has yet to close it */
    enum deadline deadline;
    uint64_t deadline_ns;
    TAILQ_ENTRY(connection) entry; /* in the list of its deadline and class */
    struct request request;
};

TAILQ_HEAD(connection_list, connection);

struct connections {
    struct server_limits limits;
    bool asking; /* passwords or certificates are requested */
    const struct service *service;
    struct connection_list lists[N_DEADLINES][N_CONNECTION_CLASSES];
    unsigned n[N_CONNECTION_CLASSES]; /* numbers by class, without ended connections */
    unsigned n_there;                 /* total number, with ended connections */
    struct peer_counts peers;
    sd_event_source *timer;
    uint64_t armed_ns; /* time for which the timer is set; 0: not set */
    bool armed_for_request;
};

/* `limits` may be NULL for the defaults. Returns the errors of sd_event_add_time(3). */
int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits);
/* The new times also apply to open connections, from now on. */
void connections_set_limits(struct connections *all, const struct server_limits *limits);
/* Sets whether passwords or certificates are requested. The resulting times also apply to open connections. */
void connections_set_asking(struct connections *all, bool asking);
/* All connections must have been freed. */
void connections_done(struct connections *all);
/*
 * Whether one more connection of this peer is accepted. If the limit is reached, the connection that has waited longest
 * is ended: first one that is between requests, then one whose refusal is delayed, then one that has not sent its first
 * head; strangers before connections from this machine. Connections of addresses that hold many are ended first, so an
 * address with many connections makes room for itself if possible.
 */
bool connections_admit(struct connections *all, const struct peer *peer);
/* Whether a client waits for a reply, or has connected and may be sending its first request. */
bool connections_are_answering(const struct connections *all);
/* Ensures that the timer fires no later than the next deadline. Must be called after each run of libmicrohttpd. */
void connections_arm(struct connections *all);

/* Calls `visit` for each connection. It may free that connection, but no other. */
void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata);

/* The connection starts at DEADLINE_REQUEST. Returns NULL when out of memory. */
struct connection *connection_new(struct connections *all, struct mhd_loop *loop, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer);
struct connection *connection_free(struct connection *connection);
/*
 * Applies `tls` to the connection's TLS session, before the handshake. Returns -EPROTO if there is no session or `tls`
 * is NULL.
 */
int connection_begin_tls(struct connection *connection, struct tls *tls, uint64_t *progress);
/* Whether the client is known by its certificate (tls_peer_is_known()). */
bool connection_is_certified(const struct connection *connection);
/* Updates the class from the credentials of the last request. Must be followed by connection_set_deadline(). */
void connection_update_class(struct connection *connection);
/* Moves the connection to its next step, whose time starts now. Does nothing if the connection has ended. */
void connection_set_deadline(struct connection *connection, enum deadline deadline);
/* Ends the connection at any step. libmicrohttpd notices it on the socket, and frees the connection later. */
void connection_shutdown(struct connection *connection);
/* Ends the connection between requests: with TLS, the client is notified first. */
void connection_end(struct connection *connection);

#endif
