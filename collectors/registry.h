/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry runs the collectors: it opens, reads and times them, reports their success, and owns the snapshot. A
 * collector that fails does not affect the other collectors.
 *
 * All functions run on the main thread.
 */
#ifndef COLLECTORS_REGISTRY_H
#define COLLECTORS_REGISTRY_H

#include "collectors/collector.h"

struct registry;

/* Creates a registry with nothing open. `sys` and `reload` must outlive the registry. Returns -ENOMEM on failure. */
int registry_new(struct sys *sys, const struct reload_outcome *reload, struct registry **ret);
struct registry *registry_free(struct registry *registry);
/* Sets the processes whose cost the `self` collector reports. `children` must outlive the registry. */
void registry_set_children(struct registry *registry, const struct children *children);
/* Sets the array with the number of findings of each rule (collectors/findings.h), which must outlive the registry. */
void registry_set_findings(struct registry *registry, const uint64_t *findings);
/*
 * Sets the calls that the `cgroup` collector uses besides `sys`. Both arguments may be NULL, and must outlive the
 * registry.
 */
void registry_set_cgroup_sources(struct registry *registry, const struct bpf_calls *bpf,
                                 const struct state_files *state_files);

/*
 * Opens everything that `config` asks for on `machine`, and closes the rest. Unchanged groups continue to count.
 * `went_offline`, which may be NULL, has the same meaning as in struct collector_env. `machine` and `config` must stay
 * valid until the next call, even if this call fails. Only fails with -ENOMEM: a collector that cannot be opened is
 * reported by its success metric.
 */
int registry_configure(struct registry *registry, const struct machine *machine, const struct config *config,
                       const struct cpuset *went_offline, struct error *error);

/*
 * Returns, over all failures, the enum reason_span that calls for the most frequent retries. With REASON_LASTS, calling
 * registry_retry() is useless.
 */
enum reason_span registry_retry_span(const struct registry *registry);
/*
 * Tries again to open what failed, in the collectors whose failures may have been temporary. Fails only with -ENOMEM.
 */
int registry_retry(struct registry *registry, struct error *error);

/*
 * Returns whether a reading since the last registry_configure() found a group that registry_configure() must open
 * again.
 */
bool registry_is_stale(const struct registry *registry);

/*
 * Reads the collectors in `mask` (a bit per collector) whose last reading is older than both `max_age_ns` and their own
 * min_age_ns. Returns the snapshot, which the registry owns.
 */
const struct snapshot *registry_read(struct registry *registry, uint32_t mask, uint64_t max_age_ns);

/* Returns the snapshot of the last readings, without a new reading. The snapshot is valid as long as the registry. */
const struct snapshot *registry_snapshot(const struct registry *registry);

/* Makes the next registry_read() read all collectors, however recent their last readings are. */
void registry_expire(struct registry *registry);

/*
 * Disables all groups so that other programs can use the PMUs, or enables them again. During a pause, newly opened
 * groups stay disabled, and totals, times and states do not change. Returns the first error of ioctl(2); the remaining
 * groups are still tried.
 */
int registry_pause(struct registry *registry, bool paused);
bool registry_is_paused(const struct registry *registry);

/*
 * Returns the state of `collector`, for the functions in that collector's header. Returns NULL if the collector is
 * disabled or could not be opened.
 */
const void *registry_state(const struct registry *registry, const struct collector *collector);

/* Returns whether the last attempt to open or read `collector` failed; its numbers are then out of date. */
bool registry_has_failed(const struct registry *registry, const struct collector *collector);

/*
 * Returns the descriptor of the n-th collector, which becomes readable when registry_dispatch() has work to do. Returns
 * -1 if the collector has no descriptor, and -ENODEV past the last collector. registry_configure() and registry_retry()
 * may change the descriptor.
 */
int registry_fd(const struct registry *registry, size_t n);
/*
 * Handles the events of the n-th collector's descriptor. On -ENOMEM some events are not handled until registry_retry()
 * is called.
 */
int registry_dispatch(struct registry *registry, size_t n);

/*
 * Returns the failing collectors and the events that could not be opened. The list is borrowed until the next
 * registry_configure(), registry_retry(), registry_dispatch() or registry_read().
 */
const struct failures *registry_failures(const struct registry *registry);

struct collector_status {
    const char *name;
    bool enabled, successful;
    uint64_t duration_ns; /* duration of the last reading */
    const char *error;    /* error of the last open or reading; "" on success */
};
/* Returns false past the last collector. */
bool registry_status(const struct registry *registry, size_t n, struct collector_status *ret);

#endif
