/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the daemon: see ending.h. */
#include "daemon/ending.h"

#include "base/cleanup.h"

/* Who does not read his stream to its end by then does not get it. */
#define LAST_USEC (1 * USEC_PER_SEC)
#define ACCURACY_USEC 10000

struct ending {
    sd_event *event;
    sd_event_source *timer;
    struct sampler *sampler;
    bool begun;
};
DEFINE_CLEANUP(struct ending *, ending_free);

static void on_ended(void *userdata)
{
    struct ending *ending = userdata;

    sd_event_exit(ending->event, 0);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct ending *ending = userdata;

    (void)source;
    (void)usec;
    return sd_event_exit(ending->event, 0);
}

int ending_new(sd_event *event, struct sampler *sampler, struct ending **ret)
{
    _cleanup_(ending_freep) struct ending *ending = calloc(1, sizeof(*ending));

    if (!ending)
        return -ENOMEM;
    ending->event = sd_event_ref(event);
    ending->sampler = sampler;
    int r = sd_event_add_time(event, &ending->timer, CLOCK_MONOTONIC, 0, ACCURACY_USEC, on_timer, ending);
    if (r >= 0)
        r = sd_event_source_set_enabled(ending->timer, SD_EVENT_OFF);
    if (r < 0)
        return r;
    *ret = steal(ending);
    return 0;
}

struct ending *ending_free(struct ending *ending)
{
    if (!ending)
        return NULL;
    sd_event_source_disable_unref(ending->timer);
    sd_event_unref(ending->event);
    free(ending);
    return NULL;
}

int ending_begin(struct ending *ending)
{
    if (ending->begun)
        return sd_event_exit(ending->event, 0);
    ending->begun = true;
    if (!sampler_end(ending->sampler, on_ended, ending))
        return sd_event_exit(ending->event, 0);
    int r = sd_event_source_set_time_relative(ending->timer, LAST_USEC);
    if (r >= 0)
        r = sd_event_source_set_enabled(ending->timer, SD_EVENT_ONESHOT);
    return r < 0 ? sd_event_exit(ending->event, 0) : 0;
}

bool ending_has_begun(const struct ending *ending)
{
    return ending->begun;
}
