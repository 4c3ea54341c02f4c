/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libmicrohttpd daemon in the event loop: see mhd-loop.h.
 *
 * It calls back in this order: on_connection (started); for each request on_uri, on_request (headers), on_request
 * (body, if any), on_request (complete), on_completed; and on_connection (closed).
 */
#include "http/mhd-loop.h"

#include <gnutls/abstract.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "http/auth/gate.h"
#include "http/framing.h"

/* So often in a row it may run when it has something left to do, before others have their turn. */
#define RUNS_MAX 16
/* So often in a row it may run in vain; then it is tried again only so much later, or when something comes in. */
#define VAIN_RUNS_MAX 4
#define VAIN_PAUSE_USEC 20000

struct mhd_loop {
    struct site *site;
    struct connections *all;
    struct mhd_terms terms;
    struct MHD_Daemon *daemon;
    /* `again` is a timer, since a defer source that asks for another turn in each of its own is before all others. */
    sd_event_source *io, *again, *later;
    uint64_t progress; /* grows with whatever happens */
    unsigned n_connections;
    bool follows_heads; /* framing_is_followed() of this libmicrohttpd */
    bool retired;
    void (*on_empty)(void *userdata);
    void *on_empty_userdata;
};

/* libmicrohttpd has made the session, and its handshake has not begun: certificate and all else are ours. */
static int begin_tls(struct connection *connection, struct tls *tls)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int r = info && tls ? tls_begin(tls, info->tls_session) : -EPROTO;

    if (r < 0)
        return r;
    connection->tls = tls_ref(tls);
    connection->transport = (struct tls_transport){.fd = connection->fd, .progress = &connection->engine->progress};
    tls_transport_use(&connection->transport, info->tls_session);
    return 0;
}

/* Never called, since each session gets credentials of its own; without them a handshake fails here. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *cas, int n_cas,
                          const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificates,
                          unsigned *n_certificates, gnutls_privkey_t *key)
{
    (void)session, (void)cas, (void)n_cas, (void)algorithms, (void)n_algorithms;
    (void)certificates, (void)n_certificates, (void)key;
    return -1;
}

static struct connection *new_connection(struct mhd_loop *engine, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    if (!fd || getpeername(fd->connect_fd, (struct sockaddr *)&address, &size) < 0)
        size = 0;
    struct peer peer = peer_of((struct sockaddr *)&address, size);
    if (fd)
        peer_identify(&peer, fd->connect_fd, engine->terms.group);
    return fd ? connection_new(engine->all, engine, mhd, fd->connect_fd, &peer) : NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct mhd_loop *engine = userdata;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *connection = new_connection(engine, mhd);
        *context = connection;
        engine->n_connections += connection != NULL;
        if (connection && engine->terms.tls && begin_tls(connection, engine->site->security->tls) < 0)
            connection_shutdown(connection);
    } else if (*context) {
        *context = connection_free(*context);
        engine->n_connections--;
    }
}

static void wake(void *userdata)
{
    struct mhd_loop *engine = userdata;

    sd_event_source_set_time(engine->again, 0);
    sd_event_source_set_enabled(engine->again, SD_EVENT_ONESHOT);
}

static bool is_certified(const struct connection *connection)
{
    const union MHD_ConnectionInfo *info =
        connection->tls ? MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;

    return info && tls_peer_verified(info->tls_session);
}

/*
 * Each parameter takes libmicrohttpd 0.9.75 so many bytes of the connection's memory. Where they do not fit, together
 * with the headers of request and response, it gives no answer, and the client waits for its deadline. In what it calls
 * back with here it has looked for the question mark and for nothing behind it, so that a query can be taken away.
 */
#define PARAMETER_SIZE 64

static bool drop_long_query(char *uri, size_t memory)
{
    char *query = strchr(uri, '?');
    size_t size = strlen(uri);

    for (const char *at = query; at; at = strchr(at + 1, '&'))
        size += PARAMETER_SIZE;
    if (!query || size <= memory - memory / 4)
        return false;
    query[1] = '\0';
    return true;
}

/* What this returns is the request's context in the calls that follow. */
static void *on_uri(void *userdata, const char *uri, struct MHD_Connection *mhd)
{
    struct mhd_loop *engine = userdata;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info ? info->socket_context : NULL;

    engine->progress++;
    engine->site->look(engine->site->look_userdata);
    if (connection) {
        request_begin(&connection->request, engine->site, mhd, &connection->peer, uri);
        connection->request.query_too_long = drop_long_query((char *)uri, engine->terms.memory_per_connection);
        connection->request.certified = is_certified(connection);
        connection->request.wake = wake;
        connection->request.wake_userdata = engine;
    }
    return connection;
}

/* Queueing already on the first call would cost the connection, which is right only for what nobody reads. */
static enum MHD_Result first_call(struct connection *connection, const char *version)
{
    struct request *request = &connection->request;

    request->seen = true;
    connection_set_deadline(connection, DEADLINE_RESPONSE);
    return request_refuse_framing(request, version) || request_refuse_body(request) ? request_queue(request) : MHD_YES;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *mhd, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **context)
{
    struct connection *connection = *context;

    (void)userdata;
    (void)mhd;
    (void)body;
    if (!connection || connection->ended)
        return MHD_NO;
    struct request *request = &connection->request;
    connection->engine->progress++;
    request->path = path;
    request->method = method;
    if (!request->seen)
        return first_call(connection, connection->engine->follows_heads ? version : NULL);
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (!request->answered)
        gate_answer(request);
    bool waits = request_waits(request);
    connection_set_deadline(connection, request->penalty ? DEADLINE_HELD : waits ? DEADLINE_NONE : DEADLINE_RESPONSE);
    return waits ? MHD_YES : request_queue(request);
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct mhd_loop *engine = userdata;
    struct connection *connection = *context;

    (void)mhd;
    *context = NULL;
    engine->progress++;
    if (!connection)
        return;
    connection_update_tenure(connection);
    request_end(&connection->request);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        return;
    if (engine->retired)
        connection_end(connection);
    else
        connection_set_deadline(connection, DEADLINE_KEEPALIVE);
}

static void wake_later(struct mhd_loop *engine)
{
    sd_event_source_set_time_relative(engine->later, VAIN_PAUSE_USEC);
    sd_event_source_set_enabled(engine->later, SD_EVENT_ONESHOT);
}

/*
 * Lets libmicrohttpd work until it waits for the network. It has no timer of its own, since it was given no timeouts,
 * so MHD_get_timeout() says 0 or nothing.
 */
static void run(struct mhd_loop *engine)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    unsigned in_vain = 0;
    bool more = true;

    for (unsigned i = 0; i < RUNS_MAX && more && in_vain < VAIN_RUNS_MAX; i++) {
        uint64_t before = engine->progress;
        MHD_run(engine->daemon);
        more = MHD_get_timeout(engine->daemon, &timeout) == MHD_YES && timeout == 0;
        in_vain = engine->terms.tls && engine->progress == before ? in_vain + 1 : 0;
    }
    if (more && in_vain == VAIN_RUNS_MAX)
        wake_later(engine);
    else if (more)
        wake(engine);
    connections_arm(engine->all);
    if (engine->retired && engine->n_connections == 0)
        engine->on_empty(engine->on_empty_userdata);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    run(userdata);
    return 0;
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    run(userdata);
    return 0;
}

static struct MHD_Daemon *start_daemon(struct mhd_loop *engine)
{
    const struct mhd_terms *terms = &engine->terms;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | (terms->tls ? MHD_USE_TLS : 0);
    /* The end of the list for plain HTTP; functions are not taken in an array. */
    enum MHD_OPTION secure = terms->tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END;
    struct MHD_OptionItem options[] = {
        {FRAMING_STRICT, 1, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)terms->memory_per_connection, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)terms->connections + ENDING_MAX, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, engine},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, engine},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_uri, engine},
        {MHD_OPTION_END, 0, NULL},
    };

    /* ALPN is set by tls_begin(). */
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, engine, MHD_OPTION_ARRAY, options, secure, no_certificate,
                            MHD_OPTION_TLS_NO_ALPN, 1, MHD_OPTION_END);
}

static int attach(struct mhd_loop *engine)
{
    sd_event *event = engine->site->event;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (!info)
        return -ENOSYS;
    int r = sd_event_add_io(event, &engine->io, info->epoll_fd, EPOLLIN, on_io, engine);
    if (r >= 0)
        r = sd_event_add_time(event, &engine->again, CLOCK_MONOTONIC, 0, 1, on_again, engine);
    if (r >= 0)
        r = sd_event_source_set_enabled(engine->again, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(event, &engine->later, CLOCK_MONOTONIC, 0, 1000, on_again, engine);
    if (r >= 0)
        r = sd_event_source_set_enabled(engine->later, SD_EVENT_OFF);
    return r < 0 ? r : 0;
}

DEFINE_CLEANUP(struct mhd_loop *, mhd_loop_free);

int mhd_loop_new(struct site *site, struct connections *all, const struct mhd_terms *terms, struct mhd_loop **ret)
{
    _cleanup_(mhd_loop_freep) struct mhd_loop *engine = calloc(1, sizeof(*engine));

    if (!engine)
        return -ENOMEM;
    if (terms->tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return -EOPNOTSUPP;
    *engine = (struct mhd_loop){
        .site = site, .all = all, .terms = *terms, .follows_heads = framing_is_followed(MHD_get_version())};
    engine->daemon = start_daemon(engine);
    if (!engine->daemon)
        return -EIO;
    int r = attach(engine);
    if (r < 0)
        return r;
    *ret = steal(engine);
    return 0;
}

/* libmicrohttpd must not be stopped with a suspended connection; its request ends by on_completed. */
static void resume(struct connection *connection, void *userdata)
{
    if (connection->engine == userdata && request_waits(&connection->request))
        MHD_resume_connection(connection->mhd);
}

struct mhd_loop *mhd_loop_free(struct mhd_loop *engine)
{
    if (!engine)
        return NULL;
    sd_event_source_disable_unref(engine->io);
    sd_event_source_disable_unref(engine->again);
    sd_event_source_disable_unref(engine->later);
    if (engine->daemon) {
        connections_each(engine->all, resume, engine);
        MHD_stop_daemon(engine->daemon);
    }
    free(engine);
    return NULL;
}

/* Libmicrohttpd closes what it does not take. */
void mhd_loop_take(struct mhd_loop *engine, int fd, const struct sockaddr *address, socklen_t size)
{
    struct peer peer = peer_of(address, size);

    engine->progress++;
    engine->site->look(engine->site->look_userdata);
    if (!connections_admit(engine->all, &peer)) {
        close(fd);
        return;
    }
    MHD_add_connection(engine->daemon, fd, address, size);
    connections_arm(engine->all);
}

static void end_idle(struct connection *connection, void *userdata)
{
    if (connection->engine == userdata && connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
}

void mhd_loop_retire(struct mhd_loop *engine, void (*on_empty)(void *userdata), void *userdata)
{
    engine->retired = true;
    engine->on_empty = on_empty;
    engine->on_empty_userdata = userdata;
    connections_each(engine->all, end_idle, engine);
    wake(engine);
}
