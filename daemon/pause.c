/* SPDX-License-Identifier: Apache-2.0 */
/* The timer of a pause: see pause.h. */
#include "daemon/pause.h"

#include "base/timer.h"

#define ACCURACY_USEC 10000

struct pause {
    sd_event_source *timer;
    void (*on_end)(void *userdata);
    void *userdata;
};

static int pause_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct pause *pause = userdata;

    (void)source;
    (void)usec;
    pause->on_end(pause->userdata);
    return 0;
}

int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret)
{
    struct pause *pause = calloc(1, sizeof(*pause));

    if (!pause)
        return -ENOMEM;
    pause->on_end = on_end;
    pause->userdata = userdata;
    /* Time in suspend counts. */
    int r = timer_init(event, CLOCK_BOOTTIME, ACCURACY_USEC, pause_on_timer, pause, &pause->timer);
    if (r < 0) {
        pause_free(pause);
        return r;
    }
    *ret = pause;
    return 0;
}

struct pause *pause_free(struct pause *pause)
{
    if (!pause)
        return NULL;
    sd_event_source_disable_unref(pause->timer);
    free(pause);
    return NULL;
}

int pause_start(struct pause *pause, unsigned seconds)
{
    return timer_arm_in(pause->timer, seconds * USEC_PER_SEC);
}

void pause_stop(struct pause *pause)
{
    timer_disarm(pause->timer);
}

uint64_t pause_remaining(const struct pause *pause)
{
    return timer_remaining(pause->timer);
}
