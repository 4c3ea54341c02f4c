/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to ask for: see routes.h. */
#include "http/routes.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "http/api/handlers.h"
#include "http/reply.h"
#include "sampler/stream.h"

static const char *const telemetry_parameters[] = {"collect[]", NULL};
static const char *const counters_parameters[] = {"collector", "cpu", "pmu", "cgroup", "group", "event", NULL};
static const char *const rates_parameters[] = {"collector", "cpu",  "pmu",   "cgroup", "group", "event",
                                               "seconds",   "sort", "order", "limit",  NULL};
static const char *const pause_parameters[] = {"seconds", NULL};

const struct route routes[] = {
    {.path = NULL,
     .method = "GET",
     .handle = handle_telemetry,
     .parameters = telemetry_parameters,
     .example = "",
     .help = "all metrics, for Prometheus; ?collect[]=cpu chooses collectors"},
    {.path = "/api/v1/counters",
     .method = "GET",
     .handle = handle_counters,
     .parameters = counters_parameters,
     .json = true,
     .example = "?cpu=0-3&event=cycles",
     .help = "every counter with its raw count; filters collector, cpu, pmu, cgroup (glob), group, event"},
    {.path = "/api/v1/rates",
     .method = "GET",
     .handle = handle_rates,
     .parameters = rates_parameters,
     .json = true,
     .example = "?seconds=1",
     .help = "per-second rates and ratios over 0.05 to 60 seconds; same filters; sort, order, limit"},
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
     .help = "what is open, what failed and why"},
    {.path = "/api/v1/config",
     .method = "GET",
     .handle = handle_document,
     .json = true,
     .document = DOCUMENT_CONFIG,
     .example = "",
     .help = "the configuration that runs"},
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
     .help = "counts again at once; for operators"},
    {.path = "/api/v1/samples",
     .method = "GET",
     .handle = handle_stream,
     .starts = true,
     .parameters = stream_record_parameters,
     .samples = &sample_formats[FORMAT_NDJSON],
     .example = "?seconds=1",
     .help = "samples of what runs, a line of JSON each; seconds, event, frequency or period, cpu, cgroup, pid, max, "
             "read"},
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
     .parameters = stream_profile_parameters,
     .samples = &sample_formats[FORMAT_FOLDED],
     .example = "?seconds=10",
     .help = "stacks and how often each was seen, for flame graphs"},
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
     .help = "200 once there was a reading, 503 until then"},
    {.path = "/-/reload",
     .method = "POST",
     .handle = handle_reload,
     .starts = true,
     .restricted = true,
     .example = "",
     .help = "reads the configuration again; for operators"},
    {.path = "/", .method = "GET", .handle = handle_index},
};
const size_t n_routes = ARRAY_SIZE(routes);

const char *route_path(const struct route *route, const struct site *site)
{
    return route->path ? route->path : site->telemetry_path;
}

static bool is_get(const char *method)
{
    return str_equal(method, MHD_HTTP_METHOD_GET);
}

static bool takes_method(const struct route *route, const char *method)
{
    return str_equal(route->method, method) || (is_get(route->method) && str_equal(method, MHD_HTTP_METHOD_HEAD));
}

/* The route that takes the method; else NULL, with the methods that would be taken, "" where the path is unknown. */
static const struct route *find_route(const struct request *request, char *allow, size_t size)
{
    _cleanup_(buffer_done) struct buffer methods = {0};

    allow[0] = '\0';
    for (size_t i = 0; i < n_routes; i++) {
        if (!str_equal(request->path, route_path(&routes[i], request->site)))
            continue;
        if (takes_method(&routes[i], request->method))
            return &routes[i];
        buffer_appendf(&methods, "%s%s", methods.size ? ", " : "", routes[i].method);
        if (is_get(routes[i].method))
            buffer_append_text(&methods, ", HEAD");
    }
    if (methods.size < size && methods.size) {
        memcpy(allow, methods.data, methods.size);
        allow[methods.size] = '\0';
    }
    return NULL;
}

static void answer_unknown(struct request *request, const char *allow)
{
    if (!*allow) {
        reply_error(request, MHD_HTTP_NOT_FOUND, "there is nothing at %.256s; see / for what there is", request->path);
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

static const char of_page[] =
    "this may come from a page in a browser that somebody else has made, and such a page may read documents and start "
    "nothing. A page of this server sends \"" STANDING_PROOF ": " STANDING_PROOF_VALUE
    "\" and asks by an IP address, by "
    "\"localhost\", by this machine's name or by one of web.hosts; another program sends no \"User-Agent: "
    "Mozilla/...\", "
    "\"Accept-Language\" or \"Origin\"";

static const char of_stranger[] = "only operators may do this: clients with a password or certificate "
                                  "(web.config_file), or of a unix socket as root, "
                                  "as the user of perfcountd or in the socket's group (curl --unix-socket); "
                                  "web.local_operators makes operators of all "
                                  "clients of this machine that no proxy speaks for";

/* Leaves a reply where the client may not do what the route does. */
static bool is_forbidden(struct request *request, const struct route *route)
{
    if (!route->starts)
        return false;
    request->standing = request_standing(request);
    if (request->standing == STANDING_PAGE)
        reply_error(request, MHD_HTTP_FORBIDDEN, "%s", of_page);
    else if (route->restricted && request->standing < request->site->trust.operates)
        reply_error(request, MHD_HTTP_FORBIDDEN, "%s", of_stranger);
    else
        return false;
    return true;
}

void routes_answer(struct request *request)
{
    struct error error;
    char allow[64];

    if (request->bad_encoding || utf8_valid_prefix(request->path, strlen(request->path)) < strlen(request->path)) {
        reply_error(request, MHD_HTTP_BAD_REQUEST, "the URL is not well-formed: bad percent-encoding or not UTF-8");
        return;
    }
    if (request->query_too_long) {
        reply_error(request, MHD_HTTP_URI_TOO_LONG,
                    "the query has too many parameters, or is too long, for what "
                    "web.limits.header_size of the configuration allows");
        return;
    }
    const struct route *route = find_route(request, allow, sizeof(allow));
    if (!route)
        answer_unknown(request, allow);
    else if (is_forbidden(request, route))
        return;
    else if (request_parameters(request, route->parameters, NULL, NULL, &error) < 0)
        reply_error(request, MHD_HTTP_BAD_REQUEST, "%s", error.message);
    else if (route->json && !accepts_json(request))
        reply_error(request, MHD_HTTP_NOT_ACCEPTABLE, "this is served as application/json only");
    else
        route->handle(request, route);
}
