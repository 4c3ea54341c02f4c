/* SPDX-License-Identifier: Apache-2.0 */
/* The timer of a pause: see pause.h. */
#include "daemon/pause.h"

#include "base/timer.h"

/* A pause also ends while the machine sleeps. */
#define PAUSE_CLOCK CLOCK_BOOTTIME
#define ACCURACY_USEC 10000

struct pause {
    sd_event_source *timer;
    void (*on_end)(void *userdata);
    void *userdata;
    uint64_t end_usec; /* 0 while nothing is paused */
};

static int pause_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct pause *pause = userdata;

    (void)source;
    (void)usec;
    pause_stop(pause);
    pause->on_end(pause->userdata);
    return 0;
}

static uint64_t now_usec(void)
{
    struct timespec now;

    clock_gettime(PAUSE_CLOCK, &now);
    return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

int pause_new(sd_event *event, void (*on_end)(void *userdata), void *userdata, struct pause **ret)
{
    struct pause *pause = calloc(1, sizeof(*pause));

    if (!pause)
        return -ENOMEM;
    pause->on_end = on_end;
    pause->userdata = userdata;
    int r = timer_init(event, PAUSE_CLOCK, ACCURACY_USEC, pause_on_timer, pause, &pause->timer);
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
    uint64_t end = now_usec() + seconds * USEC_PER_SEC;
    int r = timer_arm(pause->timer, end);

    if (r < 0)
        return r;
    pause->end_usec = end;
    return 0;
}

void pause_stop(struct pause *pause)
{
    timer_disarm(pause->timer);
    pause->end_usec = 0;
}

uint64_t pause_remaining(const struct pause *pause)
{
    uint64_t now = now_usec();

    return pause->end_usec > now ? pause->end_usec - now : 0;
}
