/* SPDX-License-Identifier: Apache-2.0 */
/* The two readings of /api/v1/rates: see rates-wait.h. */
#include "http/rates-wait.h"

#include "base/cleanup.h"
#include "base/timer.h"
#include "formats/rates-json.h"
#include "http/content.h"
#include "http/reply.h"

/* Each keeps a copy of all counters. Clients of a unix socket may have half of them. */
#define WAITS_MAX 64
#define WAITS_PER_ADDRESS_MAX 16

struct rates_wait {
    struct request *request;
    struct peer_count *count;
    struct baseline *baseline;
    struct rates_question question;
    bool gzip;
    sd_event_source *timer;
    LIST_ENTRY(rates_wait) entry; /* of the site's */
};

static struct rates_wait *rates_wait_free(struct rates_wait *wait)
{
    if (!wait)
        return NULL;
    if (wait->count) {
        peer_counts_remove(&wait->request->site->rates_waits, wait->count);
        LIST_REMOVE(wait, entry);
    }
    sd_event_source_disable_unref(wait->timer);
    baseline_free(wait->baseline);
    filter_done(&wait->question.filter);
    free(wait);
    return NULL;
}
DEFINE_CLEANUP(struct rates_wait *, rates_wait_free);

static void rates_wait_cancel(struct request *request)
{
    rates_wait_free(request->suspension.userdata);
}

static int rates_wait_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    _cleanup_(rates_wait_freep) struct rates_wait *wait = userdata;
    _cleanup_(buffer_done) struct buffer content = {0};
    struct request *request = wait->request;
    const struct rates_question *question = &wait->question;
    const struct service *service = request->site->service;

    (void)source;
    (void)usec;
    request_on_end(request, NULL, NULL);
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(&question->filter), true);
    if (rates_json_write(&content, wait->baseline, snapshot, &question->filter, &question->order, question->totals) ==
        0)
        content_reply(request, &content, TYPE_JSON, wait->gzip, NULL, NULL);
    /* The reply may have to be compressed first. */
    if (!request->suspension.cancel)
        request_resume(request);
    return 0;
}

static struct rates_wait *rates_wait_new(struct request *request, struct rates_question *question, bool gzip)
{
    _cleanup_(rates_wait_freep) struct rates_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        return NULL;
    *wait = (struct rates_wait){.request = request, .gzip = gzip};
    wait->count = peer_counts_add(&request->site->rates_waits, request->peer);
    if (!wait->count)
        return NULL;
    LIST_INSERT_HEAD(&request->site->rates, wait, entry);
    wait->question = *question;
    question->filter = (struct filter){0};
    return steal(wait);
}

void rates_waits_hurry(struct site *site)
{
    struct rates_wait *wait;

    LIST_FOREACH (wait, &site->rates, entry)
        timer_arm_in(wait->timer, 0);
}

/* Counts also clients that have left since: libmicrohttpd does not look at a suspended connection. */
static bool rates_wait_has_room(const struct request *request)
{
    return peer_counts_have_room(&request->site->rates_waits, request->peer, WAITS_MAX, WAITS_PER_ADDRESS_MAX);
}

void rates_wait_start(struct request *request, struct rates_question *question, bool gzip)
{
    struct site *site = request->site;
    const struct service *service = site->service;
    struct error error;

    if (!rates_wait_has_room(request)) {
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "too many clients wait for rates, in all or from this address; try again");
        return;
    }
    _cleanup_(rates_wait_freep) struct rates_wait *wait = rates_wait_new(request, question, gzip);
    if (!wait)
        return;
    const struct filter *filter = &wait->question.filter;
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(filter), true);
    int r = filter_check(filter, snapshot, &error);
    if (r == 0)
        r = order_check(&wait->question.order, filter, snapshot, &error);
    if (r < 0) {
        reply_wrong(request, r, &error);
        return;
    }
    wait->baseline = baseline_new(snapshot);
    uint64_t usec = (uint64_t)(wait->question.seconds * (double)USEC_PER_SEC);
    if (!wait->baseline || timer_start(site->event, usec, 1, rates_wait_on_timer, wait, &wait->timer) < 0)
        return;
    request_suspend(request, rates_wait_cancel, steal(wait));
}
