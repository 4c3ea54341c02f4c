/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of samples: replies whose content is sent as the sampler produces it.
 *
 * While there is nothing to send, the connection is suspended, and its socket is watched in case the client
 * disconnects.
 */
#include "http/handlers.h"

#include <sys/epoll.h>

#include "base/cleanup.h"
#include "http/connection.h"
#include "http/reply.h"
#include "sampler/stream.h"

#define SAMPLED_SECONDS "X-Sampled-Seconds" /* response header for requests of past samples */
#define BLOCK_SIZE (32 * 1024)

struct feed {
    struct request *request;
    struct connection *connection;
    struct stream *stream; /* NULL once the client has disconnected */
    sd_event_source *hangup;
};

static struct feed *feed_free(struct feed *feed)
{
    if (!feed)
        return NULL;
    sd_event_source_disable_unref(feed->hangup);
    stream_free(feed->stream);
    free(feed);
    return NULL;
}
DEFINE_CLEANUP(struct feed *, feed_free);

static void feed_cancel(struct request *request)
{
    feed_free(request->suspension.userdata);
}

/* Suspends the connection, without a deadline, because nothing is expected from the client. */
static void feed_suspend(struct feed *feed)
{
    request_suspend(feed->request, feed_cancel, feed);
    connection_set_deadline(feed->connection, DEADLINE_NONE);
}

static void feed_resume(void *userdata)
{
    struct feed *feed = userdata;

    if (!feed->request->suspension.active)
        return;
    connection_set_deadline(feed->connection, DEADLINE_RESPONSE);
    request_resume(feed->request);
    request_on_end(feed->request, feed_cancel, feed);
}

/*
 * Ends the stream as soon as its client disconnects. libmicrohttpd does not notice this while the connection is
 * suspended.
 */
static int feed_on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct feed *feed = userdata;

    (void)fd;
    (void)events;
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    feed->stream = stream_free(feed->stream);
    connection_shutdown(feed->connection);
    feed_resume(feed);
    return 0;
}

/*
 * Breaks the connection before the end of the content, so that nobody mistakes the stream for complete. If the content
 * ends with an error after a suspension, libmicrohttpd 0.9.75 does not always close the connection, but it does if it
 * cannot send the end of the content.
 */
static ssize_t feed_break_off(struct feed *feed)
{
    connection_shutdown(feed->connection);
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Sends the next block of the stream. The client gets a new deadline with each block that it has received. */
static ssize_t feed_on_read(void *userdata, uint64_t position, char *bytes, size_t size)
{
    struct feed *feed = userdata;

    (void)position;
    if (!feed->stream)
        return feed_break_off(feed);
    ssize_t n = stream_read(feed->stream, bytes, size);
    if (n == -ENODATA)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return feed_break_off(feed);
    if (n == 0)
        feed_suspend(feed);
    else
        connection_set_deadline(feed->connection, DEADLINE_RESPONSE);
    return n;
}

static struct feed *feed_new(struct request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct feed *feed = info ? calloc(1, sizeof(*feed)) : NULL;

    if (feed)
        *feed = (struct feed){.request = request, .connection = info->socket_context};
    return feed;
}

static const struct {
    int error;
    unsigned status;
} statuses[] = {
    {EINVAL, MHD_HTTP_BAD_REQUEST},        {ENOENT, MHD_HTTP_NOT_FOUND},       {EACCES, MHD_HTTP_FORBIDDEN},
    {EPERM, MHD_HTTP_FORBIDDEN},           {EOPNOTSUPP, MHD_HTTP_FORBIDDEN},   {EBADRQC, MHD_HTTP_FORBIDDEN},
    {EBUSY, MHD_HTTP_SERVICE_UNAVAILABLE}, {ENOSYS, MHD_HTTP_NOT_IMPLEMENTED},
};

/* Other errors are answered with 503: neither the client nor an operator has caused them, and they may be temporary. */
static unsigned feed_status_of(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (statuses[i].error == -error)
            return statuses[i].status;
    return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static struct MHD_Response *feed_response(struct feed *feed, const char *content_type)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, feed_on_read, feed, NULL);
    char seconds[32];

    if (!response)
        return NULL;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (feed->stream && stream_past_seconds(feed->stream) > 0) {
        snprintf(seconds, sizeof(seconds), "%.3f", stream_past_seconds(feed->stream));
        MHD_add_response_header(response, SAMPLED_SECONDS, seconds);
    }
    return response;
}

/* Opens the stream, except for HEAD requests. */
static int feed_open(struct feed *feed, struct sampler *sampler, const struct record_request *wanted,
                     const struct writer *writer, struct error *error)
{
    struct request *request = feed->request;

    if (str_equal(request->method, MHD_HTTP_METHOD_HEAD))
        return 0;
    int r = stream_open(sampler, wanted, writer, feed_resume, feed, &feed->stream, error);
    if (r < 0)
        return r;
    r = sd_event_add_io(request->site->event, &feed->hangup, feed->connection->fd, EPOLLRDHUP, feed_on_hangup, feed);
    return r < 0 ? error_set(error, r, "the connection cannot be watched: %s", strerror(-r)) : 0;
}

void handle_stream(struct request *request)
{
    _cleanup_(record_request_done) struct record_request wanted = {0};
    const struct service *service = request->site->service;
    const struct sample_format *format = request->route->samples;
    struct sampler *sampler = service->sampler(service->userdata);
    _cleanup_(feed_freep) struct feed *feed = NULL;
    struct error error;

    wanted.trust = request->trust;
    int r = sampler_admit(sampler, wanted.trust, &error);
    for (size_t i = 0; i < request->n_parameters && r == 0; i++)
        r = record_request_set(&wanted, request->parameters[i].name, request->parameters[i].value, &error);
    if (r == 0)
        feed = feed_new(request);
    if (r == 0 && feed)
        r = feed_open(feed, sampler, &wanted, format->writer, &error);
    if (r < 0) {
        reply_error(request, feed_status_of(r), "%s", error.message);
        return;
    }
    if (!feed)
        return;
    reply_set(request, MHD_HTTP_OK, feed_response(feed, format->content_type));
    request_on_end(request, feed_cancel, steal(feed));
}
