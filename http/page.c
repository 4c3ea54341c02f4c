/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, from the daemon's own memory: no path of a request becomes a path of a file. See page.h. */
#include "http/page.h"

#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/etag.h"
#include "http/handlers.h"
#include "http/reply.h"

#define VARY_CODING "Accept-Encoding"

/* There are dozens of answers: the encoding of text, and the policies, are in that of the page alone. */
static const char *const types[] = {
    [ASSET_CSS] = "text/css",
    [ASSET_HTML] = TYPE_HTML,
    [ASSET_JS] = "text/javascript",
    [ASSET_SVG] = "image/svg+xml",
};

struct page_etag page_etag_make(const char *tag, bool gzip)
{
    struct page_etag etag;

    snprintf(etag.text, sizeof(etag.text), "\"%.16s%s\"", tag, gzip ? "-gzip" : "");
    return etag;
}

struct sought {
    const struct page_etag *etag;
    bool found;
};

static enum MHD_Result sought_on_header(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct sought *sought = userdata;

    (void)kind;
    if (value && strcasecmp(name, MHD_HTTP_HEADER_IF_NONE_MATCH) == 0)
        sought->found |= etag_is_in(sought->etag->text, value);
    return MHD_YES;
}

void page_reply(struct request *request, struct MHD_Response *response, const struct page_etag *etag, const char *vary)
{
    struct sought sought = {.etag = etag};

    if (!response)
        return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, etag->text);
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, vary);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, sought_on_header, &sought);
    /* libmicrohttpd sends no body then, and the length that it would have (RFC 9110, section 8.6). */
    reply_set(request, sought.found ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}

int page_decode(struct buffer *buffer, const struct asset *asset)
{
    return gzip_decode(buffer, asset_bytes + asset->begin, asset->size, asset->full_size);
}

/* Compressed it is sent from where it is, without a copy. */
static struct MHD_Response *response_of(const struct asset *asset, bool gzip)
{
    _cleanup_(buffer_done) struct buffer content = {0};

    if (gzip)
        return reply_label(
            MHD_create_response_from_buffer(asset->size, (void *)(asset_bytes + asset->begin), MHD_RESPMEM_PERSISTENT),
            types[asset->type], NULL, true);
    return page_decode(&content, asset) == 0 ? reply_make(&content, types[asset->type], NULL, false) : NULL;
}

static void reply_no_file(struct request *request, const char *path)
{
    if (str_equal(path, ASSET_CHART))
        reply_error(request, MHD_HTTP_NOT_FOUND,
                    "the page has no lines here: perfcountd was built without Chart.js (libjs-chart.js of Debian)");
    else
        reply_error(request, MHD_HTTP_NOT_FOUND, "the page has no file \"%.256s\"; see / for what there is", path);
}

void handle_page_file(struct request *request, const struct route *route)
{
    const char *path = request->path + strlen(route->path);
    const struct asset *asset = asset_find(path);

    /* The page itself is at /, with its policy. */
    if (!asset || asset->type == ASSET_HTML) {
        reply_no_file(request, path);
        return;
    }
    bool gzip = request_negotiate(request, NULL, 0);
    struct page_etag etag = page_etag_make(asset->tag, gzip);
    page_reply(request, response_of(asset, gzip), &etag, VARY_CODING);
}
