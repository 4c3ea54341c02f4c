/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a document as a reply: see content.h. */
#include "http/content.h"

#include "base/cleanup.h"
#include "http/compression.h"
#include "http/reply.h"

/* A line per member, and doubles without the digits that only their binary form has: 0.8, not 0.80000000000000004. */
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
