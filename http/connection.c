/* SPDX-License-Identifier: Apache-2.0 */
/* The open connections of all listeners: see connection.h. */
#include "http/connection.h"

#include <gnutls/gnutls.h>

/* A deadline may be late by this much, so that it wakes the process together with something else. */
#define ACCURACY_USEC 10000

static const struct server_limits default_limits = {
    .connections = 512,
    .connections_per_address = 128,
    .memory_per_connection = 16384,
    .request_ns = 10 * NSEC_PER_SEC,
    .keepalive_ns = 300 * NSEC_PER_SEC,
    .response_ns = 60 * NSEC_PER_SEC,
};

static uint64_t deadline_time(const struct server_limits *limits, enum deadline deadline)
{
    const uint64_t times[N_DEADLINES] = {
        [DEADLINE_REQUEST] = limits->request_ns,
        [DEADLINE_KEEPALIVE] = limits->keepalive_ns,
        [DEADLINE_RESPONSE] = limits->response_ns,
        [DEADLINE_NONE] = 0,
    };
    return times[deadline];
}

static void list_remove(struct connection_list *list, struct connection *connection)
{
    *(connection->previous ? &connection->previous->next : &list->first) = connection->next;
    *(connection->next ? &connection->next->previous : &list->last) = connection->previous;
    connection->previous = connection->next = NULL;
}

static void list_append(struct connection_list *list, struct connection *connection)
{
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
        while (all->lists[i].first && all->lists[i].first->deadline_ns <= now)
            expire(all->lists[i].first);
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
void connections_set_limits(struct connections *all, const struct server_limits *limits)
{
    struct server_limits old = all->limits;

    all->limits = *limits;
    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        for (struct connection *c = all->lists[i].first; c; c = c->next)
            c->deadline_ns += deadline_time(&all->limits, i) - deadline_time(&old, i);
    connections_arm(all);
}

void connections_done(struct connections *all)
{
    all->timer = sd_event_source_disable_unref(all->timer);
}

bool connections_admit(const struct connections *all, const struct peer *peer)
{
    unsigned same = 0, limit = all->limits.connections_per_address;

    /* Everybody on a unix socket looks the same, and somebody let them in. */
    if (peer->unix_socket)
        limit = MAX(limit, all->limits.connections / 2);
    if (all->n >= all->limits.connections)
        return false;
    for (enum deadline i = 0; i < N_DEADLINES; i++)
        for (const struct connection *c = all->lists[i].first; c; c = c->next)
            same += peer_same(&c->peer, peer);
    return same < limit;
}

void connections_arm(struct connections *all)
{
    uint64_t next = UINT64_MAX;

    for (enum deadline i = 0; i < DEADLINE_NONE; i++)
        if (all->lists[i].first)
            next = MIN(next, all->lists[i].first->deadline_ns);
    if (next == UINT64_MAX)
        return;
    /* The short deadline of a first request is over: do not wake up for it while the connection is merely kept. */
    bool outdated = all->armed_for_request && !all->lists[DEADLINE_REQUEST].first;
    if (all->armed_ns && all->armed_ns <= next && !outdated)
        return;
    all->armed_ns = next;
    all->armed_for_request = all->lists[DEADLINE_REQUEST].first;
    sd_event_source_set_time(all->timer, next / 1000 + 1);
    sd_event_source_set_enabled(all->timer, SD_EVENT_ONESHOT);
}

void connections_each(struct connections *all, void (*visit)(struct connection *connection, void *userdata),
                      void *userdata)
{
    for (enum deadline i = 0; i < N_DEADLINES; i++)
        for (struct connection *c = all->lists[i].first, *next; c; c = next) {
            next = c->next;
            visit(c, userdata);
        }
}

struct connection *connection_new(struct connections *all, struct engine *engine, struct MHD_Connection *mhd, int fd,
                                  const struct peer *peer)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return NULL;
    connection->all = all;
    connection->engine = engine;
    connection->mhd = mhd;
    connection->fd = fd;
    connection->peer = *peer;
    connection->deadline = DEADLINE_NONE;
    list_append(&all->lists[DEADLINE_NONE], connection);
    connection_set_deadline(connection, DEADLINE_REQUEST);
    all->n++;
    return connection;
}

struct connection *connection_free(struct connection *connection)
{
    if (!connection)
        return NULL;
    request_end(&connection->request);
    list_remove(&connection->all->lists[connection->deadline], connection);
    connection->all->n--;
    tls_unref(connection->tls);
    free(connection);
    return NULL;
}

void connection_set_deadline(struct connection *connection, enum deadline deadline)
{
    struct connections *all = connection->all;

    list_remove(&all->lists[connection->deadline], connection);
    connection->deadline = deadline;
    connection->deadline_ns = all->service->now(all->service->userdata) + deadline_time(&all->limits, deadline);
    list_append(&all->lists[deadline], connection);
}

void connection_shutdown(struct connection *connection)
{
    connection->transport.ended = true;
    shutdown(connection->fd, SHUT_RDWR);
    connection_set_deadline(connection, DEADLINE_NONE);
}

void connection_end(struct connection *connection)
{
    const union MHD_ConnectionInfo *info =
        connection->tls ? MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    if (info)
        gnutls_bye(info->tls_session, GNUTLS_SHUT_WR);
    connection_shutdown(connection);
}
