/* SPDX-License-Identifier: Apache-2.0 */
#include "top/http-get.h"

#include <netdb.h>
#include <stdio.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/timer.h"

/* --- address --- */

void top_address_done(struct top_address *address)
{
    free(address->path);
    free(address->host);
    free(address->port);
    free(address->authority);
    free(address->prefix);
    *address = (struct top_address){0};
}

static int parse_unix(const char *path, struct top_address *address, struct error *error)
{
    struct sockaddr_un sockaddr;

    if (path[0] != '/' || strlen(path) >= sizeof(sockaddr.sun_path))
        return error_set(error, -EINVAL,
                         "--url: \"unix:\" needs an absolute path of at most %zu bytes, as in "
                         "unix:/run/perfcountd.sock",
                         sizeof(sockaddr.sun_path) - 1);
    address->path = strdup(path);
    address->authority = strdup("localhost");
    address->prefix = strdup("");
    return address->path && address->authority && address->prefix ? 0 : error_oom(error);
}

/* Returns whether the text contains a character that is invalid in a request line or would end the path. */
static bool has_bad_character(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 127 || strchr("\"<>\\^`{|}?#", *text))
            return true;
    return false;
}

/* Splits an authority ("HOST", "HOST:PORT", "[IPv6]" or "[IPv6]:PORT") into host and port. */
static int parse_authority(struct top_address *address)
{
    const char *host = address->authority, *end = host + strcspn(host, ":"), *port = end;

    if (*host == '[') {
        end = strchr(++host, ']');
        port = end ? end + 1 : NULL;
    }
    if (!port || end == host || (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))))
        return -EINVAL;
    address->host = strndup(host, (size_t)(end - host));
    address->port = strdup(port[0] && port[1] ? port + 1 : "80");
    return address->host && address->port ? 0 : -ENOMEM;
}

static int parse_http(const char *rest, struct top_address *address, struct error *error)
{
    size_t size = strcspn(rest, "/"), prefix = strlen(rest) - size;

    while (prefix > 0 && rest[size + prefix - 1] == '/')
        prefix--;
    if (memchr(rest, '@', size))
        return error_set(error, -EPROTONOSUPPORT,
                         "--url: passwords are not supported, since http would send them "
                         "unencrypted; use the unix socket of that machine: ssh -L "
                         "10298:/run/perfcountd.sock HOST, and --url=http://127.0.0.1:10298");
    address->authority = strndup(rest, size);
    address->prefix = strndup(rest + size, prefix);
    if (!address->authority || !address->prefix)
        return error_oom(error);
    int r = has_bad_character(rest) ? -EINVAL : parse_authority(address);
    if (r == -EINVAL)
        return error_set(error, r, "--url: expected http://HOST:PORT, found \"http://%.128s\"", rest);
    return r < 0 ? error_oom(error) : 0;
}

int top_address_parse(const char *url, struct top_address *ret, struct error *error)
{
    _cleanup_(top_address_done) struct top_address address = {0};
    int r;

    if (str_starts(url, "unix:"))
        r = parse_unix(url + 5, &address, error);
    else if (str_starts(url, "http://"))
        r = parse_http(url + 7, &address, error);
    else if (str_starts(url, "https://"))
        r = error_set(error, -EPROTONOSUPPORT,
                      "--url: https is not supported here; use the unix socket of that "
                      "machine: ssh -L 10298:/run/perfcountd.sock HOST, and "
                      "--url=http://127.0.0.1:10298");
    else
        r = error_set(error, -EINVAL, "--url: expected http://HOST:PORT or unix:/PATH, found \"%.128s\"", url);
    if (r < 0)
        return r;
    *ret = address;
    address = (struct top_address){0};
    return 0;
}

static void resolve_unix(struct top_address *address)
{
    struct sockaddr_un *sockaddr = (struct sockaddr_un *)&address->endpoints[0].address;

    *sockaddr = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(sockaddr->sun_path, sizeof(sockaddr->sun_path), "%s", address->path);
    address->endpoints[0].size = sizeof(*sockaddr);
    address->endpoints[0].family = AF_UNIX;
    address->n_endpoints = 1;
}

int top_address_resolve(struct top_address *address, struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;

    if (address->path) {
        resolve_unix(address);
        return 0;
    }
    int r = getaddrinfo(address->host, address->port, &hints, &list);
    if (r != 0)
        return error_set(error, -EHOSTUNREACH, "--url: cannot find the address of %.128s: %s", address->host,
                         gai_strerror(r));
    address->n_endpoints = 0;
    for (const struct addrinfo *at = list; at && address->n_endpoints < TOP_ENDPOINTS_MAX; at = at->ai_next) {
        if (at->ai_addrlen > sizeof(address->endpoints[0].address))
            continue;
        memcpy(&address->endpoints[address->n_endpoints].address, at->ai_addr, at->ai_addrlen);
        address->endpoints[address->n_endpoints].size = at->ai_addrlen;
        address->endpoints[address->n_endpoints++].family = at->ai_family;
    }
    freeaddrinfo(list);
    return 0;
}

/* --- reply --- */

/*
 * Returns the start of the next line, or NULL if the line at `at` is not complete. *ret_size is the size of the line at
 * `at`, without the line break.
 */
static const char *line_end(const char *at, const char *end, size_t *ret_size)
{
    const char *next = memchr(at, '\n', (size_t)(end - at));

    if (!next)
        return NULL;
    *ret_size = (size_t)(next - at);
    if (*ret_size && at[*ret_size - 1] == '\r')
        --*ret_size;
    return next + 1;
}

/* Parses a status line, such as "HTTP/1.1 200 OK". */
static int parse_status(const char *line, size_t size, unsigned *ret)
{
    uint64_t status;

    if (size < 12 || strncmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ' || (size > 12 && line[12] != ' ') ||
        number_parse_u64_n(line + 9, 3, &status) < 0 || status < 100)
        return -EBADMSG;
    *ret = (unsigned)status;
    return 0;
}

static bool is_header(const char *line, size_t size, const char *name)
{
    size_t length = strlen(name);

    return size > length && line[length] == ':' && strncasecmp(line, name, length) == 0;
}

struct reply_head {
    unsigned status;
    uint64_t length; /* length of the body, valid if `has_length` is true */
    bool has_length;
    uint64_t sampled_ns;
    const char *body;
};

/*
 * Copies the value of a header without surrounding blanks. Returns -EBADMSG if the value is too long for a number, or
 * contains a NUL.
 */
static int header_value(const char *line, size_t size, char value[static 32])
{
    const char *end = line + size, *at = memchr(line, ':', size);

    for (at++; at < end && (*at == ' ' || *at == '\t');)
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end - at > 31 || memchr(at, '\0', (size_t)(end - at)))
        return -EBADMSG;
    memcpy(value, at, (size_t)(end - at));
    value[end - at] = '\0';
    return 0;
}

static int parse_header(const char *line, size_t size, struct reply_head *head)
{
    bool is_length = is_header(line, size, "content-length");
    char value[32];

    if (is_header(line, size, "transfer-encoding"))
        return -EBADMSG;
    if (!is_length && !is_header(line, size, "x-sampled-seconds"))
        return 0;
    int r = header_value(line, size, value);
    if (r == 0 && is_length) {
        head->has_length = true;
        r = number_parse_u64_n(value, strlen(value), &head->length);
    } else if (r == 0) {
        r = number_parse_seconds(value, &head->sampled_ns);
    }
    return r < 0 ? -EBADMSG : 0;
}

/* Parses the status line and the headers. Returns -EAGAIN if the head of the reply is not complete. */
static int parse_head(const char *data, size_t size, struct reply_head *ret)
{
    const char *end = data + size, *at, *next;
    struct reply_head head = {0};
    size_t line;

    next = line_end(data, end, &line);
    if (!next)
        return -EAGAIN;
    int r = parse_status(data, line, &head.status);
    for (at = next; r == 0; at = next) {
        next = line_end(at, end, &line);
        if (!next)
            return -EAGAIN;
        if (line == 0)
            break;
        r = parse_header(at, line, &head);
    }
    if (r < 0)
        return r;
    head.body = next;
    *ret = head;
    return 0;
}

int top_reply_parse(const char *data, size_t size, bool ended, struct top_reply *ret, struct error *error)
{
    struct reply_head head = {0};
    int r = parse_head(data, size, &head);

    if (r == -EBADMSG)
        return error_set(error, r, "the answer is not HTTP");
    if (r == -EAGAIN && size > TOP_REPLY_HEAD_MAX)
        return error_set(error, -EMSGSIZE, "the headers of the answer have more than %d KiB",
                         TOP_REPLY_HEAD_MAX / 1024);
    if (size > TOP_REPLY_MAX || (r == 0 && head.length > TOP_REPLY_MAX))
        return error_set(error, -EMSGSIZE, "the answer has more than %d MiB", TOP_REPLY_MAX / 1024 / 1024);
    size_t there = r == 0 ? size - (size_t)(head.body - data) : 0;
    if (r == -EAGAIN || (head.has_length ? there < head.length : !ended))
        return ended ? error_set(error, -EBADMSG, "the connection was closed before the answer was complete") : -EAGAIN;
    *ret = (struct top_reply){.status = head.status,
                              .body = head.body,
                              .size = head.has_length ? (size_t)head.length : there,
                              .sampled_seconds = (double)head.sampled_ns / (double)NSEC_PER_SEC};
    return 0;
}

/* The response of http/tls.c, as of servers written in Go, to plain HTTP on a port that uses TLS. */
#define TLS_REQUIRED "Client sent an HTTP request to an HTTPS server."

static bool reply_requires_tls(const struct top_reply *reply)
{
    size_t size = strlen(TLS_REQUIRED);

    return reply->status == 400 && reply->size >= size && memcmp(reply->body, TLS_REQUIRED, size) == 0;
}

int top_reply_document(const struct top_address *address, const struct top_reply *reply, json_t **ret,
                       struct error *error)
{
    json_t *document = json_loadb(reply->body, reply->size, 0, NULL);
    const char *text = json_string_value(json_object_get(document, "error"));
    int r = 0;

    if (reply->status == 401)
        r = error_set(error, -EACCES, "it requires a password, which is not supported here: %s",
                      address->path ? "run this as root, who needs no password" : "use its unix socket, as root");
    else if (reply_requires_tls(reply))
        r = error_set(error, -EPROTONOSUPPORT, "it uses TLS, which is not supported here: use its unix socket");
    else if (reply->status != 200)
        r = error_set(error, reply->status == 404 ? -ENOENT : -EPROTO, "it answered %u%s%.400s", reply->status,
                      text ? ": " : "", text ? text : "");
    else if (!json_is_object(document))
        r = error_set(error, -EBADMSG, "its answer is not JSON: is it perfcountd?");
    if (r == 0)
        *ret = document;
    else
        json_decref(document);
    return r;
}

/* --- request --- */

#define READ_SIZE 65536

struct top_request {
    sd_event *event;
    const struct top_address *address;
    size_t endpoint; /* index of the next endpoint to try */
    int fd;
    sd_event_source *io, *timer;
    struct buffer out, in;
    size_t sent;
    bool connected;
    top_request_end *on_end;
    void *userdata;
};

static void request_close(struct top_request *request)
{
    request->io = sd_event_source_disable_unref(request->io);
    closep(&request->fd);
    request->fd = -1;
}

struct top_request *top_request_free(struct top_request *request)
{
    if (!request)
        return NULL;
    request_close(request);
    sd_event_source_disable_unref(request->timer);
    sd_event_unref(request->event);
    buffer_done(&request->out);
    buffer_done(&request->in);
    free(request);
    return NULL;
}
DEFINE_CLEANUP(struct top_request *, top_request_free);

/* Closes the connection and calls the callback, but frees nothing, because the callback may free the request. */
static void request_end(struct top_request *request, const struct top_reply *reply, const struct error *error)
{
    request_close(request);
    timer_disarm(request->timer);
    request->on_end(request->userdata, reply, error);
}

static int explain(const struct top_address *address, const char *what, int code, struct error *error)
{
    bool is_denied = code == -EACCES && address->path;

    return error_set(error, code, "%s: %s%s", what, strerror(-code),
                     is_denied ? ": run this as root, or as a member of the socket's group" : "");
}

int top_request_refused(const struct top_address *address, int code, struct error *error)
{
    explain(address, "connect", code, error);
    return code == -ENOMEM ? code : -ENOTCONN;
}

static void request_fail(struct top_request *request, const char *what, int code)
{
    struct error error;

    explain(request->address, what, code, &error);
    request_end(request, NULL, &error);
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata);

/* Starts to connect to the next endpoint. Returns -errno if no endpoint is left. */
static int connect_next(struct top_request *request)
{
    int r = -ECONNREFUSED;

    request_close(request);
    while (request->endpoint < request->address->n_endpoints) {
        size_t i = request->endpoint++;
        request->fd = socket(request->address->endpoints[i].family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const void *address = &request->address->endpoints[i].address;
        if (request->fd < 0 ||
            (connect(request->fd, address, request->address->endpoints[i].size) < 0 && errno != EINPROGRESS)) {
            r = -errno;
            request_close(request);
            continue;
        }
        r = sd_event_add_io(request->event, &request->io, request->fd, EPOLLOUT, on_connection, request);
        return r < 0 ? r : 0;
    }
    return r;
}

/* Returns 0 if the connection has been established, else -errno. */
static int connection_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof(error);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
}

static int request_send(struct top_request *request)
{
    while (request->sent < request->out.size) {
        ssize_t n =
            send(request->fd, request->out.data + request->sent, request->out.size - request->sent, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        request->sent += (size_t)n;
    }
    return sd_event_source_set_io_events(request->io, EPOLLIN);
}

/*
 * Receives once. Returns 1 if the server has closed the connection, -EAGAIN if more data may arrive, or another -errno.
 */
static int request_receive(struct top_request *request)
{
    char *room = buffer_reserve(&request->in, READ_SIZE);
    ssize_t n = room ? recv(request->fd, room, READ_SIZE, 0) : 0;

    if (!room)
        return -ENOMEM;
    if (n < 0)
        return -errno;
    buffer_advance(&request->in, (size_t)n);
    return n == 0 ? 1 : -EAGAIN;
}

static void on_readable(struct top_request *request)
{
    struct top_reply reply;
    struct error error;
    int r = request_receive(request);

    if (r < 0 && r != -EAGAIN) {
        request_fail(request, "read", r);
        return;
    }
    const char *data = request->in.data ? request->in.data : "";
    r = top_reply_parse(data, request->in.size, r == 1, &reply, &error);
    if (r != -EAGAIN)
        request_end(request, r == 0 ? &reply : NULL, &error);
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct top_request *request = userdata;
    int r;

    (void)source;
    if (!request->connected) {
        r = connection_error(fd);
        if (r < 0) {
            r = request->endpoint < request->address->n_endpoints ? connect_next(request) : r;
            if (r < 0)
                request_fail(request, "connect", r);
            return 0;
        }
        request->connected = true;
    }
    if (request->sent < request->out.size) {
        r = request_send(request);
        if (r < 0)
            request_fail(request, "send", r);
        return 0;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        on_readable(request);
    return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    request_fail(userdata, "no answer", -ETIMEDOUT);
    return 0;
}

int top_request_start(sd_event *event, const struct top_address *address, const char *path, uint64_t timeout_ns,
                      top_request_end *on_end, void *userdata, struct top_request **ret)
{
    _cleanup_(top_request_freep) struct top_request *request = calloc(1, sizeof(*request));

    if (!request)
        return -ENOMEM;
    *request = (struct top_request){
        .event = sd_event_ref(event), .address = address, .fd = -1, .on_end = on_end, .userdata = userdata};
    buffer_appendf(&request->out,
                   "GET %s%s HTTP/1.0\r\nHost: %s\r\nUser-Agent: perfcountd-top\r\nAccept: application/json\r\n\r\n",
                   address->prefix, path, address->authority);
    int r = request->out.failed ? -ENOMEM : timer_init(event, CLOCK_MONOTONIC, 0, on_timeout, request, &request->timer);
    if (r >= 0)
        r = timer_arm_in(request->timer, timeout_ns / NSEC_PER_USEC);
    if (r >= 0)
        r = connect_next(request);
    if (r < 0)
        return r;
    *ret = steal(request);
    return 0;
}

/* --- blocking request --- */

struct waiting {
    sd_event *event;
    const struct top_address *address;
    struct buffer *text;
    json_t *document;
    struct error *error;
    int r;
};

static void waiting_on_end(void *userdata, const struct top_reply *reply, const struct error *error)
{
    struct waiting *waiting = userdata;

    sd_event_exit(waiting->event, 0);
    if (!reply) {
        waiting->r = error_set(waiting->error, -ENOTCONN, "%s", error->message);
        return;
    }
    waiting->r = top_reply_document(waiting->address, reply, &waiting->document, waiting->error);
    if (waiting->r == 0)
        buffer_append(waiting->text, reply->body, reply->size);
}

int top_get(const struct top_address *address, const char *path, uint64_t timeout_ns, struct buffer *text, json_t **ret,
            struct error *error)
{
    struct waiting waiting = {.address = address, .text = text, .error = error};
    struct top_request *request = NULL;
    int r = sd_event_new(&waiting.event);

    if (r >= 0)
        r = top_request_start(waiting.event, address, path, timeout_ns, waiting_on_end, &waiting, &request);
    if (r >= 0)
        r = sd_event_loop(waiting.event);
    top_request_free(request);
    sd_event_unref(waiting.event);
    if (r < 0)
        return top_request_refused(address, r, error);
    if (waiting.r < 0)
        return waiting.r;
    if (text->failed) {
        json_decref(waiting.document);
        return error_oom(error);
    }
    *ret = waiting.document;
    return 0;
}
