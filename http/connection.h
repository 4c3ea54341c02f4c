/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps track of the open connections of all listeners: limits their number, enforces their deadlines, and chooses the
 * connection to end when there is no room for a new connection.
 *
 * libmicrohttpd's own timeout counts idle time only, so a client that sends one byte per second would hold a connection
 * forever. In this module, a deadline covers a whole step, such as receiving a request head. All connections of a class
 * have the same time for a step, so the list for each class and step is ordered by deadline without sorting. The head
 * of a list has the next deadline and has waited longest. A single timer serves all lists of connections. Postponing a
 * deadline does not change the timer, which fires, finds nothing to do, and is set for the next deadline.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "http/peer.h"
#include "http/request.h"
#include "http/service.h"
#include "http/tls.h"

/* The step of a connection, which determines its deadline. Steps from DEADLINE_NONE on have no time limit. */
enum deadline {
    DEADLINE_REQUEST,   /* until the head of the first request is complete */
    DEADLINE_KEEPALIVE, /* between requests */
    DEADLINE_RESPONSE,
    DEADLINE_NONE,
    DEADLINE_HELD, /* while a reply is delayed; the delay can be cut short (http/auth.h) */
};
#define N_DEADLINES 5

/*
 * The class of a connection decides whether it may be ended to make room. A connection is known if its client has
 * presented a password or certificate or uses a unix socket; it is never ended to make room. Other connections from
 * this machine are local. Some slots are reserved for local and known connections. All remaining connections are
 * strangers.
 */
enum connection_class { CONNECTION_STRANGER, CONNECTION_LOCAL, CONNECTION_KNOWN };
#define N_CONNECTION_CLASSES 3

/*
 * Where passwords or certificates are requested, how long a connection is kept open between requests if its client has
 * shown neither.
 */
#define UNKNOWN_IDLE_NS (15 * NSEC_PER_SEC)

/* Connection slots that strangers cannot use: one in eight, and at least two. */
#define RESERVED_SHARE 8
#define RESERVED_MIN 2

/* How many ended connections may wait for libmicrohttpd to close them, in addition to the open connections. */
#define ENDING_MAX 64

struct mhd_loop;

struct connection {
    struct connections *all;
    struct mhd_loop *loop;
    struct MHD_Connection *mhd;
    int fd;          /* socket, owned by libmicrohttpd */
    struct tls *tls; /* settings with which the TLS session began; NULL for plain HTTP */
    struct tls_transport transport;
    struct peer peer;
    struct peer_count *count;
    enum connection_class connection_class;
    bool ended; /* no longer counted, but libmicrohttpd has not closed it yet */
    enum deadline deadline;
    uint64_t deadline_ns;
    TAILQ_ENTRY(connection) entry; /* links connections with the same `deadline` and class */
    struct request request;
};

TAILQ_HEAD(connection_list, connection);

struct connections {
    struct server_limits limits;
    bool asking; /* clients are asked for passwords or certificates */
    const struct service *service;
    struct connection_list lists[N_DEADLINES][N_CONNECTION_CLASSES];
    unsigned n[N_CONNECTION_CLASSES]; /* number of open connections in each class */
    unsigned n_there;                 /* total number of connections, including ended ones */
    struct peer_counts peers;
    sd_event_source *timer;
    uint64_t armed_ns; /* time for which the timer is set; 0 if not set */
    bool armed_for_request;
};

/* `limits` may be NULL, which means the default limits. Returns the errors of sd_event_add_time(3). */
int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits);
/* Sets new limits. The new time limits also apply to open connections. */
void connections_set_limits(struct connections *all, const struct server_limits *limits);
/* Sets whether passwords or certificates are requested. The resulting time limits also apply to open connections. */
void connections_set_asking(struct connections *all, bool asking);
/* Must be called after all connections have been freed. */
void connections_done(struct connections *all);
/*
 * Returns whether one more connection of this peer is accepted. If the limit on connections is reached, another
 * connection is ended: strangers before local connections; within a class, first a connection between requests, then
 * one whose refusal is delayed, then one that has not sent its first head; among these, the one that has waited
 * longest. Addresses with many connections lose theirs first, so such an address makes room for itself if possible.
 */
bool connections_admit(struct connections *all, const struct peer *peer);
/* Returns whether any client is waiting for a reply, or has connected and may be sending its first request. */
bool connections_are_answering(const struct connections *all);
/* Ensures that the timer fires no later than the next deadline. Must be called after each run of libmicrohttpd. */
void connections_arm(struct connections *all);

/* Calls `visit` for each connection. `visit` may free that connection, but no other. */
void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata);

/* Makes a connection at the step DEADLINE_REQUEST. Returns NULL when out of memory. */
struct connection *connection_new(struct connections *all, struct mhd_loop *loop, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer);
struct connection *connection_free(struct connection *connection);
/*
 * Applies the settings `tls` to the connection's TLS session, before the handshake. Returns -EPROTO if there is no
 * session or `tls` is NULL.
 */
int connection_begin_tls(struct connection *connection, struct tls *tls, uint64_t *progress);
/* Returns whether the client is known by its certificate (tls_peer_is_known()). */
bool connection_is_certified(const struct connection *connection);
/*
 * Updates the connection's class from the credentials of the last request. Must be followed by
 * connection_set_deadline().
 */
void connection_update_class(struct connection *connection);
/* Moves the connection to another step, and starts its time. Does nothing if the connection has ended. */
void connection_set_deadline(struct connection *connection, enum deadline deadline);
/*
 * Ends the connection at any step by shutting down its socket. libmicrohttpd notices this, and frees the connection
 * later.
 */
void connection_shutdown(struct connection *connection);
/* Ends a connection that is between requests; with TLS, the client is notified first. */
void connection_end(struct connection *connection);

#endif
