/* SPDX-License-Identifier: Apache-2.0 */
/* The two readings of /api/v1/rates: see rates-wait.h. */
#include "http/api/rates-wait.h"

#include "base/cleanup.h"
#include "formats/rates-json.h"
#include "http/compression.h"
#include "http/reply.h"

/* Each keeps a copy of all counters; a unix socket, where all clients look the same, has half of them. */
#define WAITS_MAX 64
#define WAITS_PER_ADDRESS_MAX 16

struct rates_wait {
    struct request *request;
    struct baseline *baseline;
    struct filter filter;
    struct order order;
    bool gzip;
    sd_event_source *timer;
    struct rates_wait *next; /* of the site */
};

static void unlink_wait(struct rates_wait *wait)
{
    struct rates_wait **at = &wait->request->site->waits;

    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
}

struct rates_wait *rates_wait_free(struct rates_wait *wait)
{
    if (!wait)
        return NULL;
    wait->request->wait = NULL;
    unlink_wait(wait);
    sd_event_source_disable_unref(wait->timer);
    baseline_free(wait->baseline);
    filter_done(&wait->filter);
    free(wait);
    return NULL;
}
DEFINE_CLEANUP(struct rates_wait *, rates_wait_free);

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    _cleanup_(rates_wait_freep) struct rates_wait *wait = userdata;
    _cleanup_(buffer_done) struct buffer content = {0};
    struct request *request = wait->request;
    const struct service *service = request->site->service;

    (void)source;
    (void)usec;
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(&wait->filter), true);
    if (rates_json_write(&content, wait->baseline, snapshot, &wait->filter, &wait->order) == 0 &&
        !(wait->gzip && compression_start(request, &content, TYPE_JSON, VARY_ALL, NULL)))
        reply_set(request, MHD_HTTP_OK, reply_make(&content, TYPE_JSON, VARY_ALL, wait->gzip));
    if (!request->packing)
        request_resume(request);
    return 0;
}

static struct rates_wait *wait_new(struct request *request, struct filter *filter, const struct order *order, bool gzip)
{
    struct rates_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        return NULL;
    *wait = (struct rates_wait){.request = request, .filter = *filter, .order = *order, .gzip = gzip};
    *filter = (struct filter){0};
    wait->next = request->site->waits;
    request->site->waits = wait;
    return wait;
}

/* Also of clients that have left since: libmicrohttpd does not look at a suspended connection. */
static bool has_room(const struct request *request)
{
    unsigned n = 0, same = 0, limit = request->peer->unix_socket ? WAITS_MAX / 2 : WAITS_PER_ADDRESS_MAX;

    for (const struct rates_wait *wait = request->site->waits; wait; wait = wait->next) {
        n++;
        same += peer_same(wait->request->peer, request->peer);
    }
    return n < WAITS_MAX && same < limit;
}

void rates_wait_start(struct request *request, struct filter *filter, const struct order *order, double seconds,
                      bool gzip)
{
    struct site *site = request->site;
    const struct service *service = site->service;
    struct error error;

    if (!has_room(request)) {
        reply_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "so many wait for rates already, in all or from this address; try again");
        return;
    }
    _cleanup_(rates_wait_freep) struct rates_wait *wait = wait_new(request, filter, order, gzip);
    if (!wait)
        return;
    const struct snapshot *snapshot = service->read(service->userdata, filter_mask(&wait->filter), true);
    if (order_check(order, snapshot, &error) < 0) {
        reply_error(request, MHD_HTTP_BAD_REQUEST, "%s", error.message);
        return;
    }
    wait->baseline = baseline_new(snapshot);
    uint64_t end = service->now(service->userdata) + (uint64_t)(seconds * (double)NSEC_PER_SEC);
    if (!wait->baseline ||
        sd_event_add_time(site->event, &wait->timer, CLOCK_MONOTONIC, end / 1000, 1, on_timer, wait) < 0)
        return;
    MHD_suspend_connection(request->mhd);
    request->wait = steal(wait);
}
