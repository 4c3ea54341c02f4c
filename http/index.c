/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers at /: web/index.html, which has every path, its description and an example for browsers without
 * JavaScript; or these as text, for clients that are no browsers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/hash-index.h"
#include "http/handlers.h"
#include "http/page.h"
#include "http/reply.h"

/* Where web/index.html gets what the daemon knows. */
#define MODULES_MARKER "<!-- modules -->\n"
#define PATHS_MARKER "<!-- paths -->\n"

/* Only what is needed, and from here alone. */
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

/* The host as the client wrote it, so that examples can be pasted; but only if it is a host and a port. */
static const char *host_of(struct request *request)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    const char *host = request_header(request, MHD_HTTP_HEADER_HOST);

    return host && *host && !host[strspn(host, allowed)] ? host : "localhost:10298";
}

/*
 * Relative, since a proxy may have the page below a path of its own. The link of a stream has the query of its example:
 * without `seconds`, it would last for sampler.max_seconds.
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

/* All modules are asked for at once, and not each when the one that imports it is there. */
static void append_modules(struct buffer *page)
{
    for (size_t i = 0; i < n_assets; i++)
        if (assets[i].type == ASSET_JS && !str_equal(assets[i].path, ASSET_CHART))
            buffer_appendf(page, "<link rel=\"modulepreload\" href=\".%s%s\">\n", PAGE_PATH, assets[i].path);
}

/* Appends the template up to a marker; returns what is behind it. */
static const char *append_until(struct buffer *page, const char *template, const char *marker)
{
    const char *at = strstr(template, marker);

    if (!at) /* a test looks for each of them */
        return template;
    buffer_append(page, template, (size_t)(at - template));
    return at + strlen(marker);
}

static void append_page(struct buffer *page, const char *template, const struct site *site, const char *host)
{
    const char *rest = append_until(page, template, MODULES_MARKER);
    append_modules(page);
    rest = append_until(page, rest, PATHS_MARKER);
    append_paths(page, site, host);
    buffer_append_text(page, rest);
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

/* Browsers name text/html; curl takes anything. */
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

/* 64 bits, as of the files. */
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

void handle_index(struct request *request, const struct route *route)
{
    _cleanup_(buffer_done) struct buffer list = {0};
    bool gzip;

    (void)route;
    if (wants_html(request, &gzip)) {
        reply_page(request, gzip);
        return;
    }
    append_list(&list, request->site, host_of(request));
    reply_set(request, MHD_HTTP_OK, reply_make(&list, TYPE_TEXT, VARY_ALL, gzip));
}
