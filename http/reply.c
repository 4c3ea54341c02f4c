/* SPDX-License-Identifier: Apache-2.0 */
#include "http/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/text.h"
#include "http/mhd-compat.h"

/* --- replies --- */

/* Smaller content is not compressed, because compression would save less than the additional headers cost. */
#define GZIP_SIZE_MIN 1024

DEFINE_CLEANUP(struct MHD_Response *, MHD_destroy_response);

/* Adds the headers of the web configuration to the response, and replaces headers that are already present. */
static struct MHD_Response *reply_add_configured_headers(struct request *request, struct MHD_Response *response)
{
    _cleanup_(MHD_destroy_responsep) struct MHD_Response *complete = response;
    const struct web_config *config = request->site->security->config;
    const char *old;

    for (size_t i = 0; complete && config && i < config->n_headers; i++) {
        const struct web_header *header = &config->headers[i];
        while ((old = MHD_get_response_header(complete, header->name)))
            if (MHD_del_response_header(complete, header->name, old) != MHD_YES)
                return NULL;
        if (MHD_add_response_header(complete, header->name, header->value) != MHD_YES)
            return NULL;
    }
    return steal(complete);
}

static void reply_replace(struct request *request, unsigned status, struct MHD_Response *response, bool borrowed)
{
    if (request->response && !request->borrowed)
        MHD_destroy_response(request->response);
    request->status = status;
    request->response = response;
    request->borrowed = borrowed;
}

void reply_set(struct request *request, unsigned status, struct MHD_Response *response)
{
    reply_replace(request, status, reply_add_configured_headers(request, response), false);
}

/* Replies with a response that belongs to site->cache. */
static void reply_borrowed(struct request *request, unsigned status, struct MHD_Response *response)
{
    reply_replace(request, status, response, true);
}

static int response_add_headers(struct MHD_Response *response, const char *type, const char *vary, bool compressed)
{
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) != MHD_YES ||
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") != MHD_YES)
        return -ENOMEM;
    if (vary && MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, vary) != MHD_YES)
        return -ENOMEM;
    if (compressed && MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip") != MHD_YES)
        return -ENOMEM;
    return 0;
}

struct MHD_Response *reply_label(struct MHD_Response *response, const char *type, const char *vary, bool compressed)
{
    _cleanup_(MHD_destroy_responsep) struct MHD_Response *labelled = response;

    return labelled && response_add_headers(labelled, type, vary, compressed) == 0 ? steal(labelled) : NULL;
}

struct MHD_Response *reply_make(struct buffer *content, const char *type, const char *vary, bool gzip)
{
    if (content->failed)
        return NULL;
    /* If there is no memory for compression, the content is sent uncompressed. */
    bool compressed = gzip && content->size > GZIP_SIZE_MIN && gzip_compress(content) == 0;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(content->size, content->data, MHD_RESPMEM_MUST_FREE);
    if (response)
        *content = (struct buffer){0};
    return reply_label(response, type, vary, compressed);
}

void reply_text(struct request *request, unsigned status, const char *format, ...)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    char line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    escape_append(&content, line, ESCAPE_NOTHING);
    buffer_append_char(&content, '\n');
    reply_set(request, status, reply_make(&content, TYPE_TEXT, NULL, false));
}

void reply_error(struct request *request, unsigned status, const char *format, ...)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    char sentence[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    if (!request->path || !str_starts(request->path, "/api/")) {
        reply_text(request, status, "%s", sentence);
        return;
    }
    json_write_raw(&content, "{\"error\": ");
    json_write_string(&content, sentence);
    json_write_raw(&content, ", \"status\": ");
    json_write_u64(&content, status);
    json_write_raw(&content, "}\n");
    reply_set(request, status, reply_make(&content, TYPE_JSON, NULL, false));
}

void reply_wrong(struct request *request, int code, const struct error *error)
{
    if (code == -ENOMEM)
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", REPLY_NO_MEMORY);
    else
        reply_error(request, MHD_HTTP_BAD_REQUEST, "%s", error->message);
}

void reply_busy(struct request *request, const char *sentence)
{
    reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", sentence);
    if (request->response)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

/* --- cache --- */

static void cached_response_clear(struct cached_response *item)
{
    /* A response that is being sent is kept alive by a reference of its own. */
    if (item->response)
        MHD_destroy_response(item->response);
    *item = (struct cached_response){0};
}

void response_cache_done(struct response_cache *cache)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++)
        cached_response_clear(&cache->items[i]);
    *cache = (struct response_cache){0};
}

/* Returns whether one response fits both keys. */
static bool response_key_equal(const struct response_key *a, const struct response_key *b)
{
    return a->format == b->format && a->gzip == b->gzip && a->mask == b->mask;
}

/*
 * Drops cached responses from an older reading, and then returns the response for this key, or NULL if it has to be
 * rendered. The result is borrowed until the next response is stored.
 */
static struct MHD_Response *response_cache_find(struct response_cache *cache, const struct snapshot *snapshot,
                                                const struct response_key *key)
{
    if (cache->snapshot != snapshot || cache->generation != snapshot->generation) {
        response_cache_done(cache);
        cache->snapshot = snapshot;
        cache->generation = snapshot->generation;
    }
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
        struct cached_response *item = &cache->items[i];
        if (!item->response || !response_key_equal(&item->key, key))
            continue;
        item->last_use = ++cache->uses;
        return item->response;
    }
    return NULL;
}

/*
 * Takes ownership of the response, which replaces the least recently used response. The cache must not contain the key:
 * response_cache_find() must have returned NULL.
 */
static void response_cache_store(struct response_cache *cache, const struct response_key *key,
                                 struct MHD_Response *response)
{
    struct cached_response *oldest = &cache->items[0];

    for (size_t i = 1; i < RESPONSE_CACHE_MAX; i++)
        if (cache->items[i].last_use < oldest->last_use)
            oldest = &cache->items[i];
    cached_response_clear(oldest);
    *oldest = (struct cached_response){.key = *key, .response = response, .last_use = ++cache->uses};
}

/* --- compression --- */

#define WORKER_IDLE_NS (10 * NSEC_PER_SEC)

/* A compression in progress. The worker thread accesses only the members up to `result`. */
struct compression {
    struct job job;
    struct buffer content; /* content shared by several responses */
    struct gzip gzip;
    int result;

    unsigned references; /* number of references: one by the job, and one per response */
    struct site *site;
    const char *type;
    const struct snapshot *snapshot; /* NULL if the content is for a single request and has no key */
    struct response_key key;
    uint64_t generation; /* snapshot's generation when the content was written */
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

/*
 * Each request gets its own response, because other code cannot hold references to libmicrohttpd's responses, but the
 * responses share the content.
 */
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

/* Caches the response for other requests within the same reading. */
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

/*
 * If the content is large enough, takes ownership of it and starts compressing it in the worker thread. The reply (200)
 * is set when the connection is resumed. If `key` is not NULL, the content also serves all other requests for this form
 * of the snapshot; if `key` is NULL, the content is for this request only. Returns false if compression was not
 * started.
 */
static bool compression_start(struct request *request, struct buffer *content, const char *type,
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

/* Makes the request wait for the content if it is already being compressed, and otherwise returns false. */
static bool compression_join(struct request *request, const struct snapshot *snapshot, const struct response_key *key)
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

/* --- content --- */

/*
 * JSON documents are indented by two spaces. Numbers are printed with 15 digits, so that 0.8 is not printed as
 * 0.80000000000000004.
 */
#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(15))

bool content_find(struct request *request, const struct snapshot *snapshot, const struct response_key *key)
{
    struct MHD_Response *response = response_cache_find(&request->site->cache, snapshot, key);

    if (!response)
        return compression_join(request, snapshot, key);
    reply_borrowed(request, MHD_HTTP_OK, response);
    return true;
}

void content_reply(struct request *request, struct buffer *content, const char *type, bool gzip,
                   const struct snapshot *snapshot, const struct response_key *key)
{
    if (gzip && compression_start(request, content, type, snapshot, key))
        return;
    struct MHD_Response *response = reply_make(content, type, VARY_ALL, gzip);
    if (key)
        response = reply_add_configured_headers(request, response);
    if (!response || !key) {
        reply_set(request, MHD_HTTP_OK, response);
        return;
    }
    response_cache_store(&request->site->cache, key, response);
    reply_borrowed(request, MHD_HTTP_OK, response);
}

static int content_append(const char *text, size_t size, void *userdata)
{
    struct buffer *content = userdata;

    buffer_append(content, text, size);
    return content->failed ? -1 : 0;
}

void content_reply_json(struct request *request, json_t *document, bool gzip)
{
    _cleanup_(json_decrefp) json_t *owned = document;
    _cleanup_(buffer_done) struct buffer content = {0};

    if (!owned || json_dump_callback(owned, content_append, &content, JSON_FLAGS) < 0)
        return;
    buffer_append_char(&content, '\n');
    content_reply(request, &content, TYPE_JSON, gzip, NULL, NULL);
}
