/* SPDX-License-Identifier: Apache-2.0 */
/* Making the reply of a request: see reply.h. */
#include "http/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/gzip.h"
#include "base/json.h"

/* Compressing less than this saves less than the headers weigh. */
#define GZIP_SIZE_MIN 1024

DEFINE_CLEANUP(struct MHD_Response *, MHD_destroy_response);

/* A header that is there already is replaced. */
struct MHD_Response *reply_add_configured_headers(struct request *request, struct MHD_Response *response)
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

void reply_borrowed(struct request *request, unsigned status, struct MHD_Response *response)
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
    /* Without memory to compress it, the content goes out as it is. */
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
    if (!request_is_api(request)) {
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
