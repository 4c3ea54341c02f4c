/* SPDX-License-Identifier: Apache-2.0 */
#include "top/readings.h"

#include <poll.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "collectors/rates.h"
#include "daemon/changes.h"
#include "daemon/status.h"
#include "formats/counters.h"
#include "top/http-get.h"

/* --- counters of this process --- */

#define ACCURACY_USEC 1000

struct top_local {
    struct session *session;
    struct baseline *baseline;
    struct hotplug *hotplug;
    sd_event_source *timer;
    uint64_t interval_ns;
    struct top_listener listener;
};

bool top_local_has_counters(const struct session *session)
{
    const struct snapshot *snapshot = registry_read(session->registry, UINT32_MAX, UINT64_MAX);

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE && !str_equal(snapshot->rows[i]->collector_name, "self"))
            return true;
    return false;
}

struct top_local *top_local_free(struct top_local *local)
{
    if (!local)
        return NULL;
    sd_event_source_disable_unref(local->timer);
    hotplug_free(local->hotplug);
    baseline_free(local->baseline);
    free(local);
    return NULL;
}
DEFINE_CLEANUP(struct top_local *, top_local_free);
DEFINE_CLEANUP(struct baseline *, baseline_free);

/* Lets collectors handle their descriptors, so that they notice cgroups created or removed since the last reading. */
static void hear_collectors(struct registry *registry)
{
    for (size_t i = 0; registry_fd(registry, i) != -ENODEV; i++) {
        struct pollfd fd = {.fd = registry_fd(registry, i), .events = POLLIN};
        if (fd.fd >= 0 && poll(&fd, 1, 0) == 1)
            registry_dispatch(registry, i);
    }
}

/* Returns a document with the members of /api/v1/status that are shown. */
static json_t *status_document(const struct session *session)
{
    const char *kernel = session->machine->release ? session->machine->release : "";

    return json_pack("{s:b, s:o, s:{s:s}}", "paused", 0, "failures", document_failures(session->registry), "machine",
                     "kernel", kernel);
}

static void give_reading(struct top_local *local, const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (rates_json_write(&text, baseline, snapshot, NULL, NULL, &totals_cgroup, false) < 0)
        return;
    struct top_reading reading = {
        .rates = json_loadb(text.data, text.size, 0, NULL),
        .cgroups = document_cgroups(local->session->registry),
        .status = status_document(local->session),
    };
    local->listener.on_reading(local->listener.userdata, &reading);
    json_decref(reading.rates);
    json_decref(reading.cgroups);
    json_decref(reading.status);
}

static int local_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct top_local *local = userdata;
    struct registry *registry = local->session->registry;
    struct error error;

    (void)source;
    (void)usec;
    hear_collectors(registry);
    if (registry_is_stale(registry) && session_rescan(local->session, NULL, &error) < 0)
        local->listener.on_error(local->listener.userdata, error.message);
    const struct snapshot *snapshot = registry_read(registry, UINT32_MAX, 0);
    _cleanup_(baseline_freep) struct baseline *before = steal(local->baseline);
    local->baseline = baseline_new(snapshot);
    if (before)
        give_reading(local, before, snapshot);
    return timer_arm_in(local->timer, local->interval_ns / NSEC_PER_USEC);
}

static void local_on_hotplug(void *userdata, const struct cpuset *left)
{
    struct top_local *local = userdata;
    struct error error;

    if (session_rescan(local->session, left, &error) < 0)
        local->listener.on_error(local->listener.userdata, error.message);
}

int top_local_new(sd_event *event, struct session *session, uint64_t interval_ns, const struct top_listener *listener,
                  struct top_local **ret)
{
    _cleanup_(top_local_freep) struct top_local *local = calloc(1, sizeof(*local));

    if (!local)
        return -ENOMEM;
    local->session = session;
    local->listener = *listener;
    local->baseline = baseline_new(registry_read(session->registry, UINT32_MAX, 0));
    if (!local->baseline)
        return -ENOMEM;
    int r = hotplug_new(event, local_on_hotplug, local, &local->hotplug);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, local_on_timer, local, &local->timer);
    if (r >= 0)
        r = top_local_set_interval(local, interval_ns);
    if (r < 0)
        return r;
    *ret = steal(local);
    return 0;
}

int top_local_set_interval(struct top_local *local, uint64_t interval_ns)
{
    local->interval_ns = interval_ns;
    return timer_arm_in(local->timer, interval_ns / NSEC_PER_USEC);
}

/* --- a running daemon --- */

#define ANSWER_NS (10 * NSEC_PER_SEC) /* timeout of a request, not counting the interval */
#define RETRY_USEC 1000000            /* wait before the next request after a failure */
#define FACTS_NS (5 * NSEC_PER_SEC)   /* maximum age of documents that rarely change */

/*
 * Documents in the order of the requests. Rates are requested for each reading, the status and cgroups only if older
 * than FACTS_NS.
 */
enum remote_document { REMOTE_STATUS, REMOTE_CGROUPS, REMOTE_RATES };
#define N_REMOTE_DOCUMENTS 3

struct top_remote {
    sd_event *event;
    const struct top_address *address;
    uint64_t interval_ns, facts_usec; /* `facts_usec` is the time of the last request for the status and cgroups */
    enum remote_document asked;
    bool has_no_totals; /* the daemon is an older version, which has rejected "totals=cgroup" */
    json_t *documents[N_REMOTE_DOCUMENTS];
    struct top_request *request;
    sd_event_source *timer;
    struct top_listener listener;
};

struct top_remote *top_remote_free(struct top_remote *remote)
{
    if (!remote)
        return NULL;
    top_request_free(remote->request);
    sd_event_source_disable_unref(remote->timer);
    for (size_t i = 0; i < N_REMOTE_DOCUMENTS; i++)
        json_decref(remote->documents[i]);
    sd_event_unref(remote->event);
    free(remote);
    return NULL;
}
DEFINE_CLEANUP(struct top_remote *, top_remote_free);

static void remote_fail(struct top_remote *remote, const char *sentence)
{
    remote->request = top_request_free(remote->request);
    remote->facts_usec = 0; /* expires all documents, because another daemon may answer next */
    remote->has_no_totals = false;
    timer_arm_in(remote->timer, RETRY_USEC);
    remote->listener.on_error(remote->listener.userdata, sentence);
}

static void remote_ask(struct top_remote *remote);

static void remote_go_on(struct top_remote *remote)
{
    struct top_reading reading = {
        .rates = remote->documents[REMOTE_RATES],
        .cgroups = remote->documents[REMOTE_CGROUPS],
        .status = remote->documents[REMOTE_STATUS],
    };
    uint64_t now = 0;

    if (remote->asked == REMOTE_RATES)
        remote->listener.on_reading(remote->listener.userdata, &reading);
    sd_event_now(remote->event, CLOCK_MONOTONIC, &now);
    if (remote->asked != REMOTE_RATES)
        remote->asked++;
    else if (now - remote->facts_usec >= FACTS_NS / NSEC_PER_USEC)
        remote->asked = REMOTE_STATUS;
    remote_ask(remote);
}

static void remote_on_end(void *userdata, const struct top_reply *reply, const struct error *error)
{
    struct top_remote *remote = userdata;
    struct error failure;
    json_t *document;

    if (!reply) {
        failure = *error;
        remote_fail(remote, failure.message);
        return;
    }
    if (reply->status == 400 && remote->asked == REMOTE_RATES && !remote->has_no_totals) {
        remote->has_no_totals = true;
        remote->request = top_request_free(remote->request);
        remote_ask(remote);
        return;
    }
    if (top_reply_document(remote->address, reply, &document, &failure) < 0) {
        remote_fail(remote, failure.message);
        return;
    }
    json_decref(remote->documents[remote->asked]);
    remote->documents[remote->asked] = document;
    remote->request = top_request_free(remote->request);
    remote_go_on(remote);
}

static void remote_ask(struct top_remote *remote)
{
    uint64_t timeout = ANSWER_NS;
    char path[64];
    int r;

    if (remote->asked == REMOTE_STATUS)
        sd_event_now(remote->event, CLOCK_MONOTONIC, &remote->facts_usec);
    if (remote->asked == REMOTE_RATES)
        timeout += remote->interval_ns;
    snprintf(path, sizeof(path), "%s", remote->asked == REMOTE_STATUS ? "/api/v1/status" : "/api/v1/cgroups");
    if (remote->asked == REMOTE_RATES)
        snprintf(path, sizeof(path), "/api/v1/rates?seconds=%.3f%s", (double)remote->interval_ns / (double)NSEC_PER_SEC,
                 remote->has_no_totals ? "" : "&totals=cgroup");
    r = top_request_start(remote->event, remote->address, path, timeout, remote_on_end, remote, &remote->request);
    if (r < 0)
        remote_fail(remote, strerror(-r));
}

static int remote_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct top_remote *remote = userdata;

    (void)source;
    (void)usec;
    remote->asked = REMOTE_STATUS;
    remote_ask(remote);
    return 0;
}

int top_remote_new(sd_event *event, const struct top_address *address, uint64_t interval_ns,
                   const struct top_listener *listener, struct top_remote **ret)
{
    _cleanup_(top_remote_freep) struct top_remote *remote = calloc(1, sizeof(*remote));

    if (!remote)
        return -ENOMEM;
    remote->event = sd_event_ref(event);
    remote->address = address;
    remote->listener = *listener;
    top_remote_set_interval(remote, interval_ns);
    int r = timer_init(event, CLOCK_MONOTONIC, 1000, remote_on_timer, remote, &remote->timer);
    if (r >= 0)
        r = timer_arm_in(remote->timer, 0);
    if (r < 0)
        return r;
    *ret = steal(remote);
    return 0;
}

void top_remote_set_interval(struct top_remote *remote, uint64_t interval_ns)
{
    remote->interval_ns = MIN(interval_ns, 60 * NSEC_PER_SEC);
}
