/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/registry.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "metrics/own-metrics.h"

/* The collectors, in the order in which they are served. A collector's bit number is its index in this table. */
static const struct collector *const collectors[] = {
    &collector_cpu,
    &collector_pmu,
    &collector_cgroup,
    &collector_self,
};
#define N_COLLECTORS ARRAY_SIZE(collectors)

struct slot {
    void *state; /* NULL while the collector is disabled or could not be opened */
    int fd;      /* descriptor that the last open returned, or -1 */
    bool successful;
    bool incomplete;               /* the last open failed in part; the collector continues with what is open */
    uint64_t read_ns, duration_ns; /* read_ns is 0 before the first reading */
    enum reason_span span;         /* over all failures, the span that calls for the most frequent retries */
    struct error error;
    struct series *success, *duration;   /* NULL while the collector is disabled */
    struct series *groups[N_ROW_STATES]; /* NULL while the collector is not open, and for a collector without groups */
};

struct registry {
    struct sys *sys;
    const struct bpf_calls *bpf;
    const struct state_files *state_files;
    const struct reload_outcome *reload;
    struct children children;
    const uint64_t *findings;
    const struct machine *machine;
    const struct config *config;
    struct cpuset went_offline; /* CPUs that went offline, as in struct collector_env */
    bool stale;
    struct snapshot snapshot;
    struct failures failures;
    struct series **failed; /* series of the failures in failures.items, at the same index */
    bool outdated;          /* an error of a collector changed after `failures` was filled */
    const char *names[N_COLLECTORS + 1];
    struct slot slots[N_COLLECTORS];
};

static struct collector_env registry_env(struct registry *registry, size_t i)
{
    return (struct collector_env){
        .sys = registry->sys,
        .bpf = registry->bpf,
        .state_files = registry->state_files,
        .machine = registry->machine,
        .config = registry->config,
        .snapshot = &registry->snapshot,
        .went_offline = &registry->went_offline,
        .shared = registry_state(registry, &collector_cpu),
        .collector = (unsigned)i,
        .paused = registry_is_paused(registry),
    };
}

int registry_new(struct sys *sys, const struct reload_outcome *reload, struct registry **ret)
{
    struct registry *registry = calloc(1, sizeof(*registry));

    if (!registry)
        return -ENOMEM;
    registry->sys = sys;
    registry->reload = reload;
    for (size_t i = 0; i < N_COLLECTORS; i++)
        registry->names[i] = collectors[i]->name;
    registry->snapshot.collector_names = registry->names;
    *ret = registry;
    return 0;
}

void registry_set_children(struct registry *registry, const struct children *children)
{
    registry->children = *children;
}

void registry_set_findings(struct registry *registry, const uint64_t *findings)
{
    registry->findings = findings;
}

void registry_set_cgroup_sources(struct registry *registry, const struct bpf_calls *bpf,
                                 const struct state_files *state_files)
{
    registry->bpf = bpf;
    registry->state_files = state_files;
}

static void registry_forget_failures(struct registry *registry)
{
    for (size_t i = 0; registry->failed && i < registry->failures.n; i++)
        metrics_remove(&registry->snapshot.metrics, registry->failed[i]);
    free(registry->failed);
    registry->failed = NULL;
    failures_done(&registry->failures);
}

static void slot_remove_groups(struct slot *slot, struct metrics *metrics)
{
    for (size_t i = 0; i < N_ROW_STATES; i++) {
        metrics_remove(metrics, slot->groups[i]);
        slot->groups[i] = NULL;
    }
}

static void registry_close_collector(struct registry *registry, size_t i)
{
    struct slot *slot = &registry->slots[i];
    struct collector_env env = registry_env(registry, i);

    collectors[i]->close(&env, slot->state);
    slot_remove_groups(slot, &registry->snapshot.metrics);
    metrics_remove(&registry->snapshot.metrics, slot->success);
    metrics_remove(&registry->snapshot.metrics, slot->duration);
    *slot = (struct slot){.fd = -1};
}

struct registry *registry_free(struct registry *registry)
{
    if (!registry)
        return NULL;
    snapshot_begin_removals(&registry->snapshot);
    registry_forget_failures(registry);
    for (size_t i = 0; i < N_COLLECTORS; i++)
        registry_close_collector(registry, i);
    snapshot_end_removals(&registry->snapshot);
    busy_times_done(&registry->snapshot.busy, registry->sys);
    snapshot_done(&registry->snapshot);
    free(registry);
    return NULL;
}

static int slot_add_groups(struct slot *slot, struct metrics *metrics, size_t collector)
{
    for (size_t i = 0; i < N_ROW_STATES; i++) {
        struct label labels[] = {{"collector", collectors[collector]->name},
                                 {"state", row_state_name((enum row_state)i)}};
        if (!slot->groups[i])
            slot->groups[i] = own_metrics_add(metrics, OWN_GROUPS, (unsigned)collector, labels, ARRAY_SIZE(labels));
        if (!slot->groups[i])
            return -ENOMEM;
        slot->groups[i]->lasting = true;
    }
    return 0;
}

static int slot_add_series(struct slot *slot, struct metrics *metrics, size_t collector)
{
    struct label label = {"collector", collectors[collector]->name};

    if (!slot->state)
        slot_remove_groups(slot, metrics);
    else if (collectors[collector]->has_groups && slot_add_groups(slot, metrics, collector) < 0)
        return -ENOMEM;
    if (!slot->success)
        slot->success = own_metrics_add(metrics, OWN_COLLECTOR_SUCCESS, (unsigned)collector, &label, 1);
    if (!slot->duration)
        slot->duration = own_metrics_add(metrics, OWN_COLLECTOR_DURATION, (unsigned)collector, &label, 1);
    if (!slot->success || !slot->duration)
        return -ENOMEM;
    slot->success->lasting = slot->duration->lasting = true;
    return 0;
}

static bool is_enabled(const struct collector *collector, const struct config *config)
{
    return *(const bool *)((const char *)config + collector->enabled);
}

static void registry_set_failed(struct registry *registry, size_t i, bool failed)
{
    uint32_t bit = UINT32_C(1) << i;

    registry->snapshot.metrics.failed = (registry->snapshot.metrics.failed & ~bit) | (failed ? bit : 0);
}

static int registry_open_collector(struct registry *registry, size_t i, struct error *error)
{
    struct slot *slot = &registry->slots[i];
    struct collector_env env = registry_env(registry, i);
    struct opened opened = {.fd = -1};

    if (!is_enabled(collectors[i], registry->config)) {
        registry_close_collector(registry, i);
        registry_set_failed(registry, i, false);
        return 0;
    }
    slot->error = (struct error){0};
    int r = collectors[i]->open(&env, slot->state, &opened, &slot->error);
    slot->state = opened.state;
    slot->fd = opened.fd;
    slot->successful = r == 0;
    slot->incomplete = r < 0 && slot->state;
    slot->span = reason_span(r);
    registry_set_failed(registry, i, r < 0 && !slot->state);
    if (slot->state && collectors[i] == &collector_self)
        self_set_sources(slot->state, registry->reload, &registry->children, registry->findings);
    slot->read_ns = 0;
    return slot_add_series(slot, &registry->snapshot.metrics, i) < 0 ? error_oom(error) : 0;
}

/* Returns whether all of the collector's events failed to open, which explains why the collector cannot be read. */
static bool registry_lacks_events(const struct registry *registry, size_t i)
{
    const struct snapshot *snapshot = &registry->snapshot;
    size_t n = 0;

    for (size_t k = 0; k < snapshot->n_rows; k++) {
        const struct row *row = snapshot->rows[k];
        if (row->collector != i || row->removed)
            continue;
        if (row->state != ROW_UNAVAILABLE)
            return false;
        n++;
    }
    return n > 0;
}

/* Adds the failure of a collector that could not be opened or read, or could be opened only in part. */
static int registry_report_collector(struct registry *registry, size_t i)
{
    const struct slot *slot = &registry->slots[i];
    char where[64];
    struct failure failure = {
        .collector = (unsigned)i,
        .group = "",
        .event = "",
        .metric = "",
        .pmu = "",
        .reason = FAILURE_OF_COLLECTOR,
        .message = slot->error.message,
        .where = where,
    };

    if (!slot->success || slot->successful || !slot->error.message[0] || registry_lacks_events(registry, i))
        return 0;
    snprintf(where, sizeof(where), "collector %s", collectors[i]->name);
    return failures_add(&registry->failures, &failure, -1);
}

static int registry_gather_failures(struct registry *registry)
{
    int r = 0;

    registry_forget_failures(registry);
    for (size_t i = 0; i < N_COLLECTORS && r == 0; i++) {
        struct collector_env env = registry_env(registry, i);
        r = registry_report_collector(registry, i);
        if (r < 0 || !registry->slots[i].state)
            continue;
        registry->failures.span = REASON_LASTS;
        r = collectors[i]->report(&env, registry->slots[i].state, &registry->failures);
        registry->slots[i].span = registry->slots[i].incomplete ? REASON_PASSES : registry->failures.span;
    }
    if (r < 0 || registry->failures.n == 0)
        return r;
    registry->failed = calloc(registry->failures.n, sizeof(registry->failed[0]));
    if (!registry->failed)
        return -ENOMEM;
    for (size_t i = 0; i < registry->failures.n && r == 0; i++) {
        const struct failure *failure = &registry->failures.items[i];
        registry->failed[i] =
            failure_add_series(failure, collectors[failure->collector]->name, &registry->snapshot.metrics);
        r = registry->failed[i] ? 0 : -ENOMEM;
        if (r == 0)
            registry->failed[i]->lasting = true;
    }
    return r;
}

/* Opens all collectors, or only those whose failures are worth a retry. */
static int registry_open(struct registry *registry, bool all, struct error *error)
{
    int r = 0;

    snapshot_begin_removals(&registry->snapshot);
    for (size_t i = 0; i < N_COLLECTORS && r == 0; i++)
        if (all || registry->slots[i].span != REASON_LASTS)
            r = registry_open_collector(registry, i, error);
    if (r == 0 && registry_gather_failures(registry) < 0)
        r = error_oom(error);
    snapshot_end_removals(&registry->snapshot);
    registry->snapshot.generation++;
    return r;
}

int registry_configure(struct registry *registry, const struct machine *machine, const struct config *config,
                       const struct cpuset *went_offline, struct error *error)
{
    int r = went_offline ? cpuset_copy(went_offline, &registry->went_offline) : 0;

    registry->machine = machine;
    registry->config = config;
    registry->snapshot.metrics.edition++;
    if (r == 0)
        r = snapshot_set_known(&registry->snapshot, machine, config);
    r = r < 0 ? error_oom(error) : registry_open(registry, true, error);
    cpuset_done(&registry->went_offline);
    registry->stale = false;
    return r;
}

enum reason_span registry_retry_span(const struct registry *registry)
{
    enum reason_span span = REASON_LASTS;

    for (size_t i = 0; i < N_COLLECTORS; i++)
        span = MAX(span, registry->slots[i].span);
    return span;
}

int registry_retry(struct registry *registry, struct error *error)
{
    return registry_open(registry, false, error);
}

/*
 * Reads a collector. *end_ns is the time when the previous collector was finished, and is set to the time when this one
 * is finished.
 */
static void registry_read_collector(struct registry *registry, size_t i, uint64_t now_ns, uint64_t *end_ns)
{
    uint64_t start_ns = *end_ns;
    struct slot *slot = &registry->slots[i];
    struct collector_env env = registry_env(registry, i);
    struct collected collected = {0};

    if (slot->state) {
        struct error error;
        error.message[0] = '\0'; /* the other members are only valid if `message` is not empty */
        snapshot_begin_removals(&registry->snapshot);
        bool successful = collectors[i]->collect(&env, slot->state, &collected, &error) == 0;
        snapshot_end_removals(&registry->snapshot);
        slot->successful = successful && !slot->incomplete;
        registry_set_failed(registry, i, !successful);
        registry->stale |= collected.stale;
        /* If the last open failed in part, the error from that open is kept. */
        if (!slot->incomplete && !str_equal(error.message, slot->error.message)) {
            slot->error = error;
            registry->outdated = true;
        }
    }
    for (size_t k = 0; k < N_ROW_STATES && slot->groups[k]; k++)
        series_set(slot->groups[k], collected.groups[k]);
    slot->read_ns = now_ns;
    *end_ns = sys_now(registry->sys, CLOCK_MONOTONIC);
    slot->duration_ns = *end_ns - start_ns;
    series_set(slot->success, slot->successful);
    series_set(slot->duration, slot->duration_ns);
}

const struct snapshot *registry_read(struct registry *registry, uint32_t mask, uint64_t max_age_ns)
{
    uint64_t now_ns = sys_now(registry->sys, CLOCK_MONOTONIC), end_ns = now_ns;
    uint64_t realtime_ns = sys_now(registry->sys, CLOCK_REALTIME);
    bool any = max_age_ns == 0; /* a maximum age of 0 makes this a new reading even if all collectors are disabled */

    /*
     * Reads the collectors in reverse order, so that `cpu` is read after `cgroup`. Within one reading, the counts of
     * CPUs are then never below the counts of the cgroups.
     */
    for (size_t i = N_COLLECTORS; i-- > 0;) {
        struct slot *slot = &registry->slots[i];
        if (!slot->success || !(mask >> i & 1))
            continue;
        if (slot->read_ns && now_ns - slot->read_ns < MAX(max_age_ns, collectors[i]->min_age_ns))
            continue;
        registry_read_collector(registry, i, now_ns, &end_ns);
        any = true;
    }
    if (registry->outdated) {
        snapshot_begin_removals(&registry->snapshot);
        registry->outdated = registry_gather_failures(registry) < 0;
        snapshot_end_removals(&registry->snapshot);
    }
    if (any) {
        registry->snapshot.generation++;
        registry->snapshot.monotonic_ns = now_ns;
        registry->snapshot.realtime_ns = realtime_ns;
    }
    return &registry->snapshot;
}

const struct snapshot *registry_snapshot(const struct registry *registry)
{
    return &registry->snapshot;
}

int registry_pause(struct registry *registry, bool paused)
{
    int r = 0;

    if (registry_is_paused(registry) == paused)
        return 0;
    registry->snapshot.pauses++;
    for (size_t i = 0; i < N_COLLECTORS; i++) {
        struct collector_env env = registry_env(registry, i);
        if (!registry->slots[i].state)
            continue;
        int error = collectors[i]->pause(&env, registry->slots[i].state);
        r = r < 0 ? r : error;
    }
    registry_expire(registry);
    return r;
}

bool registry_is_paused(const struct registry *registry)
{
    return registry->snapshot.pauses % 2 != 0;
}

const void *registry_state(const struct registry *registry, const struct collector *collector)
{
    for (size_t i = 0; i < N_COLLECTORS; i++)
        if (collectors[i] == collector)
            return registry->slots[i].state;
    return NULL;
}

bool registry_has_failed(const struct registry *registry, const struct collector *collector)
{
    for (size_t i = 0; i < N_COLLECTORS; i++)
        if (collectors[i] == collector)
            return registry->snapshot.metrics.failed >> i & 1;
    return false;
}

int registry_fd(const struct registry *registry, size_t n)
{
    if (n >= N_COLLECTORS)
        return -ENODEV;
    return registry->slots[n].state ? registry->slots[n].fd : -1;
}

int registry_dispatch(struct registry *registry, size_t n)
{
    struct collector_env env = registry_env(registry, n);

    if (!registry->slots[n].state)
        return 0;
    snapshot_begin_removals(&registry->snapshot);
    int r = collectors[n]->dispatch(&env, registry->slots[n].state);
    if (registry_gather_failures(registry) < 0)
        r = -ENOMEM;
    if (r < 0)
        registry->slots[n].span = REASON_PASSES;
    snapshot_end_removals(&registry->snapshot);
    registry->snapshot.generation++;
    return r;
}

void registry_expire(struct registry *registry)
{
    for (size_t i = 0; i < N_COLLECTORS; i++)
        registry->slots[i].read_ns = 0;
}

bool registry_is_stale(const struct registry *registry)
{
    return registry->stale;
}

const struct failures *registry_failures(const struct registry *registry)
{
    return &registry->failures;
}

bool registry_status(const struct registry *registry, size_t n, struct collector_status *ret)
{
    if (n >= N_COLLECTORS)
        return false;
    const struct slot *slot = &registry->slots[n];
    *ret = (struct collector_status){
        .name = collectors[n]->name,
        .enabled = slot->success != NULL,
        .successful = slot->successful,
        .duration_ns = slot->duration_ns,
        .error = slot->error.message,
    };
    return true;
}
