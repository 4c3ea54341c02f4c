/* SPDX-License-Identifier: Apache-2.0 */
/* Tries again what could not be opened: see retry.h. */
#include "daemon/retry.h"

#include "base/timer.h"

#define WAIT_MIN_S 1
#define WAIT_MAX_S 60
/* So that it may share a wake-up with others. */
#define ACCURACY_USEC 100000

struct retry {
    sd_event_source *timer;
    void (*on_due)(void *userdata);
    void *userdata;
    unsigned wait_s; /* the last one; 0 before the first */
    bool scheduled;
};

static int retry_on_duer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct retry *retry = userdata;

    (void)source;
    (void)usec;
    retry->scheduled = false;
    retry->on_due(retry->userdata);
    return 0;
}

int retry_new(sd_event *event, void (*on_due)(void *userdata), void *userdata, struct retry **ret)
{
    struct retry *retry = calloc(1, sizeof(*retry));

    if (!retry)
        return -ENOMEM;
    retry->on_due = on_due;
    retry->userdata = userdata;
    int r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, retry_on_duer, retry, &retry->timer);
    if (r < 0) {
        retry_free(retry);
        return r;
    }
    *ret = retry;
    return 0;
}

struct retry *retry_free(struct retry *retry)
{
    if (!retry)
        return NULL;
    sd_event_source_disable_unref(retry->timer);
    free(retry);
    return NULL;
}

void retry_restart(struct retry *retry)
{
    timer_disarm(retry->timer);
    retry->scheduled = false;
    retry->wait_s = 0;
}

unsigned retry_next(unsigned wait_s, enum reason_span span)
{
    if (span == REASON_LASTS || (span == REASON_BRIEF && wait_s >= WAIT_MAX_S))
        return 0;
    return wait_s ? MIN(2 * wait_s, WAIT_MAX_S) : WAIT_MIN_S;
}

int retry_want(struct retry *retry, enum reason_span span)
{
    unsigned wait_s = retry_next(retry->wait_s, span);

    if (span == REASON_LASTS)
        retry_restart(retry);
    if (wait_s == 0 || retry->scheduled)
        return 0;
    int r = timer_arm_in(retry->timer, wait_s * USEC_PER_SEC);
    if (r < 0)
        return r;
    retry->wait_s = wait_s;
    retry->scheduled = true;
    return 0;
}

unsigned retry_wait(const struct retry *retry)
{
    return retry->scheduled ? retry->wait_s : 0;
}
