/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry runs the collectors: it opens, reads, times and isolates them, and reports their success. A collector
 * that fails does not harm the others.
 */
#ifndef COLLECTORS_REGISTRY_H
#define COLLECTORS_REGISTRY_H

#include "collectors/collector.h"

struct registry;

/* Opens nothing yet. `sys` and `reload` must outlive the registry. -ENOMEM. */
int registry_new(struct sys *sys, const struct reload_outcome *reload, struct registry **ret);
struct registry *registry_free(struct registry *registry);
/* The processes whose cost the collector self reports; until then there are none. They must outlive the registry. */
void registry_set_children(struct registry *registry, const struct children *children);

/*
 * Opens what `config` wants on `machine`, and closes what it no longer wants; groups that did not change go on
 * counting. `left` is that of struct collector_context, or NULL. `machine` and `config` must live until the next call,
 * also where this call fails. A collector that cannot open is reported by its success metric. Fails only when out of
 * memory.
 */
int registry_configure(struct registry *registry, const struct machine *machine, const struct config *config,
                       const struct cpuset *left, struct error *error);

/*
 * Of all that could not be opened, the span that is worth the most tries: REASON_LASTS where registry_retry() is of no
 * use.
 */
enum reason_span registry_retry_span(const struct registry *registry);
/*
 * Tries again what could not be opened, with the collectors whose failures may be over. Fails only when out of memory.
 */
int registry_retry(struct registry *registry, struct error *error);

/* Whether the last reading showed that something must be opened again: registry_configure() does it. */
bool registry_is_stale(const struct registry *registry);

/*
 * Reads the collectors in `mask` (by bit number) whose last reading is older than `max_age_ns` and than their own
 * min_age_ns.
 */
const struct snapshot *registry_read(struct registry *registry, uint32_t mask, uint64_t max_age_ns);

/* The next call of registry_read() reads all collectors, whatever the age of their last reading. */
void registry_expire(struct registry *registry);

/*
 * Disables all groups so that other programs can use the PMUs, or enables them again; groups that are opened meanwhile
 * stay disabled. Totals and times stand still, and no state changes. Errors of ioctl(2), and then as many groups as
 * possible did.
 */
int registry_pause(struct registry *registry, bool paused);
bool registry_is_paused(const struct registry *registry);

/* The state of `collector`, for the functions of its header; NULL while it is disabled or could not be opened. */
const void *registry_state(const struct registry *registry, const struct collector *collector);

/* Whether `collector` could not be opened or read the last time, so that its numbers are old. */
bool registry_has_failed(const struct registry *registry, const struct collector *collector);

/*
 * The n-th collector's descriptor, which is readable when registry_dispatch() has something to do; -1 where it has
 * none. It may be another after registry_configure(). -ENODEV past the last collector.
 */
int registry_fd(const struct registry *registry, size_t n);
/* -ENOMEM where not all of it could be taken in; then registry_retry() does it. */
int registry_dispatch(struct registry *registry, size_t n);

/*
 * Collectors that fail, and events that could not be opened; borrowed until the next configure, retry, dispatch or
 * read.
 */
const struct failures *registry_failures(const struct registry *registry);

/* The status of a collector. */
struct collector_status {
    const char *name;
    bool enabled, successful;
    uint64_t duration_ns; /* of the last reading */
    const char *error;    /* of the last open or reading; "" where it was successful */
};
/* false past the last one. */
bool registry_status(const struct registry *registry, size_t n, struct collector_status *ret);

#endif
