/* SPDX-License-Identifier: Apache-2.0 */
/* The paths under /-/, for who runs the daemon. */
#include "http/handlers.h"
#include "http/reply.h"

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
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready: there was no reading yet");
}

void handle_reload(struct request *request, const struct route *route)
{
    const struct service *service = request->site->service;
    struct error error;

    (void)route;
    int r = service->reload(service->userdata, &error);
    if (r < 0)
        reply_error(request, r == -ENOMEM ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_BAD_REQUEST, "%s", error.message);
    else
        reply_text(request, MHD_HTTP_OK, "reloaded");
}
