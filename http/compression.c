/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing what is large in a worker thread: see compression.h. */
#include "http/compression.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/reply.h"
#include "http/worker.h"

#define WORKER_IDLE_NS (10 * NSEC_PER_SEC)

/* The worker knows its members up to `result`. */
struct compression {
    struct job job;
    struct buffer content; /* shared by all responses that are made of it */
    struct gzip gzip;
    int result;

    unsigned references; /* one of the job, and one of each response */
    struct site *site;
    const char *type, *vary;
    bool shared;
    struct compression_key page;
    uint64_t generation;     /* of the snapshot then */
    struct request *waiting; /* its first */
    struct compression *next;
};

static void compression_unref(struct compression *packing)
{
    if (--packing->references > 0)
        return;
    gzip_done(&packing->gzip);
    buffer_done(&packing->content);
    free(packing);
}

static void on_response_freed(void *userdata)
{
    compression_unref(userdata);
}

/* Each who waits has a response of its own, since libmicrohttpd has no references to give, of the one content. */
static struct MHD_Response *make_response(struct compression *packing)
{
    struct buffer *content = &packing->content;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(content->size, content->data,
                                                                                           on_response_freed, packing);

    if (!response)
        return NULL;
    packing->references++;
    return reply_label(response, packing->type, packing->vary, packing->result == 0);
}

/* For who asks within the same reading. */
static void keep(struct compression *packing, struct request *request)
{
    struct response_cache *pages = &packing->site->pages;

    if (!packing->shared || pages->snapshot != packing->page.snapshot || pages->generation != packing->generation)
        return;
    struct MHD_Response *response = make_response(packing);
    if (!response)
        return;
    reply_add_configured_headers(request, response);
    response_cache_store(pages, &packing->page.key, response);
}

static void unlink_packing(struct compression *packing)
{
    struct compression **at = &packing->site->packings;

    while (*at != packing)
        at = &(*at)->next;
    *at = packing->next;
}

static void run(struct job *job)
{
    struct compression *packing = (struct compression *)job;

    packing->result = gzip_run(&packing->gzip, &packing->content);
}

static void on_done(struct job *job, bool cancelled)
{
    struct compression *packing = (struct compression *)job;
    struct request *request;

    unlink_packing(packing);
    if (packing->result == 0 && !cancelled)
        gzip_take(&packing->gzip, &packing->content);
    gzip_done(&packing->gzip);
    if (packing->waiting && !cancelled)
        keep(packing, packing->waiting);
    while ((request = packing->waiting)) {
        compression_leave(request);
        reply_set(request, MHD_HTTP_OK, make_response(packing));
        request_resume(request);
    }
    compression_unref(packing);
}

static void enter(struct compression *packing, struct request *request)
{
    /* It waits already where its second reading has just been made. */
    if (!request_waits(request))
        MHD_suspend_connection(request->mhd);
    request->packing = packing;
    request->next_packed = packing->waiting;
    packing->waiting = request;
}

void compression_leave(struct request *request)
{
    if (!request->packing)
        return;
    struct request **at = &request->packing->waiting;
    while (*at != request)
        at = &(*at)->next_packed;
    *at = request->next_packed;
    request->packing = NULL;
    request->next_packed = NULL;
}

int compression_submit(struct site *site, struct job *job)
{
    const struct worker_limits limits = {.jobs = COMPRESSIONS_MAX, .idle_ns = WORKER_IDLE_NS};
    int r = site->packer ? 0 : worker_new(site->event, &limits, &site->packer);

    return r < 0 ? r : worker_submit(site->packer, job);
}

bool compression_start(struct request *request, struct buffer *content, const char *type, const char *vary,
                       const struct compression_key *page)
{
    struct site *site = request->site;

    if (content->failed || content->size < COMPRESSION_SIZE_MIN)
        return false;
    struct compression *packing = calloc(1, sizeof(*packing));
    if (!packing)
        return false;
    *packing = (struct compression){.job = {.run = run, .done = on_done},
                                    .content = *content,
                                    .references = 1,
                                    .site = site,
                                    .type = type,
                                    .vary = vary,
                                    .shared = page != NULL};
    if (page) {
        packing->page = *page;
        packing->generation = page->snapshot->generation;
    }
    if (gzip_prepare(&packing->gzip, content->size) < 0 || compression_submit(site, &packing->job) < 0) {
        packing->content = (struct buffer){0};
        compression_unref(packing);
        return false;
    }
    *content = (struct buffer){0};
    packing->next = site->packings;
    site->packings = packing;
    enter(packing, request);
    return true;
}

bool compression_join(struct request *request, const struct snapshot *snapshot, const struct response_key *key)
{
    for (struct compression *packing = request->site->packings; packing; packing = packing->next)
        if (packing->shared && packing->page.snapshot == snapshot && packing->generation == snapshot->generation &&
            response_key_equal(&packing->page.key, key)) {
            enter(packing, request);
            return true;
        }
    return false;
}
