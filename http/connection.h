/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of all listeners: how many there may be, until when each must have done what it is at, and which
 * one goes where there is no room.
 *
 * libmicrohttpd's own timeout counts idle time only, so that a byte a second holds a connection forever; here a
 * deadline is for the whole. All connections of one tenure that wait for the same thing have the same time for it, so
 * a list of them is in order of time by itself: the next deadline, and the one that has waited longest, are at the head
 * of a list. One timer serves all: it is not touched when a deadline moves away, but finds nothing to do and is set
 * anew.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "http/peer-count.h"
#include "http/request.h"
#include "http/server.h"
#include "http/tls/transport.h"

/* Those before DEADLINE_NONE have a time. */
enum deadline {
    DEADLINE_REQUEST,   /* until the end of its first head */
    DEADLINE_KEEPALIVE, /* between requests */
    DEADLINE_RESPONSE,
    DEADLINE_NONE,
    DEADLINE_HELD, /* its answer is held back (penalty.h) */
};
#define N_DEADLINES 5

/*
 * How firmly a connection holds its slot. It is a stranger until it has shown a password or a certificate; one of this
 * machine has some slots for itself; one that has shown them, or comes by a unix socket, is never ended to make room.
 */
enum tenure { TENURE_STRANGER, TENURE_LOCAL, TENURE_KNOWN };
#define N_TENURES 3

/* Where credentials are asked for, a connection that has shown none is kept no longer than this between requests. */
#define UNKNOWN_IDLE_NS (15 * NSEC_PER_SEC)

/* Of all slots strangers do not get one in so many, and not the last ones. */
#define KEPT_SHARE 8
#define KEPT_MIN 2

/* So many connections that were ended may wait for libmicrohttpd to notice, beyond those that there may be. */
#define ENDING_MAX 64

struct mhd_loop;

struct connection {
    struct connections *all;
    struct mhd_loop *engine;
    struct MHD_Connection *mhd;
    int fd;          /* libmicrohttpd's */
    struct tls *tls; /* what its session began with; NULL: plain HTTP */
    struct tls_transport transport;
    struct peer peer;
    struct peer_count *count;
    enum tenure tenure;
    bool ended; /* it does not count any more, and waits for libmicrohttpd to notice */
    enum deadline deadline;
    uint64_t deadline_ns;
    struct connection *previous, *next; /* of the same deadline and tenure */
    struct request request;
};

struct connection_list {
    struct connection *first, *last;
};

struct connections {
    struct server_limits limits;
    bool asking; /* for passwords or certificates */
    const struct service *service;
    struct connection_list lists[N_DEADLINES][N_TENURES];
    unsigned n[N_TENURES]; /* without those that are ended */
    unsigned n_there;      /* with them */
    struct peer_counts peers;
    sd_event_source *timer;
    uint64_t armed_ns; /* 0: it is off */
    bool armed_for_request;
};

/* `limits` may be NULL for the defaults. -errno of sd_event_add_time(3). */
int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits);
/* What is open has the new times from now on. */
void connections_set_limits(struct connections *all, const struct server_limits *limits);
/* Whether passwords or certificates are asked for; what is open has the new times from now on. */
void connections_set_asking(struct connections *all, bool asking);
/* There must be none left. */
void connections_done(struct connections *all);
/* How many slots strangers do not get. Pure. */
unsigned connections_reserved(unsigned connections);
/*
 * Whether one more connection from there fits. Where there are as many as there may be, the one that has waited longest
 * is ended for it: between requests, with a refusal that is held back, or without a first head, in this order, and
 * strangers before those of this machine. An address that has many
 * connections already makes room for itself, as long as it can.
 */
bool connections_admit(struct connections *all, const struct peer *peer);
/* Sees to it that the timer fires at the next deadline or before; call when libmicrohttpd has run. */
void connections_arm(struct connections *all);

/* Calls `visit` for each; it may not free any but the one it is given. */
void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata);

/* Starts at DEADLINE_REQUEST. NULL when out of memory. */
struct connection *connection_new(struct connections *all, struct mhd_loop *engine, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer);
struct connection *connection_free(struct connection *connection);
/* What its last request has shown of the client; to be followed by connection_set_deadline(). */
void connection_update_tenure(struct connection *connection);
/* What it must do next, from now on; DEADLINE_NONE: nothing in particular. One that is ended does nothing more. */
void connection_set_deadline(struct connection *connection, enum deadline deadline);
/* Ends it, whatever it is at; libmicrohttpd learns it from its socket and frees it later. */
void connection_shutdown(struct connection *connection);
/* The same for one that has nothing more to say, of which TLS tells the client. */
void connection_end(struct connection *connection);

#endif
