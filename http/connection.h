/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of all listeners: how many there may be, the deadline of each, and which one is ended where
 * there is no room.
 *
 * libmicrohttpd's own timeout counts idle time only, so that a byte a second holds a connection forever. Here a
 * deadline is for the whole of a step. All connections of one tenure that are at the same step have the same time for
 * it, so a list of them is in order of time by itself: the next deadline, and the connection that has waited longest,
 * are at the head of a list. One timer serves all. It is not touched when a deadline moves away, but finds nothing to
 * do and is set again.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "http/peer.h"
#include "http/request.h"
#include "http/service.h"
#include "http/tls.h"

/* The deadlines before DEADLINE_NONE have a time. */
enum deadline {
    DEADLINE_REQUEST,   /* until the end of its first head */
    DEADLINE_KEEPALIVE, /* between requests */
    DEADLINE_RESPONSE,
    DEADLINE_NONE,
    DEADLINE_HELD, /* its answer is held back, which may be cut short (refusal-delay.h) */
};
#define N_DEADLINES 5

/*
 * How firmly a connection holds its slot. A connection that has shown a password or a certificate, or comes by a unix
 * socket, is known and never ended to make room. Connections of this machine have some slots for themselves. All others
 * are strangers.
 */
enum tenure { TENURE_STRANGER, TENURE_LOCAL, TENURE_KNOWN };
#define N_TENURES 3

/* Where credentials are asked for, a connection without them is kept for at most this time between requests. */
#define UNKNOWN_IDLE_NS (15 * NSEC_PER_SEC)

/* One slot in eight, and at least two, are not for strangers. */
#define RESERVED_SHARE 8
#define RESERVED_MIN 2

/* How many connections that were ended may wait for libmicrohttpd to notice, beyond the limit of open ones. */
#define ENDING_MAX 64

struct mhd_loop;

struct connection {
    struct connections *all;
    struct mhd_loop *loop;
    struct MHD_Connection *mhd;
    int fd;          /* libmicrohttpd's */
    struct tls *tls; /* what its session began with; NULL: plain HTTP */
    struct tls_transport transport;
    struct peer peer;
    struct peer_count *count;
    enum tenure tenure;
    bool ended; /* it counts no more, and waits for libmicrohttpd to notice */
    enum deadline deadline;
    uint64_t deadline_ns;
    TAILQ_ENTRY(connection) entry; /* of those of the same deadline and tenure */
    struct request request;
};

TAILQ_HEAD(connection_list, connection);

struct connections {
    struct server_limits limits;
    bool asking; /* for passwords or certificates */
    const struct service *service;
    struct connection_list lists[N_DEADLINES][N_TENURES];
    unsigned n[N_TENURES]; /* without those that have ended */
    unsigned n_there;      /* with them */
    struct peer_counts peers;
    sd_event_source *timer;
    uint64_t armed_ns; /* 0: it is off */
    bool armed_for_request;
};

/* `limits` may be NULL for the defaults. -errno of sd_event_add_time(3). */
int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits);
/* Open connections have the new times from now on. */
void connections_set_limits(struct connections *all, const struct server_limits *limits);
/* Whether passwords or certificates are asked for; open connections have the new times from now on. */
void connections_set_asking(struct connections *all, bool asking);
/* There must be no connections left. */
void connections_done(struct connections *all);
/* How many slots are not for strangers. Pure. */
unsigned connections_reserved(unsigned connections);
/*
 * Whether one more connection of this peer fits. Where the limit is reached, the connection that has waited longest is
 * ended for it: between requests, with a refusal that is held back, or without a first head, in this order, and
 * strangers before connections of this machine. An address that has many connections already makes room for itself, as
 * far as it can.
 */
bool connections_admit(struct connections *all, const struct peer *peer);
/* Whether a client waits for an answer, or has connected and may be sending its first request. */
bool connections_are_answering(const struct connections *all);
/* Has the timer fire at the next deadline or before; call it when libmicrohttpd has run. */
void connections_arm(struct connections *all);

/* Calls `visit` for each connection, which may free no other. */
void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata);

/* Starts at DEADLINE_REQUEST. NULL when out of memory. */
struct connection *connection_new(struct connections *all, struct mhd_loop *loop, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer);
struct connection *connection_free(struct connection *connection);
/* Applies `tls` to its TLS session, before the handshake. -EPROTO where there is no session or `tls` is NULL. */
int connection_begin_tls(struct connection *connection, struct tls *tls, uint64_t *progress);
/* Whether the client has shown a certificate that was verified. */
bool connection_is_certified(const struct connection *connection);
/* Judges the client by what its last request has shown; to be followed by connection_set_deadline(). */
void connection_update_tenure(struct connection *connection);
/* Sets the deadline for its next step, from now on; not once it was ended. */
void connection_set_deadline(struct connection *connection, enum deadline deadline);
/* Ends it at any step; libmicrohttpd notices by its socket and frees it later. */
void connection_shutdown(struct connection *connection);
/* The same between requests: TLS announces the end to the client. */
void connection_end(struct connection *connection);

#endif
