/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal that is held back: see refusal-delay.h. */
#include "http/refusal-delay.h"

#include "base/timer.h"

/* It may be late, so that one wake-up serves many. */
#define ACCURACY_USEC 50000

static void refusal_delay_cancel(struct request *request)
{
    sd_event_source_disable_unref(request->suspension.userdata);
}

static void refusal_delay_end(struct request *request)
{
    refusal_delay_cancel(request);
    request->delays++;
    request_resume(request);
}

static int refusal_delay_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    refusal_delay_end(userdata);
    return 0;
}

bool refusal_delay_start(struct request *request)
{
    sd_event_source *timer;

    if (timer_start(request->site->event, REFUSAL_DELAY_NS / NSEC_PER_USEC, ACCURACY_USEC, refusal_delay_on_timer,
                    request, &timer) < 0)
        return false;
    request_suspend(request, refusal_delay_cancel, timer);
    request->suspension.cut_short = refusal_delay_end;
    return true;
}
