/* SPDX-License-Identifier: Apache-2.0 */
#include "http/routes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "http/auth.h"
#include "http/handlers.h"
#include "http/page.h"
#include "http/reply.h"
#include "sampler/stream.h"

/* --- routes --- */

static const char *const telemetry_parameters[] = {"collect[]", NULL};
/* The filter parameters of formats/query.h. */
#define FILTERS                                                                                                        \
    "collector", "cpu", "pmu", "cgroup", "group", "event", "unit", "slice", "container_id", "container", "image",      \
        "pod", "namespace", "compose_project", "compose_service", "runtime"

static const char *const counters_parameters[] = {FILTERS, NULL};
static const char *const rates_parameters[] = {FILTERS, "seconds", "sort", "order", "limit", "totals", NULL};
static const char *const history_parameters[] = {FILTERS, "since", "until", "step",   "derived",
                                                 "sort",  "order", "limit", "totals", NULL};
static const char *const pause_parameters[] = {"seconds", NULL};

const struct route routes[] = {
    {.path = NULL,
     .method = "GET",
     .handle = handle_counters,
     .parameters = telemetry_parameters,
     .example = "",
     .help = "all metrics, for Prometheus; ?collect[]=cpu selects collectors"},
    {.path = "/api/v1/counters",
     .method = "GET",
     .handle = handle_counters,
     .parameters = counters_parameters,
     .json = true,
     .example = "?cpu=0-3&event=cycles",
     .help = "every counter with its raw count; filters collector, cpu, pmu, cgroup (glob), group, event, "
             "and names such as container (glob)"},
    {.path = "/api/v1/rates",
     .method = "GET",
     .handle = handle_rates,
     .parameters = rates_parameters,
     .json = true,
     .example = "?seconds=1",
     .help = "per-second rates and ratios over 0.05 to 60 seconds; same filters; sort, order, limit, totals"},
    {.path = "/api/v1/history",
     .method = "GET",
     .handle = handle_history,
     .parameters = history_parameters,
     .json = true,
     .example = "?since=-10m&step=1m",
     .help = "what was counted in the last hour; same filters and order; since, until, step, derived, totals"},
    {.path = "/api/v1/findings",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_FINDINGS,
     .example = "",
     .help = "what stands out in the last hour and what cannot be counted, with causes and evidence"},
    {.path = "/api/v1/pmus",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_PMUS,
     .example = "",
     .help = "the PMUs of this machine and their CPUs"},
    {.path = "/api/v1/events",
     .method = "GET",
     .handle = handle_events,
     .json = true,
     .example = "",
     .help = "every event that this machine offers"},
    {.path = "/api/v1/metrics",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_METRICS,
     .example = "",
     .help = "the derived metrics, their formulas, and which are available here and why others are not"},
    {.path = "/api/v1/cgroups",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_CGROUPS,
     .example = "",
     .help = "the cgroups that are counted, and those that are not and why"},
    {.path = "/api/v1/status",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_STATUS,
     .example = "",
     .help = "open groups, failures and their reasons"},
    {.path = "/api/v1/config",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_CONFIG,
     .example = "",
     .help = "the configuration in effect"},
    {.path = "/api/v1/pause",
     .method = "GET",
     .handle = handle_paused,
     .json = true,
     .example = "",
     .help = "whether counting is paused"},
    {.path = "/api/v1/pause",
     .method = "POST",
     .handle = handle_pause,
     .parameters = pause_parameters,
     .json = true,
     .starts = true,
     .restricted = true,
     .example = "?seconds=60",
     .help = "disables all groups, so that others can use the PMUs, for 1 to 3600 seconds; for operators"},
    {.path = "/api/v1/pause",
     .method = "DELETE",
     .handle = handle_resume,
     .json = true,
     .starts = true,
     .restricted = true,
     .example = "",
     .help = "resumes counting at once; for operators"},
    {.path = "/api/v1/resume",
     .method = "POST",
     .handle = handle_resume,
     .json = true,
     .starts = true,
     .restricted = true,
     .example = "",
     .help = "the same"},
    {.path = "/api/v1/samples",
     .method = "GET",
     .handle = handle_stream,
     .starts = true,
     .parameters = stream_record_parameters,
     .samples = &sample_formats[FORMAT_NDJSON],
     .example = "?seconds=1",
     .help = "samples of running code, one line of JSON each; seconds, event, frequency or period, cpu, cgroup, unit, "
             "container, namespace, pid, max, read"},
    {.path = "/api/v1/perf.data",
     .method = "GET",
     .handle = handle_stream,
     .starts = true,
     .parameters = stream_record_parameters,
     .samples = &sample_formats[FORMAT_PERF_DATA],
     .example = "?seconds=1",
     .help = "the same for perf script -i - and perf report -i -"},
    {.path = "/api/v1/folded",
     .method = "GET",
     .handle = handle_stream,
     .starts = true,
     .parameters = stream_folded_parameters,
     .samples = &sample_formats[FORMAT_FOLDED],
     .example = "?seconds=10",
     .help = "stacks and how often each was seen, for flame graphs; by=process, thread, cgroup or container"},
    {.path = "/debug/pprof/profile",
     .method = "GET",
     .handle = handle_stream,
     .starts = true,
     .parameters = stream_profile_parameters,
     .samples = &sample_formats[FORMAT_PPROF],
     .example = "?seconds=10",
     .help = "a profile for go tool pprof, Pyroscope, Parca"},
    {.path = "/-/healthy", .method = "GET", .handle = handle_healthy, .example = "", .help = "200 while it runs"},
    {.path = "/-/ready",
     .method = "GET",
     .handle = handle_ready,
     .example = "",
     .help = "200 after the first reading, 503 before"},
    {.path = "/-/reload",
     .method = "POST",
     .handle = handle_reload,
     .starts = true,
     .restricted = true,
     .example = "",
     .help = "reads the configuration again; for operators"},
    {.path = PAGE_PATH, .method = "GET", .handle = handle_page_file, .below = true},
    {.path = "/", .method = "GET", .handle = handle_index},
};
const size_t n_routes = ARRAY_SIZE(routes);

/* --- dispatch --- */

/* Maximum edit distance between an unknown path and the path that is suggested instead. */
#define PATH_DISTANCE_MAX 3

static void reply_add_retry_after(struct request *request, uint64_t wait_ns)
{
    char seconds[32];

    if (!request->response || wait_ns == UINT64_MAX)
        return;
    snprintf(seconds, sizeof(seconds), "%" PRIu64, wait_ns / NSEC_PER_SEC + (wait_ns % NSEC_PER_SEC != 0));
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

/* A request is counted only once, even if it is dispatched again after a suspension. */
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

/*
 * Returns the route of the request. If no route accepts the request's method, returns NULL and sets `allow` to the list
 * of methods that the path accepts ("" for an unknown path).
 */
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
    /* Only the nearest path is suggested, because long paths easily resemble each other. */
    suggest.n = suggest.n > 0 && suggest.distances[0] <= PATH_DISTANCE_MAX;
    suggest_format(&suggest, text, sizeof(text));
    reply_error(request, MHD_HTTP_NOT_FOUND, REPLY_NO_PATH, request->path, text);
}

static void reply_unknown(struct request *request, const char *allow)
{
    if (!*allow) {
        reply_not_found(request);
        return;
    }
    reply_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "%.16s is not allowed here, only %s", request->method, allow);
    if (request->response)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_ALLOW, allow);
}

static bool accepts_json(struct request *request)
{
    struct offer offer = {.type = "application", .subtype = "json"};

    request_negotiate(request, &offer, 1);
    return offer.quality > 0;
}

/*
 * Refuses the request, by setting a reply, if the client may not use the route. Returns whether the request was
 * refused.
 */
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
    const struct route *route = request->route = route_find(request, allow, sizeof(allow));
    if (!route)
        reply_unknown(request, allow);
    else if (route_is_forbidden(request, route))
        return;
    else if ((r = request_parse_query(request, route->parameters, &error)) < 0)
        reply_wrong(request, r, &error);
    else if (route->json && !accepts_json(request))
        reply_error(request, MHD_HTTP_NOT_ACCEPTABLE, "this path is served as application/json only");
    else
        route->handle(request);
}

void dispatch_request(struct request *request)
{
    enum admission admission = request_is_within_rate(request) ? auth_admit(request) : ADMISSION_REFUSED;

    request->answered = admission != ADMISSION_PENDING;
    if (admission == ADMISSION_GRANTED)
        request_handle(request);
}
