/* SPDX-License-Identifier: Apache-2.0 */
/* The telemetry path: the metrics in the form that the client prefers. */
#include "base/cleanup.h"
#include "formats/exposition.h"
#include "formats/filter.h"
#include "http/api/handlers.h"
#include "http/content.h"
#include "http/reply.h"

struct choice {
    uint32_t mask;
    const char *const *names;
};

static int take_collector(void *userdata, const char *name, const char *value, struct error *error)
{
    struct choice *choice = userdata;

    return filter_add_collector(&choice->mask, choice->names, name, value, error);
}

/* OpenMetrics where the client prefers it by q-value or, at the same value, names it more exactly; else text. */
static enum exposition exposition_negotiate(struct request *request, bool *ret_gzip)
{
    struct offer offers[] = {
        [EXPOSITION_TEXT] = {.type = "text", .subtype = "plain", .version = "0.0.4"},
        [EXPOSITION_OPENMETRICS] = {.type = "application", .subtype = "openmetrics-text", .version = "1.0.0"},
    };
    const struct offer *text = &offers[EXPOSITION_TEXT], *openmetrics = &offers[EXPOSITION_OPENMETRICS];

    *ret_gzip = request_negotiate(request, offers, ARRAY_SIZE(offers));
    if (openmetrics->quality != text->quality)
        return openmetrics->quality > text->quality ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
    return openmetrics->quality && openmetrics->specificity > text->specificity ? EXPOSITION_OPENMETRICS
                                                                                : EXPOSITION_TEXT;
}

void handle_telemetry(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    _cleanup_(buffer_done) struct buffer content = {0};
    struct choice choice = {.names = service->read(service->userdata, 0, false)->collector_names};
    struct error error;
    bool gzip;

    if (request_parameters(request, route->parameters, take_collector, &choice, &error) < 0) {
        reply_error(request, MHD_HTTP_BAD_REQUEST, "%s", error.message);
        return;
    }
    enum exposition format = exposition_negotiate(request, &gzip);
    const struct response_key key = {
        .format = format == EXPOSITION_TEXT ? RESPONSE_TEXT : RESPONSE_OPENMETRICS,
        .gzip = gzip,
        .mask = choice.mask ? choice.mask : COLLECTORS_ALL,
    };
    const struct snapshot *snapshot = service->read(service->userdata, key.mask, false);
    if (content_find(request, snapshot, &key))
        return;
    if (exposition_write(&content, &snapshot->metrics, key.mask, format) == 0)
        content_reply(request, &content, exposition_content_type(format), gzip, snapshot, &key);
}
