/* SPDX-License-Identifier: Apache-2.0 */
/* One GET in the event loop: see top-request.h. */
#include "top/http-get.h"

#include <sys/epoll.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/timer.h"

#define READ_SIZE 65536

struct top_request {
    sd_event *event;
    const struct top_address *address;
    size_t endpoint; /* the next one to try */
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

/* Frees nothing: the callback may free the request. */
static void request_end(struct top_request *request, const struct top_reply *reply, const struct error *error)
{
    request_close(request);
    timer_disarm(request->timer);
    request->on_end(request->userdata, reply, error);
}

static void request_fail(struct top_request *request, const char *what, int code)
{
    struct error error;

    error_set(&error, code, "%s: %s", what, strerror(-code));
    request_end(request, NULL, &error);
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata);

/* Begins to connect to the next endpoint. -errno where none is left. */
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

/* -errno of the connection; 0 where it is there. */
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

/* Reads what is there. 1 at the end of the connection; -EAGAIN where more may come; -errno. */
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
