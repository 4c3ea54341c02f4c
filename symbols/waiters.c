/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that wait: see waiters.h. */
#include "symbols/waiters.h"

/* Of a scan, in one turn of the event loop. */
#define STEPS_PER_TURN 40

struct waiter {
    bool scans;
    struct proc_scan *scan; /* until it is complete */
    void (*done)(void *userdata);
    void *userdata;
    TAILQ_ENTRY(waiter) entry;
};

static void waiter_free(struct waiters *waiters, struct waiter *waiter)
{
    TAILQ_REMOVE(&waiters->list, waiter, entry);
    proc_scan_free(waiter->scan);
    free(waiter);
}

/* Returns whether the scan goes on in the next turn. */
static bool waiter_scan(struct waiters *waiters, struct waiter *waiter)
{
    enum proc_scan_state state = SCAN_GOES_ON;

    for (int i = 0; i < STEPS_PER_TURN && state == SCAN_GOES_ON; i++)
        state = proc_scan_step(waiter->scan);
    if (state == SCAN_COMPLETE) {
        waiters->denied = proc_scan_was_denied(waiter->scan);
        waiters->failed = proc_scan_has_failed(waiter->scan);
        waiter->scan = proc_scan_free(waiter->scan);
    }
    return state == SCAN_GOES_ON;
}

/* It may add and remove waiters. */
static void waiter_call(struct waiters *waiters, struct waiter *waiter)
{
    void (*done)(void *userdata) = waiter->done;
    void *userdata = waiter->userdata;

    waiter_free(waiters, waiter);
    done(userdata);
}

/* A few steps of the first scan. One waiter is called in a turn, since that may change everything. */
static int waiters_on_turn(sd_event_source *source, void *userdata)
{
    struct waiters *waiters = userdata;
    struct waiter *waiter;
    bool scanning = false;

    TAILQ_FOREACH (waiter, &waiters->list, entry) {
        if (waiter->scan && !scanning)
            scanning = waiter_scan(waiters, waiter);
        if (!waiter->scan && waiters->tables_are_ready(waiters->userdata, waiter->scans)) {
            waiter_call(waiters, waiter);
            return 0;
        }
    }
    if (!scanning) /* waiters_wake() enables it again */
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

int waiters_init(struct waiters *waiters, sd_event *event)
{
    TAILQ_INIT(&waiters->list);
    int r = sd_event_add_defer(event, &waiters->turn, waiters_on_turn, waiters);
    if (r >= 0)
        r = sd_event_source_set_priority(waiters->turn, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(waiters->turn, SD_EVENT_OFF);
    return r < 0 ? r : 0;
}

void waiters_done(struct waiters *waiters)
{
    while (waiters->turn && !TAILQ_EMPTY(&waiters->list))
        waiter_free(waiters, TAILQ_FIRST(&waiters->list));
    waiters->turn = sd_event_source_disable_unref(waiters->turn);
}

int waiters_add(struct waiters *waiters, struct proc_scan *scan, void (*done)(void *userdata), void *userdata)
{
    struct waiter *waiter = malloc(sizeof(*waiter));

    if (!waiter)
        return -ENOMEM;
    *waiter = (struct waiter){.scans = scan, .scan = scan, .done = done, .userdata = userdata};
    TAILQ_INSERT_TAIL(&waiters->list, waiter, entry);
    waiters_wake(waiters);
    return 0;
}

void waiters_remove(struct waiters *waiters, const void *userdata)
{
    for (struct waiter *waiter = TAILQ_FIRST(&waiters->list), *next; waiter; waiter = next) {
        next = TAILQ_NEXT(waiter, entry);
        if (waiter->userdata == userdata)
            waiter_free(waiters, waiter);
    }
}

void waiters_wake(struct waiters *waiters)
{
    if (!TAILQ_EMPTY(&waiters->list))
        sd_event_source_set_enabled(waiters->turn, SD_EVENT_ON);
}
