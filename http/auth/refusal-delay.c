/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal that is held back: see refusal-delay.h. */
#include "http/auth/refusal-delay.h"

#include "base/cleanup.h"

/* It may be late, so that one wake-up serves many. */
#define ACCURACY_USEC 50000

struct refusal_delay {
    struct request *request;
    sd_event_source *timer;
};

struct refusal_delay *refusal_delay_free(struct refusal_delay *penalty)
{
    if (!penalty)
        return NULL;
    penalty->request->penalty = NULL;
    sd_event_source_disable_unref(penalty->timer);
    free(penalty);
    return NULL;
}
DEFINE_CLEANUP(struct refusal_delay *, refusal_delay_free);

void refusal_delay_end(struct request *request)
{
    if (!request->penalty)
        return;
    refusal_delay_free(request->penalty);
    request->penalties++;
    request_resume(request);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct refusal_delay *penalty = userdata;

    (void)source;
    (void)usec;
    refusal_delay_end(penalty->request);
    return 0;
}

bool refusal_delay_start(struct request *request)
{
    _cleanup_(refusal_delay_freep) struct refusal_delay *penalty = calloc(1, sizeof(*penalty));
    const struct service *service = request->site->service;

    if (!penalty)
        return false;
    penalty->request = request;
    uint64_t end = service->now(service->userdata) + REFUSAL_DELAY_NS;
    if (sd_event_add_time(request->site->event, &penalty->timer, CLOCK_MONOTONIC, end / NSEC_PER_USEC, ACCURACY_USEC,
                          on_timer, penalty) < 0)
        return false;
    request->penalty = steal(penalty);
    MHD_suspend_connection(request->mhd);
    return true;
}
