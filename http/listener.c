/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address that is listened on: see listener.h.
 *
 * libmicrohttpd calls back in this order: on_accept, on_connection (started); then for each request on_uri, on_request
 * (headers), on_request (body, if any), on_request (complete), on_completed; and on_connection (closed).
 */
#include "http/listener.h"

#include <sys/epoll.h>

#include "base/cleanup.h"
#include "config/address.h"
#include "http/reply.h"
#include "http/routes.h"
#include "http/socket.h"

/* So often in a row it may run when it has something left to do, before others have their turn. */
#define RUNS_MAX 16

struct listener {
    struct site *site;
    struct connections *all;
    char *address, *url;
    struct socket_file file;
    int quiesced_fd; /* the socket, once it is ours again; -1 */
    struct MHD_Daemon *daemon;
    sd_event_source *io, *again;
    unsigned n_connections;
    bool retired;
    void (*on_empty)(struct listener *listener, void *userdata);
    void *on_empty_userdata;
};

static enum MHD_Result on_accept(void *userdata, const struct sockaddr *address, socklen_t size)
{
    struct listener *listener = userdata;
    struct peer peer = peer_of(address, size);

    return connections_admit(listener->all, &peer) ? MHD_YES : MHD_NO;
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
        *context = new_connection(listener, mhd);
        listener->n_connections += *context != NULL;
    } else if (*context) {
        *context = connection_free(*context);
        listener->n_connections--;
    }
}

static void wake(void *userdata)
{
    struct listener *listener = userdata;

    sd_event_source_set_enabled(listener->again, SD_EVENT_ONESHOT);
}

/* What this returns is the request's context in the calls that follow. */
static void *on_uri(void *userdata, const char *uri, struct MHD_Connection *mhd)
{
    struct listener *listener = userdata;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info ? info->socket_context : NULL;

    if (connection) {
        request_begin(&connection->request, listener->site, mhd, connection->peer.local, uri);
        connection->request.wake = wake;
        connection->request.wake_userdata = listener;
    }
    return connection;
}

/* Queueing already on the first call would cost the connection, which is right only for a body that nobody reads. */
static enum MHD_Result first_call(struct connection *connection)
{
    struct request *request = &connection->request;

    request->seen = true;
    connection_set_deadline(connection, DEADLINE_RESPONSE);
    return request_refuse_body(request) ? request_queue(request) : MHD_YES;
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
    request->path = path;
    request->method = method;
    if (!request->seen)
        return first_call(connection);
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (!request->answered) {
        request->answered = true;
        routes_answer(request);
    }
    connection_set_deadline(connection, request->wait ? DEADLINE_NONE : DEADLINE_RESPONSE);
    return request->wait ? MHD_YES : request_queue(request);
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct listener *listener = userdata;
    struct connection *connection = *context;

    (void)mhd;
    *context = NULL;
    if (!connection)
        return;
    request_end(&connection->request);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        return;
    if (listener->retired)
        connection_shutdown(connection);
    else
        connection_set_deadline(connection, DEADLINE_KEEPALIVE);
}

/*
 * Lets libmicrohttpd work until it waits for the network. It has no timer of its own, since it was given no timeouts,
 * so MHD_get_timeout() says 0 or nothing.
 */
static void run(struct listener *listener)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    bool more = true;

    for (unsigned i = 0; i < RUNS_MAX && more; i++) {
        MHD_run(listener->daemon);
        more = MHD_get_timeout(listener->daemon, &timeout) == MHD_YES && timeout == 0;
    }
    if (more)
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

static int on_again(sd_event_source *source, void *userdata)
{
    (void)source;
    run(userdata);
    return 0;
}

static struct MHD_Daemon *start_daemon(struct listener *listener, int fd)
{
    const struct server_limits *limits = &listener->all->limits;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)limits->memory_per_connection, NULL},
        /* One above ours, so that it is on_accept that refuses, at once: at its own limit it leaves clients waiting. */
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limits->connections + 1, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, listener},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, listener},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_uri, listener},
        {MHD_OPTION_END, 0, NULL},
    };

    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, on_accept, listener, on_request, listener,
                            MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static int attach(struct listener *listener)
{
    sd_event *event = listener->site->event;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (!info)
        return -ENOSYS;
    int r = sd_event_add_io(event, &listener->io, info->epoll_fd, EPOLLIN, on_io, listener);
    if (r < 0)
        return r;
    r = sd_event_add_defer(event, &listener->again, on_again, listener);
    return r < 0 ? r : sd_event_source_set_enabled(listener->again, SD_EVENT_OFF);
}

DEFINE_CLEANUP(struct listener *, listener_free);

int listener_open(struct site *site, struct connections *all, const char *address, struct listener **ret,
                  struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = calloc(1, sizeof(*listener));
    _cleanup_(closep) int fd = -1;

    if (!listener)
        return error_oom(error);
    *listener = (struct listener){.site = site, .all = all, .quiesced_fd = -1, .address = strdup(address)};
    if (!listener->address)
        return error_oom(error);
    int r = socket_listen(address, &fd, &listener->url, &listener->file, error);
    if (r < 0)
        return r;
    listener->daemon = start_daemon(listener, fd);
    if (!listener->daemon)
        return error_set(error, -EIO, "cannot listen on \"%.128s\": libmicrohttpd did not start", address);
    steal_fd(&fd);
    r = attach(listener);
    if (r < 0)
        return error_set(error, r, "cannot listen on \"%.128s\": %s", address, strerror(-r));
    *ret = steal(listener);
    return 0;
}

int listener_adopt(struct site *site, struct connections *all, int fd, struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = calloc(1, sizeof(*listener));
    _cleanup_(closep) int own = fd;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof(bound);

    if (!listener)
        return error_oom(error);
    *listener = (struct listener){.site = site, .all = all, .quiesced_fd = -1};
    if (getsockname(own, (struct sockaddr *)&bound, &size) < 0)
        return error_set(error, -errno, "a socket that was handed over has no address: %s", strerror(errno));
    listener->url = address_format((struct sockaddr *)&bound, size);
    listener->address = listener->url ? strdup(listener->url) : NULL;
    if (!listener->address)
        return error_oom(error);
    listener->daemon = start_daemon(listener, own);
    if (!listener->daemon)
        return error_set(error, -EIO, "cannot listen on \"%.128s\": libmicrohttpd did not start", listener->url);
    steal_fd(&own);
    int r = attach(listener);
    if (r < 0)
        return error_set(error, r, "cannot listen on \"%.128s\": %s", listener->url, strerror(-r));
    *ret = steal(listener);
    return 0;
}

/* libmicrohttpd must not be stopped with a suspended connection; its request ends by on_completed. */
static void resume(struct connection *connection, void *userdata)
{
    if (connection->listener == userdata && connection->request.wait)
        MHD_resume_connection(connection->mhd);
}

struct listener *listener_free(struct listener *listener)
{
    if (!listener)
        return NULL;
    sd_event_source_disable_unref(listener->io);
    sd_event_source_disable_unref(listener->again);
    if (listener->daemon) {
        connections_each(listener->all, resume, listener);
        MHD_stop_daemon(listener->daemon);
    }
    if (listener->quiesced_fd >= 0)
        close(listener->quiesced_fd);
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
        connection_shutdown(connection);
}

void listener_retire(struct listener *listener, void (*on_empty)(struct listener *listener, void *userdata),
                     void *userdata)
{
    listener->retired = true;
    listener->on_empty = on_empty;
    listener->on_empty_userdata = userdata;
    listener->quiesced_fd = MHD_quiesce_daemon(listener->daemon);
    if (listener->quiesced_fd >= 0)
        close(steal_fd(&listener->quiesced_fd));
    socket_file_done(&listener->file);
    connections_each(listener->all, end_idle, listener);
    wake(listener);
}
