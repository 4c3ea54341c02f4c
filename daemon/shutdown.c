/* SPDX-License-Identifier: Apache-2.0 */
/* An orderly end: see shutdown.h. */
#include "daemon/shutdown.h"

#include "base/cleanup.h"
#include "base/timer.h"

/* How long clients have to read the rest of their streams. */
#define DRAIN_USEC (1 * USEC_PER_SEC)
#define ACCURACY_USEC 10000

struct shutdown {
    sd_event *event;
    sd_event_source *timer;
    struct sampler *sampler;
    bool begun;
};
DEFINE_CLEANUP(struct shutdown *, shutdown_free);

static void on_streams_ended(void *userdata)
{
    struct shutdown *shutdown = userdata;

    sd_event_exit(shutdown->event, 0);
}

static int shutdown_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct shutdown *shutdown = userdata;

    (void)source;
    (void)usec;
    return sd_event_exit(shutdown->event, 0);
}

int shutdown_new(sd_event *event, struct sampler *sampler, struct shutdown **ret)
{
    _cleanup_(shutdown_freep) struct shutdown *shutdown = calloc(1, sizeof(*shutdown));

    if (!shutdown)
        return -ENOMEM;
    shutdown->event = sd_event_ref(event);
    shutdown->sampler = sampler;
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

int shutdown_begin(struct shutdown *shutdown)
{
    if (shutdown->begun)
        return sd_event_exit(shutdown->event, 0);
    shutdown->begun = true;
    if (!sampler_end(shutdown->sampler, on_streams_ended, shutdown))
        return sd_event_exit(shutdown->event, 0);
    int r = timer_arm_in(shutdown->timer, DRAIN_USEC);
    return r < 0 ? sd_event_exit(shutdown->event, 0) : 0;
}

bool shutdown_has_begun(const struct shutdown *shutdown)
{
    return shutdown->begun;
}
