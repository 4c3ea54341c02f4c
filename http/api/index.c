/* SPDX-License-Identifier: Apache-2.0 */
/* The page of links: every path, its description and an example; as text for clients that are no browsers. */
#include "base/cleanup.h"
#include "http/api/handlers.h"
#include "http/reply.h"

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>perfcountd</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; }\n"
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }\n"
    "h1 { margin-bottom: 0; }\n"
    "dt { margin-top: 1.25rem; font-weight: 600; }\n"
    "dd { margin: 0; }\n"
    "code { font: 0.9em ui-monospace, monospace; opacity: 0.8; overflow-wrap: anywhere; }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>perfcountd</h1>\n"
    "<p>Hardware performance counters of this machine, for Prometheus and for curl.</p>\n"
    "<dl>\n";

static const char foot[] = "</dl>\n"
                           "</body>\n"
                           "</html>\n";

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

/* The link of a stream has the query of its example: without `seconds`, it would last for sampler.max_seconds. */
static void append_link(struct buffer *page, const struct route *route, const char *path)
{
    buffer_append_text(page, "<a href=\"");
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

static void append_page(struct buffer *page, const struct site *site, const char *host)
{
    buffer_append_text(page, head);
    for (size_t i = 0; i < site->n_routes; i++)
        if (site->routes[i].example)
            append_route(page, &site->routes[i], site, host);
    buffer_append_text(page, foot);
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

void handle_index(struct request *request, const struct route *route)
{
    _cleanup_(buffer_done) struct buffer page = {0};
    const char *host = host_of(request);
    bool gzip, html = wants_html(request, &gzip);

    (void)route;
    if (html)
        append_page(&page, request->site, host);
    else
        append_list(&page, request->site, host);
    struct MHD_Response *response = reply_make(&page, html ? TYPE_HTML : TYPE_TEXT, VARY_ALL, gzip);
    if (response && html)
        MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    reply_set(request, MHD_HTTP_OK, response);
}
