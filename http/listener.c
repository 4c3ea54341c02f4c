/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address that is listened on: see listener.h.
 *
 * Who connects comes by take(). Then libmicrohttpd calls back in this order: on_connection (started); for each request
 * on_uri, on_request (headers), on_request (body, if any), on_request (complete), on_completed; and on_connection
 * (closed).
 */
#include "http/listener.h"

#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "http/acceptor.h"
#include "http/gate.h"
#include "http/reply.h"
#include "http/socket.h"

/* So often in a row it may run when it has something left to do, before others have their turn. */
#define RUNS_MAX 16
/* So often in a row it may run in vain; then it is tried again only so much later, or when something comes in. */
#define VAIN_RUNS_MAX 4
#define VAIN_PAUSE_USEC 20000

struct listener {
    struct site *site;
    struct connections *all;
    char *address, *url;
    struct listener_terms terms;
    struct socket_file file;
    struct acceptor *acceptor; /* NULL: it is retired */
    struct MHD_Daemon *daemon;
    /* `again` is a timer, since a defer source that asks for another turn in each of its own is before all others. */
    sd_event_source *io, *again, *later;
    uint64_t progress; /* grows with whatever happens */
    unsigned n_connections;
    bool retired;
    void (*on_empty)(struct listener *listener, void *userdata);
    void *on_empty_userdata;
};

/* Libmicrohttpd closes what it does not take. */
static void take(void *userdata, int fd, const struct sockaddr *address, socklen_t size)
{
    struct listener *listener = userdata;
    struct peer peer = peer_of(address, size);

    listener->progress++;
    listener->site->look(listener->site->look_userdata);
    if (!connections_admit(listener->all, &peer)) {
        close(fd);
        return;
    }
    MHD_add_connection(listener->daemon, fd, address, size);
    connections_arm(listener->all);
}

static void starve(void *userdata, int error)
{
    const struct listener *listener = userdata;
    const struct service *service = listener->site->service;
    char sentence[512];

    snprintf(sentence, sizeof(sentence), "clients of %.200s wait to be accepted: %s (%s)%s", listener->url,
             strerror(-error), strerrorname_np(-error),
             error == -EMFILE ? ": raise the limit of open files (LimitNOFILE= of the unit)" : "");
    if (service->complain)
        service->complain(service->userdata, sentence);
}

/* libmicrohttpd has made the session, and its handshake has not begun: certificate and all else are ours. */
static int begin_tls(struct connection *connection, struct tls *tls)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int r = info && tls ? tls_begin(tls, info->tls_session) : -EPROTO;

    if (r < 0)
        return r;
    connection->tls = tls_ref(tls);
    connection->transport = (struct tls_transport){.fd = connection->fd, .progress = &connection->listener->progress};
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

static struct connection *new_connection(struct listener *listener, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    if (!fd || getpeername(fd->connect_fd, (struct sockaddr *)&address, &size) < 0)
        size = 0;
    struct peer peer = peer_of((struct sockaddr *)&address, size);
    return fd ? connection_new(listener->all, listener, mhd, fd->connect_fd, &peer) : NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct listener *listener = userdata;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *connection = new_connection(listener, mhd);
        *context = connection;
        listener->n_connections += connection != NULL;
        if (connection && listener->terms.tls && begin_tls(connection, listener->site->security->tls) < 0)
            connection_shutdown(connection);
    } else if (*context) {
        *context = connection_free(*context);
        listener->n_connections--;
    }
}

static void wake(void *userdata)
{
    struct listener *listener = userdata;

    sd_event_source_set_time(listener->again, 0);
    sd_event_source_set_enabled(listener->again, SD_EVENT_ONESHOT);
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
    struct listener *listener = userdata;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info ? info->socket_context : NULL;

    listener->progress++;
    listener->site->look(listener->site->look_userdata);
    if (connection) {
        request_begin(&connection->request, listener->site, mhd, &connection->peer, uri);
        connection->request.query_too_long = drop_long_query((char *)uri, listener->terms.memory_per_connection);
        connection->request.certified = is_certified(connection);
        connection->request.wake = wake;
        connection->request.wake_userdata = listener;
    }
    return connection;
}

/* Queueing already on the first call would cost the connection, which is right only for what nobody reads. */
static enum MHD_Result first_call(struct connection *connection)
{
    struct request *request = &connection->request;

    request->seen = true;
    connection_set_deadline(connection, DEADLINE_RESPONSE);
    return request_refuse_framing(request) || request_refuse_body(request) ? request_queue(request) : MHD_YES;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *mhd, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **context)
{
    struct connection *connection = *context;

    (void)userdata;
    (void)mhd;
    (void)version;
    (void)body;
    if (!connection)
        return MHD_NO;
    struct request *request = &connection->request;
    connection->listener->progress++;
    request->path = path;
    request->method = method;
    if (!request->seen)
        return first_call(connection);
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (!request->answered)
        gate_answer(request);
    bool waits = request_waits(request);
    connection_set_deadline(connection, waits ? DEADLINE_NONE : DEADLINE_RESPONSE);
    return waits ? MHD_YES : request_queue(request);
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct listener *listener = userdata;
    struct connection *connection = *context;

    (void)mhd;
    *context = NULL;
    listener->progress++;
    if (!connection)
        return;
    request_end(&connection->request);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        return;
    if (listener->retired)
        connection_end(connection);
    else
        connection_set_deadline(connection, DEADLINE_KEEPALIVE);
}

static void wake_later(struct listener *listener)
{
    sd_event_source_set_time_relative(listener->later, VAIN_PAUSE_USEC);
    sd_event_source_set_enabled(listener->later, SD_EVENT_ONESHOT);
}

/*
 * Lets libmicrohttpd work until it waits for the network. It has no timer of its own, since it was given no timeouts,
 * so MHD_get_timeout() says 0 or nothing.
 */
static void run(struct listener *listener)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    unsigned in_vain = 0;
    bool more = true;

    for (unsigned i = 0; i < RUNS_MAX && more && in_vain < VAIN_RUNS_MAX; i++) {
        uint64_t before = listener->progress;
        MHD_run(listener->daemon);
        more = MHD_get_timeout(listener->daemon, &timeout) == MHD_YES && timeout == 0;
        in_vain = listener->terms.tls && listener->progress == before ? in_vain + 1 : 0;
    }
    if (more && in_vain == VAIN_RUNS_MAX)
        wake_later(listener);
    else if (more)
        wake(listener);
    connections_arm(listener->all);
    if (listener->retired && listener->n_connections == 0)
        listener->on_empty(listener, listener->on_empty_userdata);
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

static struct MHD_Daemon *start_daemon(struct listener *listener)
{
    const struct listener_terms *terms = &listener->terms;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | (terms->tls ? MHD_USE_TLS : 0);
    /* The end of the list for plain HTTP; functions are not taken in an array. */
    enum MHD_OPTION secure = terms->tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)terms->memory_per_connection, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)terms->connections, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, listener},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, listener},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_uri, listener},
        {MHD_OPTION_END, 0, NULL},
    };

    /* ALPN is set by tls_begin(). */
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, listener, MHD_OPTION_ARRAY, options, secure,
                            no_certificate, MHD_OPTION_TLS_NO_ALPN, 1, MHD_OPTION_END);
}

/* Takes the socket over on success. */
static int attach(struct listener *listener, int *fd)
{
    const struct acceptor_calls calls = {.take = take, .starve = starve, .userdata = listener};
    sd_event *event = listener->site->event;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (!info)
        return -ENOSYS;
    int r = sd_event_add_io(event, &listener->io, info->epoll_fd, EPOLLIN, on_io, listener);
    if (r < 0)
        return r;
    r = sd_event_add_time(event, &listener->again, CLOCK_MONOTONIC, 0, 1, on_again, listener);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->again, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(event, &listener->later, CLOCK_MONOTONIC, 0, 1000, on_again, listener);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->later, SD_EVENT_OFF);
    if (r >= 0)
        r = acceptor_new(event, *fd, &calls, &listener->acceptor);
    if (r < 0)
        return r;
    steal_fd(fd);
    return 0;
}

DEFINE_CLEANUP(struct listener *, listener_free);

static struct listener *new_listener(struct site *site, struct connections *all, const struct listener_terms *terms)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener)
        *listener = (struct listener){.site = site, .all = all, .terms = *terms};
    return listener;
}

/* A URL with the scheme that is spoken here. */
static int fix_scheme(struct listener *listener)
{
    const char *rest = strstr(listener->url, "://");
    char *url;

    if (!rest)
        return 0;
    if (asprintf(&url, "http%s%s", listener->terms.tls ? "s" : "", rest) < 0)
        return -ENOMEM;
    free(listener->url);
    listener->url = url;
    return 0;
}

/* For one that has address and URL; takes the socket over on success. */
static int serve(struct listener *listener, int *fd, struct error *error)
{
    if (fix_scheme(listener) < 0)
        return error_oom(error);
    if (listener->terms.tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(error, -EOPNOTSUPP, "this libmicrohttpd was built without TLS");
    listener->daemon = start_daemon(listener);
    if (!listener->daemon)
        return error_set(error, -EIO, "cannot listen on \"%.128s\": libmicrohttpd did not start", listener->address);
    int r = attach(listener, fd);
    if (r < 0)
        return error_set(error, r, "cannot listen on \"%.128s\": %s", listener->address, strerror(-r));
    return 0;
}

int listener_open(struct site *site, struct connections *all, const char *address, const struct listener_terms *terms,
                  struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = new_listener(site, all, terms);
    _cleanup_(closep) int fd = -1;

    if (!listener || !(listener->address = strdup(address)))
        return error_oom(error);
    int r = socket_listen(address, &fd, &listener->url, &listener->file, error);
    if (r == 0)
        r = serve(listener, &fd, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

int listener_adopt(struct site *site, struct connections *all, int fd, const struct listener_terms *terms,
                   struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = new_listener(site, all, terms);
    _cleanup_(closep) int own = -1;

    if (!listener)
        return error_oom(error);
    int r = socket_adopt(fd, &own, &listener->url, error);
    if (r < 0)
        return r;
    listener->address = strdup(listener->url);
    r = listener->address ? serve(listener, &own, error) : error_oom(error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

int listener_succeed(const struct listener *before, const struct listener_terms *terms, struct listener **ret,
                     struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = new_listener(before->site, before->all, terms);
    _cleanup_(closep) int fd = fcntl(acceptor_fd(before->acceptor), F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return error_set(error, -errno, "cannot listen on \"%.128s\": %s", before->address, strerror(errno));
    if (!listener || !(listener->address = strdup(before->address)) || !(listener->url = strdup(before->url)))
        return error_oom(error);
    int r = serve(listener, &fd, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

void listener_inherit(struct listener *listener, struct listener *before)
{
    listener->file = before->file;
    before->file = (struct socket_file){0};
}

bool listener_is_on(const struct listener *listener, const struct listener_terms *terms)
{
    return listener->terms.tls == terms->tls && listener->terms.connections == terms->connections &&
           listener->terms.memory_per_connection == terms->memory_per_connection;
}

/* libmicrohttpd must not be stopped with a suspended connection; its request ends by on_completed. */
static void resume(struct connection *connection, void *userdata)
{
    if (connection->listener == userdata && request_waits(&connection->request))
        MHD_resume_connection(connection->mhd);
}

struct listener *listener_free(struct listener *listener)
{
    if (!listener)
        return NULL;
    acceptor_free(listener->acceptor);
    sd_event_source_disable_unref(listener->io);
    sd_event_source_disable_unref(listener->again);
    sd_event_source_disable_unref(listener->later);
    if (listener->daemon) {
        connections_each(listener->all, resume, listener);
        MHD_stop_daemon(listener->daemon);
    }
    socket_file_done(&listener->file);
    free(listener->address);
    free(listener->url);
    free(listener);
    return NULL;
}

const char *listener_address(const struct listener *listener)
{
    return listener->address;
}

const char *listener_url(const struct listener *listener)
{
    return listener->url;
}

static void end_idle(struct connection *connection, void *userdata)
{
    if (connection->listener == userdata && connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
}

void listener_retire(struct listener *listener, void (*on_empty)(struct listener *listener, void *userdata),
                     void *userdata)
{
    listener->retired = true;
    listener->on_empty = on_empty;
    listener->on_empty_userdata = userdata;
    listener->acceptor = acceptor_free(listener->acceptor);
    socket_file_done(&listener->file);
    connections_each(listener->all, end_idle, listener);
    wake(listener);
}
