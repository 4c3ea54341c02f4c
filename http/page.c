/* SPDX-License-Identifier: Apache-2.0 */
#include "http/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/intern.h"
#include "http/handlers.h"
#include "http/reply.h"

struct page_etag {
    char text[32];
};

/* --- If-None-Match --- */

bool etag_is_in(const char *etag, const char *if_none_match)
{
    const char *next = if_none_match + strspn(if_none_match, " \t,");

    if (*next == '*')
        return true;
    while (*next) {
        if (str_starts(next, "W/"))
            next += 2;
        const char *end = *next == '"' ? strchr(next + 1, '"') : NULL;
        if (!end)
            return false; /* the rest of the header is malformed */
        size_t size = (size_t)(end + 1 - next);
        if (size == strlen(etag) && memcmp(next, etag, size) == 0)
            return true;
        next = end + 1 + strspn(end + 1, " \t,");
    }
    return false;
}

/* --- files --- */

#define VARY_CODING "Accept-Encoding"

/*
 * The web page loads dozens of files. To keep their response headers short, only the page itself is sent with a charset
 * and policies.
 */
static const char *const types[] = {
    [ASSET_CSS] = "text/css",
    [ASSET_HTML] = TYPE_HTML,
    [ASSET_JS] = "text/javascript",
    [ASSET_SVG] = "image/svg+xml",
};

/*
 * Returns the strong ETag of the content that `tag`, of at most 16 characters, identifies. The gzip-compressed form of
 * the content has another ETag.
 */
static struct page_etag page_etag_make(const char *tag, bool gzip)
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

/*
 * Replies with a response that reply_label() returned, and takes ownership of this response. If the client already has
 * the content with this ETag, only the head is sent (304).
 */
static void page_reply(struct request *request, struct MHD_Response *response, const struct page_etag *etag,
                       const char *vary)
{
    struct sought sought = {.etag = etag};

    if (!response)
        return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, etag->text);
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, vary);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, sought_on_header, &sought);
    /* With status 304, libmicrohttpd sends the length that the body would have, but no body (RFC 9110, section 8.6). */
    reply_set(request, sought.found ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}

int page_decode(struct buffer *buffer, const struct asset *asset)
{
    return gzip_decode(buffer, asset_bytes + asset->begin, asset->size, asset->full_size);
}

/* Compressed content is sent from static memory, without a copy. */
static struct MHD_Response *response_of(const struct asset *asset, bool gzip)
{
    _cleanup_(buffer_done) struct buffer content = {0};

    if (gzip)
        return reply_label(
            MHD_create_response_from_buffer(asset->size, (void *)(asset_bytes + asset->begin), MHD_RESPMEM_PERSISTENT),
            types[asset->type], NULL, true);
    return page_decode(&content, asset) == 0 ? reply_make(&content, types[asset->type], NULL, false) : NULL;
}

void handle_page_file(struct request *request)
{
    const char *path = request->path + strlen(PAGE_PATH);
    const struct asset *asset = asset_find(path);

    /* The page itself is only served at /, where it is sent with its policy. */
    if (!asset || asset->type == ASSET_HTML) {
        reply_error(request, MHD_HTTP_NOT_FOUND, REPLY_NO_PATH, request->path, "");
        return;
    }
    bool gzip = request_negotiate(request, NULL, 0);
    struct page_etag etag = page_etag_make(asset->tag, gzip);
    page_reply(request, response_of(asset, gzip), &etag, VARY_CODING);
}

/* --- index --- */

/*
 * Browsers get web/index.html at /. For browsers without JavaScript, this page lists all paths, with a description and
 * an example of each. Clients other than browsers get the list of paths as plain text.
 */

/* Marks the place in web/index.html where the list of paths is inserted. */
#define PATHS_MARKER "<!-- paths -->\n"

/* The Content-Security-Policy of the page, which loads only what it needs, and only from this server. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                             "img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

static void append_escaped(struct buffer *page, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            buffer_append_text(page, "&amp;");
        else if (*text == '<')
            buffer_append_text(page, "&lt;");
        else if (*text == '>')
            buffer_append_text(page, "&gt;");
        else if (*text == '"')
            buffer_append_text(page, "&quot;");
        else
            buffer_append_char(page, *text);
    }
}

/*
 * Returns the host as the client wrote it, if it looks like a plain host and port, so that the examples can be pasted.
 */
static const char *host_of(struct request *request)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    const char *host = request_header(request, MHD_HTTP_HEADER_HOST);

    return host && *host && !host[strspn(host, allowed)] ? host : "localhost:10298";
}

/*
 * Links are relative, because a proxy may serve the page below another path. The link to a stream includes the query of
 * its example, because without `seconds` the stream would run for sampler.max_seconds.
 */
static void append_link(struct buffer *page, const struct route *route, const char *path)
{
    buffer_append_text(page, "<a href=\".");
    append_escaped(page, path);
    if (route->handle == handle_stream)
        append_escaped(page, route->example);
    buffer_append_text(page, "\">");
}

static void append_route(struct buffer *page, const struct route *route, const struct site *site, const char *host)
{
    const char *path = route_path(route, site);
    bool get = str_equal(route->method, "GET");

    buffer_append_text(page, "<dt>");
    if (get)
        append_link(page, route, path);
    else
        buffer_appendf(page, "%s ", route->method);
    append_escaped(page, path);
    buffer_append_text(page, get ? "</a></dt>\n<dd>" : "</dt>\n<dd>");
    append_escaped(page, route->help);
    buffer_appendf(page, "<br><code>curl %s%s%s'http://", get ? "" : "-X ", get ? "" : route->method, get ? "" : " ");
    append_escaped(page, host);
    append_escaped(page, path);
    append_escaped(page, route->example);
    buffer_append_text(page, "'</code></dd>\n");
}

static void append_paths(struct buffer *page, const struct site *site, const char *host)
{
    buffer_append_text(page, "<p>The page needs JavaScript. These paths do not:</p>\n<dl>\n");
    for (size_t i = 0; i < site->n_routes; i++)
        if (site->routes[i].example)
            append_route(page, &site->routes[i], site, host);
    buffer_append_text(page, "</dl>\n");
}

static void append_page(struct buffer *page, const char *template, const struct site *site, const char *host)
{
    const char *at = strstr(template, PATHS_MARKER);
    size_t before = at ? (size_t)(at - template) : 0; /* a test ensures that the page has the marker */

    buffer_append(page, template, before);
    append_paths(page, site, host);
    buffer_append_text(page, template + before + (at ? strlen(PATHS_MARKER) : 0));
}

static void append_list(struct buffer *list, const struct site *site, const char *host)
{
    buffer_append_text(list, "perfcountd: hardware performance counters of this machine\n");
    for (size_t i = 0; i < site->n_routes; i++) {
        const struct route *route = &site->routes[i];
        const char *path = route_path(route, site);
        bool get = str_equal(route->method, "GET");
        if (!route->example)
            continue;
        buffer_appendf(list, "\n%s%s%s\n    %s\n", get ? "" : route->method, get ? "" : " ", path, route->help);
        buffer_appendf(list, "    curl %s%s%s'http://%s%s%s'\n", get ? "" : "-X ", get ? "" : route->method,
                       get ? "" : " ", host, path, route->example);
    }
}

/* Returns whether the client is a browser. Browsers name text/html in the Accept header; curl accepts anything. */
static bool wants_html(struct request *request, bool *ret_gzip)
{
    struct offer offers[] = {
        {.type = "text", .subtype = "plain"},
        {.type = "text", .subtype = "html"},
    };
    const struct offer *text = &offers[0], *html = &offers[1];

    *ret_gzip = request_negotiate(request, offers, ARRAY_SIZE(offers));
    return html->quality > text->quality ||
           (html->quality > 0 && html->quality == text->quality && html->specificity > text->specificity);
}

/* Makes an ETag from a 64-bit hash of the page, as for the files. */
static struct page_etag etag_of(const struct buffer *page, bool gzip)
{
    uint64_t hash = page->size;
    char tag[17];

    for (size_t i = 0; i < page->size; i++)
        hash = hash_mix(hash, (unsigned char)page->data[i]);
    snprintf(tag, sizeof(tag), "%016" PRIx64, hash);
    return page_etag_make(tag, gzip);
}

static void reply_page(struct request *request, bool gzip)
{
    _cleanup_(buffer_done) struct buffer file = {0}, page = {0};
    const struct asset *index = asset_find("index.html");

    if (!index || page_decode(&file, index) < 0)
        return;
    _cleanup_(freep) char *template = buffer_string(&file);
    if (!template)
        return;
    append_page(&page, template, request->site, host_of(request));
    if (page.failed)
        return;
    struct page_etag etag = etag_of(&page, gzip);
    struct MHD_Response *response = reply_make(&page, TYPE_HTML, NULL, gzip);
    if (response) {
        MHD_add_response_header(response, "Content-Security-Policy", policy);
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    page_reply(request, response, &etag, VARY_ALL);
}

void handle_index(struct request *request)
{
    _cleanup_(buffer_done) struct buffer list = {0};
    bool gzip;

    if (wants_html(request, &gzip)) {
        reply_page(request, gzip);
        return;
    }
    append_list(&list, request->site, host_of(request));
    reply_set(request, MHD_HTTP_OK, reply_make(&list, TYPE_TEXT, VARY_ALL, gzip));
}
