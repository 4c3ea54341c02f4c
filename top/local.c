/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of counters that this process has opened: see top-local.h. */
#include "top/local.h"

#include <poll.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "collectors/rates.h"
#include "daemon/documents.h"
#include "daemon/hotplug.h"
#include "formats/rates-json.h"

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

/* Cgroups that came and went. */
static void hear_collectors(struct registry *registry)
{
    for (size_t i = 0; registry_fd(registry, i) != -ENODEV; i++) {
        struct pollfd fd = {.fd = registry_fd(registry, i), .events = POLLIN};
        if (fd.fd >= 0 && poll(&fd, 1, 0) == 1)
            registry_dispatch(registry, i);
    }
}

/* As `failures` and `machine` of /api/v1/status. */
static json_t *status_document(const struct session *session)
{
    const char *kernel = session->machine->release ? session->machine->release : "";

    return json_pack("{s:b, s:o, s:{s:s}}", "paused", 0, "failures", document_failures(session->registry), "machine",
                     "kernel", kernel);
}

static void give_reading(struct top_local *local, const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (rates_json_write(&text, baseline, snapshot, NULL, NULL, false) < 0)
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
