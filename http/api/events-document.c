/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of events, made once and held: see events-document.h. */
#include "http/api/events-document.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/auth/refusal-delay.h"
#include "http/compression.h"
#include "http/reply.h"

/*
 * Room for the text before it is made, so that the worker asks for no memory but the few bytes that libpfm4 wants. What
 * is not touched costs none.
 */
#define ROOM ((size_t)4 << 20)
/* So often an answer is held back before it is refused: two seconds. */
#define PENALTIES_MAX 8

enum stage { STAGE_WRITING, STAGE_PACKING, STAGE_DONE };

/* The worker knows its members up to `result`. */
struct events_document {
    struct job job;
    struct draft *draft;
    enum stage stage;
    struct buffer plain, packed;
    struct gzip gzip;
    int result;

    unsigned references; /* one of the site or the job, and one of each response */
    struct site *site;
    uint64_t generation;
    uint64_t last_use_ns;
    struct request *waiting; /* its first */
    sd_event_source *timer;  /* once it is done and held */
};

static void events_document_unref(struct events_document *edition)
{
    if (--edition->references > 0)
        return;
    if (edition->draft)
        edition->draft->free(edition->draft);
    sd_event_source_disable_unref(edition->timer);
    gzip_done(&edition->gzip);
    buffer_done(&edition->plain);
    buffer_done(&edition->packed);
    free(edition);
}

static void on_response_freed(void *userdata)
{
    events_document_unref(userdata);
}

static struct MHD_Response *make_response(struct events_document *edition, bool gzip)
{
    struct buffer *content = gzip && edition->packed.size ? &edition->packed : &edition->plain;

    if (content->failed || content->size == 0)
        return NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(content->size, content->data,
                                                                                           on_response_freed, edition);
    if (!response)
        return NULL;
    edition->references++;
    return reply_label(response, TYPE_JSON, VARY_ALL, content == &edition->packed);
}

static uint64_t now_of(const struct site *site)
{
    return site->service->now(site->service->userdata);
}

void events_document_drop(struct site *site)
{
    struct events_document *edition = steal(site->edition);

    /* One that is being made is still its job's. */
    if (edition && edition->stage == STAGE_DONE)
        events_document_unref(edition);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct events_document *edition = userdata;
    uint64_t end = edition->last_use_ns + EVENTS_DOCUMENT_IDLE_NS;

    (void)usec;
    if (now_of(edition->site) >= end)
        events_document_drop(edition->site);
    else if (sd_event_source_set_time(source, end / NSEC_PER_USEC) >= 0)
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

static void reply(struct events_document *edition, struct request *request, bool gzip)
{
    edition->last_use_ns = now_of(edition->site);
    reply_set(request, MHD_HTTP_OK, make_response(edition, gzip));
}

static void release(struct events_document *edition)
{
    struct request *request;

    while ((request = edition->waiting)) {
        events_document_leave(request);
        reply(edition, request, request_negotiate(request, NULL, 0));
        request_resume(request);
    }
}

/* It is the site's from now on, if that still wants it. */
static void finish(struct events_document *edition)
{
    struct site *site = edition->site;

    edition->stage = STAGE_DONE;
    release(edition);
    bool whole = !edition->plain.failed && edition->plain.size > 0;
    uint64_t end = now_of(site) + EVENTS_DOCUMENT_IDLE_NS;
    if (site->edition == edition && whole &&
        sd_event_add_time(site->event, &edition->timer, CLOCK_MONOTONIC, end / NSEC_PER_USEC, USEC_PER_SEC, on_timer,
                          edition) >= 0)
        return;
    if (site->edition == edition)
        site->edition = NULL;
    events_document_unref(edition);
}

static void run(struct job *job)
{
    struct events_document *edition = (struct events_document *)job;

    if (edition->stage == STAGE_WRITING)
        edition->draft->write(edition->draft, &edition->plain);
    else
        edition->result = gzip_run(&edition->gzip, &edition->plain);
}

/* Has the text compressed; where that cannot be, it goes out as it is. */
static bool pack(struct events_document *edition)
{
    edition->draft->free(edition->draft);
    edition->draft = NULL;
    buffer_trim(&edition->plain);
    edition->stage = STAGE_PACKING;
    return !edition->plain.failed && gzip_prepare(&edition->gzip, edition->plain.size) == 0 &&
           compression_submit(edition->site, &edition->job) == 0;
}

static void on_done(struct job *job, bool cancelled)
{
    struct events_document *edition = (struct events_document *)job;

    if (!cancelled && edition->stage == STAGE_WRITING && pack(edition))
        return;
    if (!cancelled && edition->stage == STAGE_PACKING && edition->result == 0)
        gzip_take(&edition->gzip, &edition->packed);
    gzip_done(&edition->gzip);
    if (cancelled)
        edition->plain.failed = true;
    finish(edition);
}

/* NULL: there is no memory, or too much to do. */
static struct events_document *begin(struct site *site)
{
    const struct service *service = site->service;
    struct events_document *edition = calloc(1, sizeof(*edition));

    if (!edition)
        return NULL;
    *edition =
        (struct events_document){.job = {.run = run, .done = on_done}, .references = 1, .site = site, .result = -EIO};
    edition->generation = service->events_generation(service->userdata);
    edition->draft = service->draft_events(service->userdata);
    if (!edition->draft || !buffer_reserve(&edition->plain, ROOM) || compression_submit(site, &edition->job) < 0) {
        events_document_unref(edition);
        return NULL;
    }
    events_document_drop(site);
    site->edition = edition;
    return edition;
}

static void enter(struct events_document *edition, struct request *request)
{
    MHD_suspend_connection(request->mhd);
    request->edition = edition;
    request->next_waiting = edition->waiting;
    edition->waiting = request;
}

void events_document_leave(struct request *request)
{
    if (!request->edition)
        return;
    struct request **at = &request->edition->waiting;
    while (*at != request)
        at = &(*at)->next_waiting;
    *at = request->next_waiting;
    request->edition = NULL;
    request->next_waiting = NULL;
}

static bool is_known(const struct request *request)
{
    return request_is_authenticated(request) || request->peer->unix_socket;
}

/* Whether its turn has not come; then it is held back, or has a reply. */
static bool is_early(struct request *request)
{
    struct site *site = request->site;
    uint64_t wait_ns, now = now_of(site);

    token_bucket_configure(&site->editions, NSEC_PER_SEC / EVENTS_DOCUMENTS_PER_SECOND, EVENTS_DOCUMENTS_PER_SECOND,
                           now);
    if (is_known(request) || token_bucket_take(&site->editions, now, &wait_ns))
        return false;
    if (request->penalties < PENALTIES_MAX && refusal_delay_start(request))
        request->answered = false;
    else
        reply_busy(request, "so many ask for the catalogue of events already; try again");
    return true;
}

void events_document_answer(struct request *request, bool gzip)
{
    struct site *site = request->site;
    struct events_document *edition = site->edition;

    if (is_early(request))
        return;
    if (!edition || edition->generation != site->service->events_generation(site->service->userdata))
        edition = begin(site);
    if (!edition)
        reply_busy(request, "the catalogue of events cannot be made now; try again");
    else if (edition->stage == STAGE_DONE)
        reply(edition, request, gzip);
    else
        enter(edition, request);
}
