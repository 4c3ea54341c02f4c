/* SPDX-License-Identifier: Apache-2.0 */
/* What a request passes on its way to its route: see gate.h. */
#include "http/auth/gate.h"

#include <inttypes.h>
#include <stdio.h>

#include "http/auth/auth.h"
#include "http/reply.h"
#include "http/routes.h"

static void add_retry_after(struct request *request, uint64_t wait_ns)
{
    char seconds[32];

    if (!request->response || wait_ns == UINT64_MAX)
        return;
    snprintf(seconds, sizeof(seconds), "%" PRIu64, wait_ns / NSEC_PER_SEC + (wait_ns % NSEC_PER_SEC != 0));
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

/* Counted once, however often the request comes here. */
static bool is_within_rate(struct request *request)
{
    struct site *site = request->site;
    const struct web_config *config = site->security->config;
    uint64_t wait_ns, now = site->service->now(site->service->userdata);

    if (request->counted || !config)
        return true;
    request->counted = true;
    token_bucket_configure(&site->bucket, config->rate_interval_ns, config->rate_burst, now);
    if (token_bucket_take(&site->bucket, now, &wait_ns))
        return true;
    reply_error(request, MHD_HTTP_TOO_MANY_REQUESTS, "more requests than rate_limit of the web configuration allows");
    add_retry_after(request, wait_ns);
    return false;
}

void gate_answer(struct request *request)
{
    enum admission admission = is_within_rate(request) ? auth_admit(request) : ADMISSION_REFUSED;

    request->answered = admission != ADMISSION_PENDING;
    if (admission == ADMISSION_GRANTED)
        routes_answer(request);
}
