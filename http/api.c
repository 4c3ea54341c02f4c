/* SPDX-License-Identifier: Apache-2.0 */
/* The paths under /-/, and the pause. */
#include "base/json.h"
#include "base/number.h"
#include "http/content.h"
#include "http/handlers.h"
#include "http/refusal.h"
#include "http/reply.h"

#define PAUSE_SECONDS 60 /* where the client gives none */
#define PAUSE_SECONDS_MAX 3600

void handle_healthy(struct request *request, const struct route *route)
{
    (void)route;
    reply_text(request, MHD_HTTP_OK, "healthy");
}

void handle_ready(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;

    (void)route;
    if (service->ready(service->userdata))
        reply_text(request, MHD_HTTP_OK, "ready");
    else
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready: there has been no reading yet");
}

/* A configuration that is wrong is the client's to fix; the rest may work later. */
static unsigned reload_status(int error)
{
    return error == -ENOMEM      ? MHD_HTTP_INTERNAL_SERVER_ERROR
           : error == -ETIMEDOUT ? MHD_HTTP_SERVICE_UNAVAILABLE
                                 : MHD_HTTP_BAD_REQUEST;
}

void handle_reload(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    struct error error;

    (void)route;
    int r = service->reload(service->userdata, &error);
    if (r < 0)
        reply_error(request, reload_status(r), "%s", error.message);
    else
        reply_text(request, MHD_HTTP_OK, "reloaded");
}

/* With the reason why this client may not pause or reload, if it may not. */
static void reply_paused(struct request *request)
{
    const struct service *service = request->site->service;
    struct service_pause pause = service->paused(service->userdata);
    const char *refusal = refusal_sentence(request, true);
    json_t *document =
        pause.paused ? json_pack("{s:b, s:i, s:f}", "paused", true, "seconds", (int)pause.seconds, "until", pause.until)
                     : json_pack("{s:b}", "paused", false);

    if (document && refusal)
        document = json_object_add(document, "refusal", json_string(refusal));
    content_reply_json(request, document, false);
}

void handle_paused(struct request *request, const struct route *route)
{
    (void)route;
    reply_paused(request);
}

static int pause_take_seconds(void *userdata, const char *name, const char *value, struct error *error)
{
    uint64_t *seconds = userdata;

    if (number_parse_u64(value, seconds) == 0 && *seconds >= 1 && *seconds <= PAUSE_SECONDS_MAX)
        return 0;
    return error_set(error, -EINVAL, "parameter \"%s\": expected a number from 1 to %d, found \"%.64s\"", name,
                     PAUSE_SECONDS_MAX, value);
}

static void set_pause(struct request *request, unsigned seconds)
{
    const struct service *service = request->site->service;
    struct error error;

    if (service->pause(service->userdata, seconds, &error) < 0)
        reply_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", error.message);
    else
        reply_paused(request);
}

/* A time in a body would be ignored, and another one would be in force. */
static bool has_body(struct request *request)
{
    const char *length = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

    return length && !str_equal(length, "0");
}

void handle_pause(struct request *request, const struct route *route)
{
    uint64_t seconds = PAUSE_SECONDS;
    struct error error;
    int r = request_parameters(request, route->parameters, pause_take_seconds, &seconds, &error);

    if (has_body(request))
        reply_error(request, MHD_HTTP_BAD_REQUEST,
                    "the parameter \"seconds\" is taken from the URL, as in %s?seconds=60, and not from a body",
                    route->path);
    else if (r < 0)
        reply_wrong(request, r, &error);
    else
        set_pause(request, (unsigned)seconds);
}

void handle_resume(struct request *request, const struct route *route)
{
    (void)route;
    set_pause(request, 0);
}
