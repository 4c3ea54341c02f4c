/* SPDX-License-Identifier: Apache-2.0 */
/* An orderly end: see shutdown.h. */
#include "daemon/shutdown.h"

#include "base/cleanup.h"
#include "base/timer.h"

/* How long clients have to read the rest, and how often they are looked at. */
#define DRAIN_USEC (1 * USEC_PER_SEC)
#define STEP_USEC 20000
#define ACCURACY_USEC 10000

struct shutdown {
    sd_event *event;
    sd_event_source *timer;
    struct sampler *sampler;
    bool (*is_answering)(void *userdata);
    void *userdata;
    bool begun, streaming; /* streaming: there are streams that have not ended */
    unsigned steps;        /* that are left */
    int status;
};
DEFINE_CLEANUP(struct shutdown *, shutdown_free);

static void on_streams_ended(void *userdata)
{
    struct shutdown *shutdown = userdata;

    shutdown->streaming = false;
}

static int shutdown_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct shutdown *shutdown = userdata;

    (void)usec;
    if (shutdown->steps-- > 0 && (shutdown->streaming || shutdown->is_answering(shutdown->userdata)))
        return timer_arm_in(source, STEP_USEC);
    return sd_event_exit(shutdown->event, shutdown->status);
}

int shutdown_new(sd_event *event, struct sampler *sampler, bool (*is_answering)(void *userdata), void *userdata,
                 struct shutdown **ret)
{
    _cleanup_(shutdown_freep) struct shutdown *shutdown = calloc(1, sizeof(*shutdown));

    if (!shutdown)
        return -ENOMEM;
    shutdown->event = sd_event_ref(event);
    shutdown->sampler = sampler;
    shutdown->is_answering = is_answering;
    shutdown->userdata = userdata;
    shutdown->steps = DRAIN_USEC / STEP_USEC;
    int r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, shutdown_on_timer, shutdown, &shutdown->timer);
    if (r < 0)
        return r;
    *ret = steal(shutdown);
    return 0;
}

struct shutdown *shutdown_free(struct shutdown *shutdown)
{
    if (!shutdown)
        return NULL;
    sd_event_source_disable_unref(shutdown->timer);
    sd_event_unref(shutdown->event);
    free(shutdown);
    return NULL;
}

int shutdown_begin(struct shutdown *shutdown, int status)
{
    bool again = shutdown->begun;

    shutdown->begun = true;
    shutdown->status = status;
    if (!again)
        shutdown->streaming = sampler_end(shutdown->sampler, on_streams_ended, shutdown);
    if (again || (!shutdown->streaming && !shutdown->is_answering(shutdown->userdata)))
        return sd_event_exit(shutdown->event, status);
    int r = timer_arm_in(shutdown->timer, STEP_USEC);
    return r < 0 ? sd_event_exit(shutdown->event, status) : 0;
}

bool shutdown_has_begun(const struct shutdown *shutdown)
{
    return shutdown->begun;
}
