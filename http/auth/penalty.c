/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal that is held back: see penalty.h. */
#include "http/auth/penalty.h"

#include "base/cleanup.h"

/* It may be late, so that one wake-up serves many. */
#define ACCURACY_USEC 50000

struct penalty {
    struct request *request;
    sd_event_source *timer;
};

struct penalty *penalty_free(struct penalty *penalty)
{
    if (!penalty)
        return NULL;
    penalty->request->penalty = NULL;
    sd_event_source_disable_unref(penalty->timer);
    free(penalty);
    return NULL;
}
DEFINE_CLEANUP(struct penalty *, penalty_free);

void penalty_end(struct request *request)
{
    if (!request->penalty)
        return;
    penalty_free(request->penalty);
    request->penalties++;
    request_resume(request);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct penalty *penalty = userdata;

    (void)source;
    (void)usec;
    penalty_end(penalty->request);
    return 0;
}

bool penalty_start(struct request *request)
{
    _cleanup_(penalty_freep) struct penalty *penalty = calloc(1, sizeof(*penalty));
    const struct service *service = request->site->service;

    if (!penalty)
        return false;
    penalty->request = request;
    uint64_t end = service->now(service->userdata) + PENALTY_NS;
    if (sd_event_add_time(request->site->event, &penalty->timer, CLOCK_MONOTONIC, end / NSEC_PER_USEC, ACCURACY_USEC,
                          on_timer, penalty) < 0)
        return false;
    request->penalty = steal(penalty);
    MHD_suspend_connection(request->mhd);
    return true;
}
