/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the daemon and its collectors, as JSON documents for /api/v1/ and --json, and as a line of text for
 * `systemctl status` and the log.
 *
 * The caller owns the returned document, which is NULL when out of memory.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include <jansson.h>

#include "collectors/registry.h"
#include "daemon/privsep.h"
#include "daemon/session.h"
#include "http/service.h"

/* Returns {"pmus": [{"name", "type", "cpus", ...}]}, as loaded from sysfs. */
json_t *document_pmus(const struct machine *machine);

/* The state of the daemon's process, which /api/v1/status shows along with the session's state. */
struct document_process {
    const struct privsep *privsep;
    const char *reload_error; /* error from the last reload, or "" if the last reload succeeded */
    uint64_t started_realtime_ns;
    uint64_t boot_ns; /* time when the machine booted, since the epoch; 0 if unknown */
    struct service_pause pause;
};
json_t *document_status(struct session *session, const struct document_process *process);

/*
 * Returns {"hierarchy", ..., "cgroups": [{"cgroup", "state", "unit", ...}]} with the cgroups that are watched,
 * lingering or dropped.
 */
json_t *document_cgroups(const struct registry *registry);

/*
 * Returns {"limit", "daemon", "clients", "sampler", "counters", "open", "sampling", "needed", "connections"}:
 * RLIMIT_NOFILE and its shares; the descriptors that counters ("open") and rings ("sampling") hold now; how many all
 * configured counters would need ("needed"); and web.limits.connections ("connections").
 */
json_t *document_descriptors(const struct session *session);

/* Returns the value of kernel.perf_event_paranoid, or null if the value cannot be read. */
json_t *document_paranoid(const struct machine *machine);

/* Returns [{"name", "enabled", "success", "duration_seconds", "error"}]. */
json_t *document_collectors(const struct registry *registry);

/* Returns [{"collector", "group", "event", "pmu", "reason", "cpus", "message"}]. */
json_t *document_failures(const struct registry *registry);

struct summary_state {
    const char *reload_error; /* error from the last reload, or "" if the last reload succeeded */
    unsigned paused_seconds;  /* remaining seconds of a pause; 0 if counting is not paused */
    bool opener_lost;
    bool ends; /* the daemon is shutting down because the opener is lost */
};

/*
 * Writes "counting 30 groups on 8 CPUs and 12 cgroups; 6 events unavailable, see /api/v1/status", preceded by a
 * sentence if counting is paused or if an operator has to do something. Always NUL-terminated.
 */
void summary_format(struct registry *registry, const struct summary_state *state, char *text, size_t size);

/*
 * Writes "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), software; 24 cgroups by bpf: core; 3 events are
 * not counted, see "perfcountd plan --config.file=FILE"". `config_file` is the value of --config.file, or NULL. Always
 * NUL-terminated.
 */
void summary_describe(struct registry *registry, const char *config_file, char *text, size_t size);

#endif
