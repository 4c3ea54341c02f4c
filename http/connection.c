/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection.h"

#include <gnutls/gnutls.h>

#include "base/timer.h"

/* How late a deadline may be handled, so that it can share a wakeup with other timers. */
#define ACCURACY_USEC 10000

/* How many connections of a list are examined to find one whose address has many connections. */
#define LOOKED_AT_MAX 64

static const struct server_limits default_limits = {
    .connections = 512,
    .connections_per_address = 128,
    .memory_per_connection = 16384,
    .request_ns = 10 * NSEC_PER_SEC,
    .keepalive_ns = 300 * NSEC_PER_SEC,
    .response_ns = 60 * NSEC_PER_SEC,
};

static uint64_t keepalive_time(const struct connections *all, enum connection_class connection_class)
{
    uint64_t longest = all->asking && connection_class != CONNECTION_KNOWN ? UNKNOWN_IDLE_NS : UINT64_MAX;

    return MIN(all->limits.keepalive_ns, longest);
}

static uint64_t deadline_time(const struct connections *all, enum deadline deadline,
                              enum connection_class connection_class)
{
    const uint64_t times[N_DEADLINES] = {
        [DEADLINE_REQUEST] = all->limits.request_ns,
        [DEADLINE_KEEPALIVE] = keepalive_time(all, connection_class),
        [DEADLINE_RESPONSE] = all->limits.response_ns,
    };
    return times[deadline];
}

static struct connection_list *connection_list(const struct connection *connection)
{
    return &connection->all->lists[connection->deadline][connection->connection_class];
}

static void connection_list_remove(struct connection *connection)
{
    TAILQ_REMOVE(connection_list(connection), connection, entry);
}

static void connection_list_append(struct connection *connection)
{
    TAILQ_INSERT_TAIL(connection_list(connection), connection, entry);
}

/* Makes the kernel discard the data that it still buffers for a client that does not read its response. */
static void connection_discard_unsent(const struct connection *connection)
{
    struct linger linger = {.l_onoff = 1};

    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* Ends the connection in the way that suits its current step. */
static void connection_stop(struct connection *connection)
{
    if (connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
    else
        connection_shutdown(connection);
}

static void connection_expire(struct connection *connection)
{
    if (connection->deadline == DEADLINE_RESPONSE)
        connection_discard_unsent(connection);
    connection_stop(connection);
}

static int connections_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct connections *all = userdata;
    struct connection *first;
    uint64_t now = service_now(all->service);

    (void)source;
    (void)usec;
    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
            while ((first = TAILQ_FIRST(&all->lists[i][k])) && first->deadline_ns <= now)
                connection_expire(first);
    all->armed_ns = 0;
    connections_arm(all);
    return 0;
}

int connections_init(struct connections *all, sd_event *event, const struct service *service,
                     const struct server_limits *limits)
{
    *all = (struct connections){.limits = limits ? *limits : default_limits, .service = service};
    for (enum deadline i = 0; i < N_DEADLINES; i++)
        for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
            TAILQ_INIT(&all->lists[i][k]);
    return timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, connections_on_timer, all, &all->timer);
}

/*
 * Adapts the deadlines to the new limits. All deadlines of a list move by the same amount, so the list stays ordered.
 */
static void connections_move_deadlines(struct connections *all, const struct connections *old)
{
    struct connection *c;

    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
            TAILQ_FOREACH (c, &all->lists[i][k], entry)
                c->deadline_ns += deadline_time(all, i, k) - deadline_time(old, i, k);
    connections_arm(all);
}

void connections_set_limits(struct connections *all, const struct server_limits *limits)
{
    const struct connections old = {.limits = all->limits, .asking = all->asking};

    all->limits = *limits;
    connections_move_deadlines(all, &old);
}

void connections_set_asking(struct connections *all, bool asking)
{
    const struct connections old = {.limits = all->limits, .asking = all->asking};

    all->asking = asking;
    connections_move_deadlines(all, &old);
}

void connections_done(struct connections *all)
{
    all->timer = sd_event_source_disable_unref(all->timer);
}

/* Returns the number of connection slots that strangers cannot use. A pure function. */
static unsigned connections_reserved(unsigned connections)
{
    return MIN(MAX(connections / RESERVED_SHARE, (unsigned)RESERVED_MIN), connections / 2);
}

static enum connection_class connection_class_of(const struct peer *peer)
{
    if (peer->unix_socket)
        return CONNECTION_KNOWN;
    return peer->local ? CONNECTION_LOCAL : CONNECTION_STRANGER;
}

/*
 * Returns the first connection near the head of the list whose address has at least `crowd` connections, or NULL if
 * there is none.
 */
static struct connection *find_crowded(const struct connection_list *list, unsigned crowd)
{
    struct connection *connection = TAILQ_FIRST(list);

    for (unsigned i = 0; connection && i < LOOKED_AT_MAX; i++, connection = TAILQ_NEXT(connection, entry))
        if (peer_count_n(connection->count) >= crowd)
            return connection;
    return NULL;
}

/*
 * Returns the connection to end, or NULL if there is none. Considers only connections of class `most` or lower, from
 * addresses with at least `crowd` connections. Lower classes come first, then connections between requests, and then
 * those that have waited longest.
 */
static struct connection *find_idle(struct connections *all, enum connection_class most, unsigned crowd)
{
    static const enum deadline order[] = {DEADLINE_KEEPALIVE, DEADLINE_HELD, DEADLINE_REQUEST};

    for (enum connection_class k = 0; k <= most; k++)
        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
            struct connection *connection = find_crowded(&all->lists[order[i]][k], crowd);
            if (connection)
                return connection;
        }
    return NULL;
}

/*
 * Ends a connection to make room for a new connection, whose address already has `same` connections. Returns false if
 * no connection may be ended. Addresses with many connections lose one first, then addresses with more connections than
 * the new connection's address. A flood of connections thus displaces itself, not other clients.
 */
static bool connections_make_room(struct connections *all, enum connection_class most, unsigned same)
{
    const unsigned crowds[] = {MAX(same + 1, all->limits.connections_per_address / 2), same + 1, same, 0};
    struct connection *connection = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(crowds) && !connection; i++)
        connection = find_idle(all, most, crowds[i]);
    if (!connection)
        return false;
    connection_stop(connection);
    if (connection->request.suspension.cut_short)
        connection->request.suspension.cut_short(&connection->request);
    return true;
}

bool connections_admit(struct connections *all, const struct peer *peer)
{
    unsigned most = all->limits.connections, limit = peer_limit(peer, most, all->limits.connections_per_address);
    unsigned n = all->n[CONNECTION_STRANGER] + all->n[CONNECTION_LOCAL] + all->n[CONNECTION_KNOWN];
    unsigned same = peer_counts_get(&all->peers, peer);

    if (same >= limit || all->n_there >= most + ENDING_MAX)
        return false;
    if (connection_class_of(peer) == CONNECTION_STRANGER &&
        all->n[CONNECTION_STRANGER] >= most - connections_reserved(most))
        return connections_make_room(all, CONNECTION_STRANGER, same);
    return n < most || connections_make_room(all, CONNECTION_LOCAL, same);
}

static uint64_t next_deadline(const struct connections *all, enum deadline deadline)
{
    uint64_t next = UINT64_MAX;

    for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
        if (!TAILQ_EMPTY(&all->lists[deadline][k]))
            next = MIN(next, TAILQ_FIRST(&all->lists[deadline][k])->deadline_ns);
    return next;
}

bool connections_are_answering(const struct connections *all)
{
    static const enum deadline busy[] = {DEADLINE_REQUEST, DEADLINE_RESPONSE, DEADLINE_NONE};
    const struct connection *connection;

    for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
        for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
            TAILQ_FOREACH (connection, &all->lists[busy[i]][k], entry)
                if (!connection->ended)
                    return true;
    return false;
}

void connections_arm(struct connections *all)
{
    uint64_t first_request = next_deadline(all, DEADLINE_REQUEST), next = first_request;

    for (enum deadline i = DEADLINE_REQUEST + 1; i < DEADLINE_NONE; i++)
        next = MIN(next, next_deadline(all, i));
    if (next == UINT64_MAX)
        return;
    /*
     * If the timer was set only for a first request, and that request has since arrived, reset the timer, so that it
     * does not wake the process while the connection is merely kept open.
     */
    bool requests = first_request < UINT64_MAX;
    bool outdated = all->armed_for_request && !requests;
    if (all->armed_ns && all->armed_ns <= next && !outdated)
        return;
    all->armed_ns = next;
    all->armed_for_request = requests;
    timer_arm_in(all->timer, usec_until(next, service_now(all->service)));
}

void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata)
{
    for (enum deadline i = 0; i < N_DEADLINES; i++)
        for (enum connection_class k = 0; k < N_CONNECTION_CLASSES; k++)
            for (struct connection *c = TAILQ_FIRST(&all->lists[i][k]), *next; c; c = next) {
                next = TAILQ_NEXT(c, entry);
                visit(c, userdata);
            }
}

struct connection *connection_new(struct connections *all, struct mhd_loop *loop, struct MHD_Connection *mhd, int fd,
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
    connection->loop = loop;
    connection->mhd = mhd;
    connection->fd = fd;
    connection->peer = *peer;
    connection->connection_class = connection_class_of(peer);
    connection->deadline = DEADLINE_NONE;
    connection_list_append(connection);
    connection_set_deadline(connection, DEADLINE_REQUEST);
    all->n[connection->connection_class]++;
    all->n_there++;
    return connection;
}

/* Stops counting the connection as open. */
static void connection_leave(struct connection *connection)
{
    if (connection->ended)
        return;
    connection->ended = true;
    connection->all->n[connection->connection_class]--;
    peer_counts_remove(&connection->all->peers, connection->count);
    connection->count = NULL;
}

struct connection *connection_free(struct connection *connection)
{
    if (!connection)
        return NULL;
    request_end(&connection->request);
    connection_leave(connection);
    connection_list_remove(connection);
    connection->all->n_there--;
    tls_unref(connection->tls);
    free(connection);
    return NULL;
}

void connection_update_class(struct connection *connection)
{
    const struct request *request = &connection->request;
    enum connection_class connection_class = connection->connection_class;

    if (request_is_authenticated(request))
        connection_class = CONNECTION_KNOWN;
    else if (request->result == PASSWORD_WRONG)
        connection_class = connection_class_of(&connection->peer);
    if (connection->ended || connection_class == connection->connection_class)
        return;
    /* Moves the connection to the end of its new class's list, whose order is restored by connection_set_deadline(). */
    connection_list_remove(connection);
    connection->all->n[connection->connection_class]--;
    connection->connection_class = connection_class;
    connection->all->n[connection_class]++;
    connection_list_append(connection);
}

static void connection_move(struct connection *connection, enum deadline deadline)
{
    struct connections *all = connection->all;
    uint64_t now = service_now(all->service);

    connection_list_remove(connection);
    connection->deadline = deadline;
    connection->deadline_ns = now + deadline_time(all, deadline, connection->connection_class);
    connection_list_append(connection);
}

void connection_set_deadline(struct connection *connection, enum deadline deadline)
{
    if (!connection->ended)
        connection_move(connection, deadline);
}

void connection_shutdown(struct connection *connection)
{
    connection->transport.ended = true;
    shutdown(connection->fd, SHUT_RDWR);
    connection_move(connection, DEADLINE_NONE);
    connection_leave(connection);
}

static const union MHD_ConnectionInfo *connection_tls_info(const struct connection *connection)
{
    return MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
}

int connection_begin_tls(struct connection *connection, struct tls *tls, uint64_t *progress)
{
    const union MHD_ConnectionInfo *info = connection_tls_info(connection);
    int r = info && tls ? tls_begin(tls, info->tls_session) : -EPROTO;

    if (r < 0)
        return r;
    connection->tls = tls_ref(tls);
    connection->transport = (struct tls_transport){.fd = connection->fd, .progress = progress};
    tls_transport_use(&connection->transport, info->tls_session);
    return 0;
}

bool connection_is_certified(const struct connection *connection)
{
    const union MHD_ConnectionInfo *info = connection->tls ? connection_tls_info(connection) : NULL;

    return info && tls_peer_is_known(info->tls_session);
}

void connection_end(struct connection *connection)
{
    const union MHD_ConnectionInfo *info = connection->tls ? connection_tls_info(connection) : NULL;

    if (info)
        gnutls_bye(info->tls_session, GNUTLS_SHUT_WR);
    connection_shutdown(connection);
}
