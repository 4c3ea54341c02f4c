/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler: see dispatch.h. */
#include "http/dispatch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "http/auth.h"
#include "http/refusal.h"
#include "http/reply.h"
#include "http/route.h"

/* The most characters that a path may differ from one that it may have meant. */
#define PATH_DISTANCE_MAX 3

static void reply_add_retry_after(struct request *request, uint64_t wait_ns)
{
    char seconds[32];

    if (!request->response || wait_ns == UINT64_MAX)
        return;
    snprintf(seconds, sizeof(seconds), "%" PRIu64, wait_ns / NSEC_PER_SEC + (wait_ns % NSEC_PER_SEC != 0));
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

/* Counted once, however often the request comes here. */
static bool request_is_within_rate(struct request *request)
{
    struct site *site = request->site;
    const struct web_config *config = site->security->config;
    uint64_t wait_ns, now = service_now(site->service);

    if (request->counted || !config)
        return true;
    request->counted = true;
    token_bucket_configure(&site->requests, config->rate_interval_ns, config->rate_burst, now);
    if (token_bucket_take(&site->requests, now, &wait_ns))
        return true;
    reply_error(request, MHD_HTTP_TOO_MANY_REQUESTS, "more requests than rate_limit of the web configuration allows");
    reply_add_retry_after(request, wait_ns);
    return false;
}

static bool is_get(const char *method)
{
    return str_equal(method, MHD_HTTP_METHOD_GET);
}

static bool route_takes_method(const struct route *route, const char *method)
{
    return str_equal(route->method, method) || (is_get(route->method) && str_equal(method, MHD_HTTP_METHOD_HEAD));
}

static bool route_is_at(const struct route *route, const struct site *site, const char *path)
{
    return route->below ? str_starts(path, route->path) : str_equal(path, route_path(route, site));
}

/* The route that takes the method; else NULL, with the methods that would be taken, "" where the path is unknown. */
static const struct route *route_find(const struct request *request, char *allow, size_t size)
{
    const struct site *site = request->site;
    size_t n = 0;

    allow[0] = '\0';
    for (size_t i = 0; i < site->n_routes; i++) {
        const struct route *route = &site->routes[i];
        if (!route_is_at(route, site, request->path))
            continue;
        if (route_takes_method(route, request->method))
            return route;
        if (n < size)
            n += (size_t)snprintf(allow + n, size - n, "%s%s%s", n ? ", " : "", route->method,
                                  is_get(route->method) ? ", HEAD" : "");
    }
    return NULL;
}

static void reply_not_found(struct request *request)
{
    struct suggest suggest = {.wrong = request->path};
    const struct site *site = request->site;
    char text[256];

    for (size_t i = 0; i < site->n_routes; i++)
        if (!site->routes[i].below)
            suggest_consider(&suggest, route_path(&site->routes[i], site));
    /* Long paths are all alike. */
    suggest.n = suggest.n > 0 && suggest.distances[0] <= PATH_DISTANCE_MAX;
    suggest_format(&suggest, text, sizeof(text));
    reply_error(request, MHD_HTTP_NOT_FOUND, "there is nothing at %.256s%s %s / for what there is", request->path,
                *text ? text : ";", *text ? "See" : "see");
}

static void reply_unknown(struct request *request, const char *allow)
{
    if (!*allow) {
        reply_not_found(request);
        return;
    }
    reply_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "%.16s is not possible here, only %s", request->method, allow);
    if (request->response)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_ALLOW, allow);
}

static bool accepts_json(struct request *request)
{
    struct offer offer = {.type = "application", .subtype = "json"};

    request_negotiate(request, &offer, 1);
    return offer.quality > 0;
}

/* Leaves a reply where the client may not use the route. */
static bool route_is_forbidden(struct request *request, const struct route *route)
{
    const char *refusal = route->starts ? refusal_sentence(request, route->restricted) : NULL;

    if (refusal)
        reply_error(request, MHD_HTTP_FORBIDDEN, "%s", refusal);
    return refusal;
}

static void request_handle(struct request *request)
{
    struct error error;
    char allow[64];
    int r;

    if (request->bad_encoding || utf8_valid_prefix(request->path, strlen(request->path)) < strlen(request->path)) {
        reply_error(request, MHD_HTTP_BAD_REQUEST, "the URL is not well-formed: bad percent-encoding or not UTF-8");
        return;
    }
    if (request->query_too_long) {
        reply_error(
            request, MHD_HTTP_URI_TOO_LONG,
            "the query has too many parameters, or is too long, for web.limits.header_size of the configuration");
        return;
    }
    const struct route *route = route_find(request, allow, sizeof(allow));
    if (!route)
        reply_unknown(request, allow);
    else if (route_is_forbidden(request, route))
        return;
    else if ((r = request_parameters(request, route->parameters, NULL, NULL, &error)) < 0)
        reply_wrong(request, r, &error);
    else if (route->json && !accepts_json(request))
        reply_error(request, MHD_HTTP_NOT_ACCEPTABLE, "this is served as application/json only");
    else
        route->handle(request, route);
}

void dispatch_request(struct request *request)
{
    enum admission admission = request_is_within_rate(request) ? auth_admit(request) : ADMISSION_REFUSED;

    request->answered = admission != ADMISSION_PENDING;
    if (admission == ADMISSION_GRANTED)
        request_handle(request);
}
