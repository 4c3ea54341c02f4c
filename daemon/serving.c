/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the HTTP server calls: see serving.h. */
#include "daemon/serving.h"

#include "base/cleanup.h"
#include "daemon/documents.h"
#include "daemon/log.h"
#include "formats/availability-json.h"
#include "perf/event-list.h"

/* The CPUs are checked again at a reading this long after the last check, in case an uevent was not received. */
#define CPU_CHECK_NS (60 * NSEC_PER_SEC)

/* Replies of this size are made only after another look at how much memory there is. */
#define LARGE_REPLY (256 * 1024)

static const struct snapshot *serve_read(void *userdata, uint32_t mask, bool fresh)
{
    struct daemon *daemon = userdata;
    struct registry *registry = daemon->session.registry;
    const struct snapshot *snapshot =
        registry_read(registry, mask, fresh ? 0 : daemon->session.config->web.min_interval_ns);

    if (registry_failures(registry)->n != daemon->n_reported_failures)
        daemon_follow_failures(daemon);
    if (registry_is_stale(registry) || snapshot->monotonic_ns - daemon->cpus_checked_ns > CPU_CHECK_NS)
        hotplug_request_check(daemon->hotplug);
    if (snapshot->json_size > LARGE_REPLY)
        memory_limit_apply(&daemon->session.memory);
    return snapshot;
}

static struct service_pause serve_paused(void *userdata)
{
    struct daemon *daemon = userdata;
    struct sys *sys = &daemon->session.sys;
    double now = (double)sys->now(sys, CLOCK_REALTIME) / (double)NSEC_PER_SEC;

    if (!registry_is_paused(daemon->session.registry))
        return (struct service_pause){.paused = false};
    return (struct service_pause){
        .paused = true,
        .seconds = daemon_paused_seconds(daemon),
        .until = now + (double)pause_remaining(daemon->pause) / (double)USEC_PER_SEC,
    };
}

static json_t *status_of(struct daemon *daemon)
{
    struct session *session = &daemon->session;
    _cleanup_(json_decrefp) json_t *opener = split_json(daemon->split);
    struct document_process process = {
        .config = session->config,
        .machine = session->machine,
        .reload = &session->reload,
        .reload_error = daemon->reload_error,
        .opener = opener,
        .reader = split_reader_json(daemon->split),
        .started_realtime_ns = daemon->started_realtime_ns,
        .pause = serve_paused(daemon),
        .descriptors = document_descriptors(session),
        .processes = document_processes(&session->children, split_opener_user(daemon->split), daemon->boot_ns),
        .idle_times = document_idle_times(&session->sys),
        .realtime_ns = session->sys.now(&session->sys, CLOCK_REALTIME),
    };

    return document_status(session->registry, &process);
}

static json_t *serve_document(void *userdata, enum service_document which)
{
    struct daemon *daemon = userdata;
    struct session *session = &daemon->session;

    switch (which) {
    case DOCUMENT_PMUS:
        return document_pmus(session->machine);
    case DOCUMENT_METRICS:
        return availability_json(session->registry, session->machine);
    case DOCUMENT_CGROUPS:
        memory_limit_apply(&session->memory);
        return document_cgroups(session->registry);
    case DOCUMENT_STATUS:
        return status_of(daemon);
    case DOCUMENT_CONFIG:
        return config_json(session->config);
    }
    return NULL;
}

struct events_draft {
    struct draft draft;
    struct offered_events *events;
};

static void write_events(struct draft *draft, struct buffer *content)
{
    offered_events_write(((struct events_draft *)draft)->events, content);
}

static void free_events(struct draft *draft)
{
    struct events_draft *events = (struct events_draft *)draft;

    offered_events_free(events->events);
    free(events);
}

static struct draft *serve_draft_events(void *userdata)
{
    struct session *session = &((struct daemon *)userdata)->session;
    _cleanup_(freep) struct events_draft *events = calloc(1, sizeof(*events));

    if (!events || offered_events_new(&session->sys, session->machine, &events->events) < 0)
        return NULL;
    events->draft = (struct draft){.write = write_events, .free = free_events};
    return &steal(events)->draft;
}

static uint64_t serve_events_generation(void *userdata)
{
    return ((struct daemon *)userdata)->session.generation;
}

static bool serve_ready(void *userdata)
{
    return ((struct daemon *)userdata)->ready;
}

static uint64_t serve_now(void *userdata)
{
    struct sys *sys = &((struct daemon *)userdata)->session.sys;

    return sys->now(sys, CLOCK_MONOTONIC);
}

static void serve_complain(void *userdata, const char *sentence)
{
    (void)userdata;
    log_event(LOG_KIND_WEB, NULL, 0, "%s", sentence);
}

static int serve_pause(void *userdata, unsigned seconds, struct error *error)
{
    struct daemon *daemon = userdata;

    if (seconds == 0) {
        bool was_paused = registry_is_paused(daemon->session.registry);
        pause_stop(daemon->pause);
        if (was_paused)
            log_event(LOG_KIND_RESUMED, NULL, 0, "counting resumes on request");
        return was_paused && daemon_set_paused(daemon, false) < 0
                   ? error_set(error, -EIO, "not every group could be enabled again")
                   : 0;
    }
    int r = pause_start(daemon->pause, seconds);
    if (r < 0)
        return error_set(error, r, "no timer for the end of the pause: %s", strerror(-r));
    log_event(LOG_KIND_PAUSED, NULL, 0, "counting is paused for %u seconds", seconds);
    return daemon_set_paused(daemon, true) < 0 ? error_set(error, -EIO, "not every group could be disabled") : 0;
}

static struct sampler *serve_sampler(void *userdata)
{
    return ((struct daemon *)userdata)->sampler;
}

static int serve_reload(void *userdata, struct error *error)
{
    return daemon_reload(userdata, error);
}

void serving_init(struct daemon *daemon)
{
    daemon->service = (struct service){
        .userdata = daemon,
        .read = serve_read,
        .document = serve_document,
        .events_generation = serve_events_generation,
        .draft_events = serve_draft_events,
        .reload = serve_reload,
        .sampler = serve_sampler,
        .ready = serve_ready,
        .now = serve_now,
        .complain = serve_complain,
        .pause = serve_pause,
        .paused = serve_paused,
    };
}
