/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections of all listeners: see connection.h. */
#include "http/connection.h"

#include <gnutls/gnutls.h>

#include "http/auth/refusal-delay.h"

/* A deadline may be late by this much, so that it wakes the process together with something else. */
#define ACCURACY_USEC 10000

/* So many at most of a list are looked at for one of a crowded address. */
#define LOOKED_AT_MAX 64

static const struct server_limits default_limits = {
    .connections = 512,
    .connections_per_address = 128,
    .memory_per_connection = 16384,
    .request_ns = 10 * NSEC_PER_SEC,
    .keepalive_ns = 300 * NSEC_PER_SEC,
    .response_ns = 60 * NSEC_PER_SEC,
};

static uint64_t keepalive_time(const struct connections *all, enum tenure tenure)
{
    uint64_t longest = all->asking && tenure != TENURE_KNOWN ? UNKNOWN_IDLE_NS : UINT64_MAX;

    return MIN(all->limits.keepalive_ns, longest);
}

static uint64_t deadline_time(const struct connections *all, enum deadline deadline, enum tenure tenure)
{
    const uint64_t times[N_DEADLINES] = {
        [DEADLINE_REQUEST] = all->limits.request_ns,
        [DEADLINE_KEEPALIVE] = keepalive_time(all, tenure),
        [DEADLINE_RESPONSE] = all->limits.response_ns,
    };
    return times[deadline];
}

static struct connection_list *list_of(const struct connection *connection)
{
    return &connection->all->lists[connection->deadline][connection->tenure];
}

static void list_remove(struct connection *connection)
{
    struct connection_list *list = list_of(connection);

    *(connection->previous ? &connection->previous->next : &list->first) = connection->next;
    *(connection->next ? &connection->next->previous : &list->last) = connection->previous;
    connection->previous = connection->next = NULL;
}

static void list_append(struct connection *connection)
{
    struct connection_list *list = list_of(connection);

    connection->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = connection;
    list->last = connection;
}

/* A client that does not take its response leaves it in the kernel's buffers: throw that away as well. */
static void discard_unsent(const struct connection *connection)
{
    struct linger linger = {.l_onoff = 1};

    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void expire(struct connection *connection)
{
    if (connection->deadline == DEADLINE_RESPONSE)
        discard_unsent(connection);
    if (connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
    else
        connection_shutdown(connection);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct connections *all = userdata;
    uint64_t now = all->service->now(all->service->userdata);

    (void)source;
    (void)usec;
    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        for (enum tenure k = 0; k < N_TENURES; k++)
            while (all->lists[i][k].first && all->lists[i][k].first->deadline_ns <= now)
                expire(all->lists[i][k].first);
    all->armed_ns = 0;
    connections_arm(all);
    return 0;
}

int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits)
{
    *all = (struct connections){.limits = limits ? *limits : default_limits, .service = service};
    int r = sd_event_add_time(event, &all->timer, CLOCK_MONOTONIC, 0, ACCURACY_USEC, on_timer, all);
    if (r < 0)
        return r;
    return sd_event_source_set_enabled(all->timer, SD_EVENT_OFF);
}

/* All deadlines of a list move by the same time, so that it stays in order. */
static void move_deadlines(struct connections *all, const struct connections *old)
{
    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        for (enum tenure k = 0; k < N_TENURES; k++)
            for (struct connection *c = all->lists[i][k].first; c; c = c->next)
                c->deadline_ns += deadline_time(all, i, k) - deadline_time(old, i, k);
    connections_arm(all);
}

void connections_set_limits(struct connections *all, const struct server_limits *limits)
{
    const struct connections old = {.limits = all->limits, .asking = all->asking};

    all->limits = *limits;
    move_deadlines(all, &old);
}

void connections_set_asking(struct connections *all, bool asking)
{
    const struct connections old = {.limits = all->limits, .asking = all->asking};

    all->asking = asking;
    move_deadlines(all, &old);
}

void connections_done(struct connections *all)
{
    all->timer = sd_event_source_disable_unref(all->timer);
}

unsigned connections_reserved(unsigned connections)
{
    return MIN(MAX(connections / KEPT_SHARE, (unsigned)KEPT_MIN), connections / 2);
}

static enum tenure tenure_of(const struct peer *peer)
{
    if (peer->unix_socket)
        return TENURE_KNOWN;
    return peer->local ? TENURE_LOCAL : TENURE_STRANGER;
}

/* Of those of a list that have waited longest, the first from an address that has as many connections; else NULL. */
static struct connection *find_crowded(const struct connection_list *list, unsigned crowd)
{
    struct connection *connection = list->first;

    for (unsigned i = 0; connection && i < LOOKED_AT_MAX; i++, connection = connection->next)
        if (peer_count_n(connection->count) >= crowd)
            return connection;
    return NULL;
}

/* The one that has waited longest of those that may be ended and come in such a crowd; NULL where there is none. */
static struct connection *find_idle(struct connections *all, enum tenure most, unsigned crowd)
{
    static const enum deadline order[] = {DEADLINE_KEEPALIVE, DEADLINE_HELD, DEADLINE_REQUEST};

    for (enum tenure k = 0; k <= most; k++)
        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
            struct connection *connection = find_crowded(&all->lists[order[i]][k], crowd);
            if (connection)
                return connection;
        }
    return NULL;
}

/*
 * Whether there is room then for one more of an address that has `same` already. First it is sought in a crowd, then
 * where there are more than of this one: a flood makes room for itself, and ends nobody else.
 */
static bool make_room(struct connections *all, enum tenure most, unsigned same)
{
    const unsigned crowds[] = {MAX(same + 1, all->limits.connections_per_address / 2), same + 1, same, 0};
    struct connection *connection = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(crowds) && !connection; i++)
        connection = find_idle(all, most, crowds[i]);
    if (!connection)
        return false;
    if (connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
    else
        connection_shutdown(connection);
    refusal_delay_end(&connection->request);
    return true;
}

bool connections_admit(struct connections *all, const struct peer *peer)
{
    unsigned most = all->limits.connections, limit = all->limits.connections_per_address;
    unsigned n = all->n[TENURE_STRANGER] + all->n[TENURE_LOCAL] + all->n[TENURE_KNOWN];
    unsigned same = peer_counts_get(&all->peers, peer);

    /* Everybody on a unix socket looks the same, and somebody let them in. */
    if (peer->unix_socket)
        limit = MAX(limit, most / 2);
    if (same >= limit || all->n_there >= most + ENDING_MAX)
        return false;
    if (tenure_of(peer) == TENURE_STRANGER && all->n[TENURE_STRANGER] >= most - connections_reserved(most))
        return make_room(all, TENURE_STRANGER, same);
    return n < most || make_room(all, TENURE_LOCAL, same);
}

static uint64_t next_deadline(const struct connections *all, enum deadline deadline)
{
    uint64_t next = UINT64_MAX;

    for (enum tenure k = 0; k < N_TENURES; k++)
        if (all->lists[deadline][k].first)
            next = MIN(next, all->lists[deadline][k].first->deadline_ns);
    return next;
}

void connections_arm(struct connections *all)
{
    uint64_t next = UINT64_MAX;

    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        next = MIN(next, next_deadline(all, i));
    if (next == UINT64_MAX)
        return;
    /* The short deadline of a first request is over: do not wake up for it while the connection is merely kept. */
    bool requests = next_deadline(all, DEADLINE_REQUEST) < UINT64_MAX;
    bool outdated = all->armed_for_request && !requests;
    if (all->armed_ns && all->armed_ns <= next && !outdated)
        return;
    all->armed_ns = next;
    all->armed_for_request = requests;
    sd_event_source_set_time(all->timer, next / 1000 + 1);
    sd_event_source_set_enabled(all->timer, SD_EVENT_ONESHOT);
}

void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata)
{
    for (enum deadline i = 0; i < N_DEADLINES; i++)
        for (enum tenure k = 0; k < N_TENURES; k++)
            for (struct connection *c = all->lists[i][k].first, *next; c; c = next) {
                next = c->next;
                visit(c, userdata);
            }
}

struct connection *connection_new(struct connections *all, struct mhd_loop *engine, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return NULL;
    connection->count = peer_counts_add(&all->peers, peer);
    if (!connection->count) {
        free(connection);
        return NULL;
    }
    connection->all = all;
    connection->engine = engine;
    connection->mhd = mhd;
    connection->fd = fd;
    connection->peer = *peer;
    connection->tenure = tenure_of(peer);
    connection->deadline = DEADLINE_NONE;
    list_append(connection);
    connection_set_deadline(connection, DEADLINE_REQUEST);
    all->n[connection->tenure]++;
    all->n_there++;
    return connection;
}

/* It does not count any more. */
static void leave(struct connection *connection)
{
    if (connection->ended)
        return;
    connection->ended = true;
    connection->all->n[connection->tenure]--;
    peer_counts_remove(&connection->all->peers, connection->count);
    connection->count = NULL;
}

struct connection *connection_free(struct connection *connection)
{
    if (!connection)
        return NULL;
    request_end(&connection->request);
    leave(connection);
    list_remove(connection);
    connection->all->n_there--;
    tls_unref(connection->tls);
    free(connection);
    return NULL;
}

void connection_update_tenure(struct connection *connection)
{
    const struct request *request = &connection->request;
    enum tenure tenure = connection->tenure;

    if (request_is_authenticated(request))
        tenure = TENURE_KNOWN;
    else if (request->verdict == VERDICT_WRONG)
        tenure = tenure_of(&connection->peer);
    if (connection->ended || tenure == connection->tenure)
        return;
    /* To the end of another list: out of order there until it has its deadline. */
    list_remove(connection);
    connection->all->n[connection->tenure]--;
    connection->tenure = tenure;
    connection->all->n[tenure]++;
    list_append(connection);
}

static void move(struct connection *connection, enum deadline deadline)
{
    struct connections *all = connection->all;
    uint64_t now = all->service->now(all->service->userdata);

    list_remove(connection);
    connection->deadline = deadline;
    connection->deadline_ns = now + deadline_time(all, deadline, connection->tenure);
    list_append(connection);
}

void connection_set_deadline(struct connection *connection, enum deadline deadline)
{
    if (!connection->ended)
        move(connection, deadline);
}

void connection_shutdown(struct connection *connection)
{
    connection->transport.ended = true;
    shutdown(connection->fd, SHUT_RDWR);
    move(connection, DEADLINE_NONE);
    leave(connection);
}

void connection_end(struct connection *connection)
{
    const union MHD_ConnectionInfo *info =
        connection->tls ? MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    if (info)
        gnutls_bye(info->tls_session, GNUTLS_SHUT_WR);
    connection_shutdown(connection);
}
