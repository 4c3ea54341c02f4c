/* SPDX-License-Identifier: Apache-2.0 */
#include "http/api-events.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/timer.h"
#include "http/auth.h"
#include "http/handlers.h"
#include "http/mhd-compat.h"
#include "http/reply.h"

/*
 * Bytes reserved for the document in advance, so that the worker thread allocates no memory, except for a few bytes in
 * libpfm4. Reserved pages cost nothing until they are touched.
 */
#define ROOM ((size_t)4 << 20)
/* How many times a reply is delayed by 250 ms before the request is refused, 2 s in all. */
#define DELAYS_MAX 8

enum stage { STAGE_WRITING, STAGE_COMPRESSING, STAGE_DONE };

/* The catalogue document and the job that writes it. The worker thread only accesses the members up to `result`. */
struct events_document {
    struct job job;
    struct deferred_document *deferred;
    enum stage stage;
    struct buffer plain, compressed;
    struct gzip gzip;
    int result;

    unsigned references; /* number of references: one by the site or the job, and one per response */
    struct site *site;
    uint64_t generation;
    uint64_t last_use_ns;
    struct waiting_requests waiting;
    sd_event_source *timer; /* frees an unused document; set once the site owns the finished document */
};

static void events_document_unref(struct events_document *document)
{
    if (--document->references > 0)
        return;
    if (document->deferred)
        document->deferred->free(document->deferred);
    sd_event_source_disable_unref(document->timer);
    gzip_done(&document->gzip);
    buffer_done(&document->plain);
    buffer_done(&document->compressed);
    free(document);
}

static void document_on_response_freed(void *userdata)
{
    events_document_unref(userdata);
}

static struct MHD_Response *document_response(struct events_document *document, bool gzip)
{
    struct buffer *content = gzip && document->compressed.size ? &document->compressed : &document->plain;

    if (content->failed || content->size == 0)
        return NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        content->size, content->data, document_on_response_freed, document);
    if (!response)
        return NULL;
    document->references++;
    return reply_label(response, TYPE_JSON, VARY_ALL, content == &document->compressed);
}

void events_document_drop(struct site *site)
{
    struct events_document *document = steal(site->events);

    /* The job owns the document until it is finished. */
    if (document && document->stage == STAGE_DONE)
        events_document_unref(document);
}

static int document_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct events_document *document = userdata;
    uint64_t left = usec_until(document->last_use_ns + EVENTS_DOCUMENT_IDLE_NS, service_now(document->site->service));

    (void)usec;
    if (left == 0)
        events_document_drop(document->site);
    else
        timer_arm_in(source, left);
    return 0;
}

static void document_reply(struct events_document *document, struct request *request, bool gzip)
{
    document->last_use_ns = service_now(document->site->service);
    reply_set(request, MHD_HTTP_OK, document_response(document, gzip));
}

static void document_release(struct events_document *document)
{
    struct request *request;

    while ((request = waiting_requests_take(&document->waiting))) {
        document_reply(document, request, request_negotiate(request, NULL, 0));
        request_resume(request);
    }
}

/*
 * Must be called when the document is finished. The site takes ownership of the document, unless the site has dropped
 * it.
 */
static void document_finish(struct events_document *document)
{
    struct site *site = document->site;

    document->stage = STAGE_DONE;
    document_release(document);
    bool whole = !document->plain.failed && document->plain.size > 0;
    if (site->events == document && whole &&
        timer_start(site->event, EVENTS_DOCUMENT_IDLE_NS / NSEC_PER_USEC, USEC_PER_SEC, document_on_timer, document,
                    &document->timer) >= 0)
        return;
    if (site->events == document)
        site->events = NULL;
    events_document_unref(document);
}

static void document_run(struct job *job)
{
    struct events_document *document = (struct events_document *)job;

    if (document->stage == STAGE_WRITING)
        document->deferred->write(document->deferred, &document->plain);
    else
        document->result = gzip_run(&document->gzip, &document->plain);
}

/*
 * Submits a job that compresses the document. Returns false on failure, after which the document is sent uncompressed.
 */
static bool document_compress(struct events_document *document)
{
    document->deferred->free(document->deferred);
    document->deferred = NULL;
    buffer_trim(&document->plain);
    document->stage = STAGE_COMPRESSING;
    return !document->plain.failed && gzip_prepare(&document->gzip, document->plain.size) == 0 &&
           compression_submit(document->site, &document->job) == 0;
}

static void document_on_done(struct job *job, bool cancelled)
{
    struct events_document *document = (struct events_document *)job;

    if (!cancelled && document->stage == STAGE_WRITING && document_compress(document))
        return;
    if (!cancelled && document->stage == STAGE_COMPRESSING && document->result == 0)
        gzip_take(&document->gzip, &document->compressed);
    gzip_done(&document->gzip);
    if (cancelled)
        document->plain.failed = true;
    document_finish(document);
}

/* Starts writing the document. Returns NULL if memory runs out or the worker's queue is full. */
static struct events_document *document_begin(struct site *site)
{
    const struct service *service = site->service;
    struct events_document *document = calloc(1, sizeof(*document));

    if (!document)
        return NULL;
    *document = (struct events_document){
        .job = {.run = document_run, .done = document_on_done}, .references = 1, .site = site, .result = -EIO};
    document->generation = service->events_generation(service->userdata);
    document->deferred = service->defer_events(service->userdata);
    if (!document->deferred || !buffer_reserve(&document->plain, ROOM) ||
        compression_submit(site, &document->job) < 0) {
        events_document_unref(document);
        return NULL;
    }
    events_document_drop(site);
    site->events = document;
    return document;
}

static bool client_is_known(const struct request *request)
{
    return request_is_authenticated(request) || request->peer->unix_socket;
}

/* Returns whether the request was delayed, or refused with a reply, because of the rate limit for unknown clients. */
static bool document_hold_back(struct request *request)
{
    struct site *site = request->site;
    uint64_t wait_ns, now = service_now(site->service);

    token_bucket_configure(&site->event_documents, NSEC_PER_SEC / EVENTS_DOCUMENTS_PER_SECOND,
                           EVENTS_DOCUMENTS_PER_SECOND, now);
    if (client_is_known(request) || token_bucket_take(&site->event_documents, now, &wait_ns))
        return false;
    if (request->delays < DELAYS_MAX && refusal_delay_start(request))
        request->answered = false;
    else
        reply_busy(request, "too many clients are requesting the catalogue of events; try again");
    return true;
}

void handle_events(struct request *request)
{
    struct site *site = request->site;
    struct events_document *document = site->events;

    if (document_hold_back(request))
        return;
    if (!document || document->generation != site->service->events_generation(site->service->userdata))
        document = document_begin(site);
    if (!document)
        reply_busy(request, "the catalogue of events cannot be built now; try again");
    else if (document->stage == STAGE_DONE)
        document_reply(document, request, request_negotiate(request, NULL, 0));
    else
        request_suspend_in(request, &document->waiting);
}
