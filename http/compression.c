/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing large content in a worker thread: see compression.h. */
#include "http/compression.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/mhd-compat.h"
#include "http/reply.h"

#define WORKER_IDLE_NS (10 * NSEC_PER_SEC)

/* The worker knows its members up to `result`. */
struct compression {
    struct job job;
    struct buffer content; /* shared by all responses that are made of it */
    struct gzip gzip;
    int result;

    unsigned references; /* one of the job, and one of each response */
    struct site *site;
    const char *type;
    const struct snapshot *snapshot; /* NULL: it is for one request alone, and has no key */
    struct response_key key;
    uint64_t generation; /* of the snapshot then */
    struct waiting_requests waiting;
    LIST_ENTRY(compression) entry;
};

static void compression_unref(struct compression *compression)
{
    if (--compression->references > 0)
        return;
    gzip_done(&compression->gzip);
    buffer_done(&compression->content);
    free(compression);
}

static void compression_on_response_freed(void *userdata)
{
    compression_unref(userdata);
}

/* Each request has a response of its own, since libmicrohttpd has no references to give, of the one content. */
static struct MHD_Response *compression_response(struct compression *compression)
{
    struct buffer *content = &compression->content;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        content->size, content->data, compression_on_response_freed, compression);

    if (!response)
        return NULL;
    compression->references++;
    return reply_label(response, compression->type, VARY_ALL, compression->result == 0);
}

/* For requests that come within the same reading. */
static void compression_keep(struct compression *compression, struct request *request)
{
    struct response_cache *cache = &compression->site->cache;

    if (!compression->snapshot || cache->snapshot != compression->snapshot ||
        cache->generation != compression->generation)
        return;
    struct MHD_Response *response = reply_add_configured_headers(request, compression_response(compression));
    if (response)
        response_cache_store(cache, &compression->key, response);
}

static void compression_run(struct job *job)
{
    struct compression *compression = (struct compression *)job;

    compression->result = gzip_run(&compression->gzip, &compression->content);
}

static void compression_on_done(struct job *job, bool cancelled)
{
    struct compression *compression = (struct compression *)job;
    struct request *request;

    LIST_REMOVE(compression, entry);
    if (compression->result == 0 && !cancelled)
        gzip_take(&compression->gzip, &compression->content);
    gzip_done(&compression->gzip);
    if (!LIST_EMPTY(&compression->waiting) && !cancelled)
        compression_keep(compression, LIST_FIRST(&compression->waiting));
    while ((request = waiting_requests_take(&compression->waiting))) {
        reply_set(request, MHD_HTTP_OK, compression_response(compression));
        request_resume(request);
    }
    compression_unref(compression);
}

int compression_submit(struct site *site, struct job *job)
{
    const struct worker_limits limits = {.jobs = COMPRESSIONS_MAX, .idle_ns = WORKER_IDLE_NS};
    int r = site->compressor ? 0 : worker_new(site->event, &limits, &site->compressor);

    return r < 0 ? r : worker_submit(site->compressor, job);
}

bool compression_start(struct request *request, struct buffer *content, const char *type,
                       const struct snapshot *snapshot, const struct response_key *key)
{
    struct site *site = request->site;

    if (content->failed || content->size < COMPRESSION_SIZE_MIN)
        return false;
    struct compression *compression = calloc(1, sizeof(*compression));
    if (!compression)
        return false;
    *compression = (struct compression){.job = {.run = compression_run, .done = compression_on_done},
                                        .content = *content,
                                        .references = 1,
                                        .site = site,
                                        .type = type};
    if (key) {
        compression->snapshot = snapshot;
        compression->generation = snapshot->generation;
        compression->key = *key;
    }
    if (gzip_prepare(&compression->gzip, content->size) < 0 || compression_submit(site, &compression->job) < 0) {
        compression->content = (struct buffer){0};
        compression_unref(compression);
        return false;
    }
    *content = (struct buffer){0};
    LIST_INSERT_HEAD(&site->compressions, compression, entry);
    request_suspend_in(request, &compression->waiting);
    return true;
}

bool compression_join(struct request *request, const struct snapshot *snapshot, const struct response_key *key)
{
    struct compression *compression;

    LIST_FOREACH (compression, &request->site->compressions, entry)
        if (compression->snapshot == snapshot && compression->generation == snapshot->generation &&
            response_key_equal(&compression->key, key)) {
            request_suspend_in(request, &compression->waiting);
            return true;
        }
    return false;
}
