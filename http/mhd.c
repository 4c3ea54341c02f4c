/* SPDX-License-Identifier: Apache-2.0 */
#include "http/mhd.h"

#include <ctype.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <stdio.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/timer.h"
#include "http/mhd-compat.h"
#include "http/reply.h"
#include "http/routes.h"

struct head_check {
    const char *at;   /* end of the last header line that was followed; NULL if the head is not followed */
    const char *what; /* what makes the head ambiguous, for a message; NULL if nothing so far */
    const char *length;
    unsigned n_hosts, n_headers;
};

/* --- head check --- */

/*
 * How libmicrohttpd 0.9.72 to 0.9.76 parses a head (src/microhttpd/connection.c): get_next_header_line() splits the
 * buffer in place, and writes a NUL over each CR and LF at the end of a line. process_header_line() writes a NUL over
 * the first colon and skips blanks; the header's name and value point into the buffer. process_broken_line() appends a
 * line that begins with a blank to the *name* of the header before it: MHD_pool_reallocate() (memorypool.c) moves the
 * name to a new block or, if the name is the last block of the pool, extends the name over the value. Either way, a
 * folded line leaves a trace: the name, the value or the line end has moved, or the folded line still follows the
 * value.
 */

/*
 * Size of CR LF, which must end each line. Some malformed heads leave the same NULs behind as CR LF and are not
 * detected: a NUL in place of the CR; colon LF in place of the empty line, or colon CR LF there after a bare LF; and
 * lines before the request line that begin with a NUL, which libmicrohttpd skips. A proxy that conforms to RFC 9112
 * does not forward such heads; other proxies were not tested.
 */
#define LINE_END 2

/*
 * Instead of the size of the head, libmicrohttpd 0.9.72 reports the negative length of the final empty line: -2, or -1
 * for a bare LF. With libmicrohttpd 0.9.72, a bare LF at the end of the last header is not detected either.
 */
#define EMPTY_LINE_ALONE ((size_t)-LINE_END)

bool head_check_is_followed(const char *version)
{
    unsigned major, minor, micro;

    /*
     * If the version is unknown, heads are followed: valid heads may then be refused, but no ambiguous ones are
     * accepted.
     */
    if (sscanf(version, "%u.%u.%u", &major, &minor, &micro) != 3)
        return true;
    return major == 0 && (minor < 9 || (minor == 9 && micro < 77));
}

/* Returns whether the text is a token (RFC 9110, section 5.6.2). */
static bool is_token(const char *text)
{
    const char *at = text;

    while (isalnum((unsigned char)*at) || (*at && strchr("-_!#$%&'*+.^`|~", *at)))
        at++;
    return at > text && *at == '\0';
}

/*
 * Returns whether a header value contains forbidden control characters (RFC 9110, section 5.5). Some parsers mistake a
 * CR or NUL inside a value for the end of the line.
 */
static bool has_controls(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

static void head_check_refuse(struct head_check *head_check, const char *what)
{
    if (!head_check->what)
        head_check->what = what;
}

/*
 * Returns whether a line ends at `end` and the next line begins at `next`. The pointers may point into different
 * blocks, so `next` is compared, but never dereferenced.
 */
static bool line_follows(const char *end, const char *next)
{
    return (uintptr_t)next == (uintptr_t)end + LINE_END && end[0] == '\0' && end[1] == '\0';
}

/* Returns whether only a colon and blanks are between the header's name and its value. */
static bool belongs_to(const char *name, const char *value)
{
    const char *behind = name + strlen(name) + 1;

    return (uintptr_t)value >= (uintptr_t)behind && behind + strspn(behind, " \t") >= value;
}

static void head_check_follow(struct head_check *head_check, const char *name, const char *value)
{
    if (!head_check->at || head_check->what)
        return;
    if (line_follows(head_check->at, name) && value && belongs_to(name, value))
        head_check->at = value + strlen(value);
    else
        head_check_refuse(head_check, "a line that continues on the next, or does not end in CR LF");
}

/*
 * Begins the check of a request head. `version` is the last word of the request line in libmicrohttpd's buffer, or NULL
 * if the head is not followed.
 */
static void head_check_begin(struct head_check *head_check, const char *version)
{
    *head_check = (struct head_check){.at = version ? version + strlen(version) : NULL};
}

/* Checks one header. Must be called for every header, in order of appearance. */
static void head_check_header(struct head_check *head_check, const char *name, const char *value)
{
    head_check->n_headers++;
    if (!is_token(name))
        head_check_refuse(head_check, "a header name that is not a token");
    head_check_follow(head_check, name, value);
    value = value ? value : "";
    if (has_controls(value))
        head_check_refuse(head_check, "a control character");
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 && head_check->n_hosts++ > 0)
        head_check_refuse(head_check, "two hosts");
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) != 0)
        return;
    if (head_check->length && !str_equal(head_check->length, value))
        head_check_refuse(head_check, "two lengths");
    head_check->length = value;
}

/*
 * Checks the end of the head. `method` is the start of the head, and `size` is the size of the head, including the
 * empty line, as reported by libmicrohttpd. If the head is not followed, `method` and `size` are ignored.
 */
static void head_check_end(struct head_check *head_check, const char *method, size_t size)
{
    const char *at = head_check->at;
    const char *end = size == EMPTY_LINE_ALONE ? at + LINE_END + LINE_END : method + size;

    if (size == EMPTY_LINE_ALONE && head_check->n_headers == 0)
        return; /* no header could be folded, and only the empty line's size is known */
    /* The last header line and the empty line must both end in CR LF. */
    if (at && !head_check->what &&
        ((uintptr_t)end != (uintptr_t)at + LINE_END + LINE_END || !line_follows(at, at + LINE_END) ||
         !line_follows(at + LINE_END, end)))
        head_check_refuse(head_check, "a line that continues on the next, or does not end in CR LF");
}

/* --- loop --- */

/*
 * libmicrohttpd makes its callbacks in this order: mhd_on_connection (started); for each request mhd_on_uri,
 * mhd_on_request (headers), mhd_on_request (body, if any), mhd_on_request (complete), mhd_on_completed; finally
 * mhd_on_connection (closed).
 */

/* How many times in a row libmicrohttpd may run while it has work, before other event sources get their turn. */
#define RUNS_MAX 16
/* How many times in a row libmicrohttpd may run without progress, before it has to wait for a pause or for input. */
#define VAIN_RUNS_MAX 4
#define VAIN_PAUSE_USEC 20000
/* Request bodies up to this size are read and discarded, because some clients send needless bodies. */
#define BODY_MAX 1024

struct mhd_loop {
    struct site *site;
    struct connections *all;
    struct mhd_terms terms;
    struct MHD_Daemon *daemon;
    /*
     * `again` is a timer, because a defer source that is enabled again in each iteration would starve all other event
     * sources.
     */
    sd_event_source *io, *again, *later;
    uint64_t progress; /* counter, incremented by every callback and every transfer */
    unsigned n_connections;
    bool follows_heads; /* result of head_check_is_followed() at run time */
    bool retired;
    void (*on_empty)(void *userdata);
    void *on_empty_userdata;
};

/*
 * Never called, because each session gets its own credentials. The handshake of a session without credentials would
 * fail here.
 */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *cas, int n_cas,
                          const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificates,
                          unsigned *n_certificates, gnutls_privkey_t *key)
{
    (void)session, (void)cas, (void)n_cas, (void)algorithms, (void)n_algorithms;
    (void)certificates, (void)n_certificates, (void)key;
    return -1;
}

static struct connection *mhd_connection_new(struct mhd_loop *loop, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    if (!fd || getpeername(fd->connect_fd, (struct sockaddr *)&address, &size) < 0)
        size = 0;
    struct peer peer = peer_of((struct sockaddr *)&address, size);
    if (!fd)
        return NULL;
    peer_identify(&peer, fd->connect_fd, loop->terms.group);
    struct connection *connection = connection_new(loop->all, loop, mhd, fd->connect_fd, &peer);
    /* A connection without a `struct connection` has no deadline and is not counted, so it must be closed. */
    if (!connection)
        shutdown(fd->connect_fd, SHUT_RDWR);
    return connection;
}

static void mhd_on_connection(void *userdata, struct MHD_Connection *mhd, void **context,
                              enum MHD_ConnectionNotificationCode what)
{
    struct mhd_loop *loop = userdata;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *connection = mhd_connection_new(loop, mhd);
        *context = connection;
        loop->n_connections += connection != NULL;
        if (connection && loop->terms.tls &&
            connection_begin_tls(connection, loop->site->security->tls, &loop->progress) < 0)
            connection_shutdown(connection);
    } else if (*context) {
        *context = connection_free(*context);
        loop->n_connections--;
    }
}

static void mhd_loop_wake(void *userdata)
{
    struct mhd_loop *loop = userdata;

    timer_arm_in(loop->again, 0);
}

/* Must be called when a client connects or sends a request, so that the current web configuration applies to it. */
static void mhd_loop_on_client(struct mhd_loop *loop)
{
    loop->progress++;
    loop->site->check_files(loop->site);
}

/*
 * How much of the connection's memory libmicrohttpd needs for each query parameter. If the parameters and the request
 * and response headers do not fit together, libmicrohttpd does not reply, and the client waits until its deadline. With
 * libmicrohttpd 0.9.72, parameters and headers must fit into the half of the memory that is not the read buffer; a
 * quarter of that half is reserved for the headers here. When libmicrohttpd calls back with the URI, it has located the
 * question mark, but not yet parsed anything after it, so the query can be removed.
 */
#define PARAMETER_SIZE 64

static bool drop_long_query(char *uri, size_t memory)
{
    char *query = strchr(uri, '?');
    size_t size = strlen(uri);

    for (const char *at = query; at; at = strchr(at + 1, '&'))
        size += PARAMETER_SIZE;
    if (!query || size <= memory / 2 - memory / 8)
        return false;
    query[1] = '\0';
    return true;
}

/* Begins a request. The return value becomes the request's context in later callbacks. */
static void *mhd_on_uri(void *userdata, const char *uri, struct MHD_Connection *mhd)
{
    struct mhd_loop *loop = userdata;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info ? info->socket_context : NULL;

    mhd_loop_on_client(loop);
    if (connection) {
        request_begin(&connection->request, loop->site, mhd, &connection->peer, uri);
        connection->request.query_too_long = drop_long_query((char *)uri, loop->terms.memory_per_connection);
        connection->request.certified = connection_is_certified(connection);
        connection->request.wake = mhd_loop_wake;
        connection->request.wake_userdata = loop;
    }
    return connection;
}

static enum MHD_Result request_on_header(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    head_check_header(userdata, name, value);
    return MHD_YES;
}

/*
 * Refuses the request, by setting a reply, if its head is ambiguous. Returns whether the request was refused. `version`
 * is the version in the request line, in libmicrohttpd's buffer, or NULL if the head is not followed.
 */
static bool request_refuse_head(struct request *request, const char *version)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head_check head_check;

    head_check_begin(&head_check, size ? version : NULL);
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, request_on_header, &head_check);
    head_check_end(&head_check, request->method, size ? size->header_size : 0);
    if (head_check.what)
        reply_error(request, MHD_HTTP_BAD_REQUEST, "the headers are ambiguous: %s", head_check.what);
    return head_check.what != NULL;
}

/*
 * Refuses the request, by setting a reply, if its headers announce a body of unknown size, or a body that is too large
 * to discard. Returns whether the request was refused.
 */
static bool request_refuse_body(struct request *request)
{
    const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t size = 0;

    if (length && number_parse_u64(length, &size) < 0)
        size = UINT64_MAX;
    if (size <= BODY_MAX && !request_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return false;
    reply_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "a request needs no body here; at most %d bytes are accepted",
                BODY_MAX);
    return true;
}

/*
 * Handles the head of a request in the first callback. libmicrohttpd closes the connection after a reply that is queued
 * here, so only requests that are refused without reading their body are answered now.
 */
static enum MHD_Result request_on_head(struct connection *connection, const char *version)
{
    struct request *request = &connection->request;

    request->seen = true;
    connection_set_deadline(connection, DEADLINE_RESPONSE);
    return request_refuse_head(request, version) || request_refuse_body(request) ? request_queue(request) : MHD_YES;
}

static enum MHD_Result mhd_on_request(void *userdata, struct MHD_Connection *mhd, const char *path, const char *method,
                                      const char *version, const char *body, size_t *body_size, void **context)
{
    struct mhd_loop *loop = userdata;
    struct connection *connection = *context;

    (void)mhd;
    (void)body;
    if (!connection || connection->ended)
        return MHD_NO;
    struct request *request = &connection->request;
    loop->progress++;
    request->path = path;
    request->method = method;
    if (!request->seen)
        return request_on_head(connection, loop->follows_heads ? version : NULL);
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (!request->answered)
        dispatch_request(request);
    const struct suspension *suspension = &request->suspension;
    connection_set_deadline(connection, suspension->cut_short ? DEADLINE_HELD
                                        : suspension->active  ? DEADLINE_NONE
                                                              : DEADLINE_RESPONSE);
    if (suspension->active)
        return MHD_YES;
    if (!request->response) /* the reply did not fit in memory, but an error message may */
        reply_busy(request, REPLY_NO_MEMORY);
    return request_queue(request);
}

static void mhd_on_completed(void *userdata, struct MHD_Connection *mhd, void **context,
                             enum MHD_RequestTerminationCode why)
{
    struct mhd_loop *loop = userdata;
    struct connection *connection = *context;

    (void)mhd;
    *context = NULL;
    loop->progress++;
    if (!connection)
        return;
    connection_update_class(connection);
    request_end(&connection->request);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        return;
    if (loop->retired)
        connection_end(connection);
    else
        connection_set_deadline(connection, DEADLINE_KEEPALIVE);
}

/*
 * Lets libmicrohttpd work until it waits for the network. Since no timeouts are configured, libmicrohttpd has no timer
 * of its own, and MHD_get_timeout() reports either 0 or no timeout.
 */
static void mhd_loop_run(struct mhd_loop *loop)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    unsigned in_vain = 0;
    bool more = true;

    for (unsigned i = 0; i < RUNS_MAX && more && in_vain < VAIN_RUNS_MAX; i++) {
        uint64_t before = loop->progress;
        MHD_run(loop->daemon);
        more = MHD_get_timeout(loop->daemon, &timeout) == MHD_YES && timeout == 0;
        in_vain = loop->terms.tls && loop->progress == before ? in_vain + 1 : 0;
    }
    if (more && in_vain == VAIN_RUNS_MAX)
        timer_arm_in(loop->later, VAIN_PAUSE_USEC);
    else if (more)
        mhd_loop_wake(loop);
    connections_arm(loop->all);
    if (loop->retired && loop->n_connections == 0)
        loop->on_empty(loop->on_empty_userdata);
}

static int mhd_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    mhd_loop_run(userdata);
    return 0;
}

static int mhd_on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    mhd_loop_run(userdata);
    return 0;
}

static struct MHD_Daemon *mhd_daemon_start(struct mhd_loop *loop)
{
    const struct mhd_terms *terms = &loop->terms;
    unsigned flags =
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | (terms->tls ? MHD_USE_TLS : 0);
    /*
     * The certificate callback is passed outside the option array, which can only hold pointers to objects. For plain
     * HTTP, MHD_OPTION_END takes its place and ends the list.
     */
    enum MHD_OPTION secure = terms->tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END;
    struct MHD_OptionItem options[] = {
        {HEAD_CHECK_STRICT, 1, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)terms->memory_per_connection, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)terms->connections + ENDING_MAX, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)mhd_on_connection, loop},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)mhd_on_completed, loop},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)mhd_on_uri, loop},
        {MHD_OPTION_END, 0, NULL},
    };

    /*
     * ALPN is set by tls_begin(). The priorities "NORMAL" are the default, but must be given: otherwise libmicrohttpd
     * 0.9.75 starts even if there is no memory for the default priorities, and then no client can connect
     * (MHD_start_daemon_va()).
     */
    return MHD_start_daemon(flags, 0, NULL, NULL, mhd_on_request, loop, MHD_OPTION_ARRAY, options, secure,
                            no_certificate, MHD_OPTION_TLS_NO_ALPN, 1, MHD_OPTION_HTTPS_PRIORITIES, "NORMAL",
                            MHD_OPTION_END);
}

static int mhd_loop_attach(struct mhd_loop *loop)
{
    sd_event *event = loop->site->event;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (!info)
        return -ENOSYS;
    int r = sd_event_add_io(event, &loop->io, info->epoll_fd, EPOLLIN, mhd_on_io, loop);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, 1, mhd_on_again, loop, &loop->again);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, 1000, mhd_on_again, loop, &loop->later);
    return r < 0 ? r : 0;
}

DEFINE_CLEANUP(struct mhd_loop *, mhd_loop_free);

int mhd_loop_new(struct site *site, struct connections *all, const struct mhd_terms *terms, struct mhd_loop **ret)
{
    _cleanup_(mhd_loop_freep) struct mhd_loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return -ENOMEM;
    if (terms->tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return -EOPNOTSUPP;
    *loop = (struct mhd_loop){
        .site = site, .all = all, .terms = *terms, .follows_heads = head_check_is_followed(MHD_get_version())};
    errno = 0;
    loop->daemon = mhd_daemon_start(loop);
    if (!loop->daemon)
        return errno ? -errno : -EIO;
    int r = mhd_loop_attach(loop);
    if (r < 0)
        return r;
    *ret = steal(loop);
    return 0;
}

/*
 * Resumes the connection if it is suspended, because libmicrohttpd must not be stopped while connections are suspended.
 * The request ends in mhd_on_completed().
 */
static void connection_resume_for_stop(struct connection *connection, void *userdata)
{
    if (connection->loop == userdata && connection->request.suspension.active)
        MHD_resume_connection(connection->mhd);
}

struct mhd_loop *mhd_loop_free(struct mhd_loop *loop)
{
    if (!loop)
        return NULL;
    sd_event_source_disable_unref(loop->io);
    sd_event_source_disable_unref(loop->again);
    sd_event_source_disable_unref(loop->later);
    if (loop->daemon) {
        connections_each(loop->all, connection_resume_for_stop, loop);
        MHD_stop_daemon(loop->daemon);
    }
    free(loop);
    return NULL;
}

/* If libmicrohttpd does not accept the client, it closes the socket. */
void mhd_loop_take(struct mhd_loop *loop, int fd, const struct sockaddr *address, socklen_t size)
{
    struct peer peer = peer_of(address, size);

    mhd_loop_on_client(loop);
    if (!connections_admit(loop->all, &peer)) {
        close(fd);
        return;
    }
    unsigned before = loop->n_connections;
    MHD_add_connection(loop->daemon, fd, address, size);
    /*
     * libmicrohttpd 1.0 reports a new connection only in its next run. A connection is not counted before it is
     * reported, so clients that arrive together could exceed the limits.
     */
    if (loop->n_connections == before)
        MHD_run(loop->daemon);
    connections_arm(loop->all);
}

static void connection_end_if_idle(struct connection *connection, void *userdata)
{
    if (connection->loop == userdata && connection->deadline == DEADLINE_KEEPALIVE)
        connection_end(connection);
}

void mhd_loop_retire(struct mhd_loop *loop, void (*on_empty)(void *userdata), void *userdata)
{
    loop->retired = true;
    loop->on_empty = on_empty;
    loop->on_empty_userdata = userdata;
    connections_each(loop->all, connection_end_if_idle, loop);
    mhd_loop_wake(loop);
}
