/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents for /api/v1/ and for --json. NULL when out of memory; the caller owns them.
 *
 * The daemon's state in one line, for `systemctl status`, and what it counts, for the log.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include <jansson.h>

#include "collectors/registry.h"
#include "daemon/session.h"
#include "http/service.h"

/* {"pmus": [{"name", "type", "cpus", ...}]}, from sysfs. */
json_t *document_pmus(const struct machine *machine);

/* The state of the process, beside that of the registry, for /api/v1/status. */
struct document_process {
    const struct config *config;
    const struct machine *machine;
    const struct reload_outcome *reload;
    const char *reload_error; /* "" where the last one succeeded */
    json_t *opener;           /* as split_json() has it */
    json_t *reader;           /* as split_reader_json() has it; taken over */
    uint64_t started_realtime_ns;
    struct service_pause pause;
    json_t *descriptors;  /* as document_descriptors() has it; taken over */
    json_t *processes;    /* as document_processes() has it; taken over */
    json_t *idle_times;   /* as document_idle_times() has it; taken over */
    uint64_t realtime_ns; /* now */
};
json_t *document_status(struct registry *registry, const struct document_process *process);

/* {"hierarchy", ..., "cgroups": [{"cgroup", "state", "unit", ...}]}: cgroups that are watched, linger, or were dropped.
 */
json_t *document_cgroups(const struct registry *registry);

/*
 * {"limit", "daemon", "clients", "sampler", "counters", "open", "sampling", "needed", "connections"}: the shares of the
 * limit of open files, how many descriptors counters ("open") and rings ("sampling") hold now, how many all configured
 * counters need, and how many clients web.limits.connections allows.
 */
json_t *document_descriptors(const struct session *session);

/*
 * [{"process", "pid", "uid", "start_time", "cpu_seconds", "resident_bytes", "virtual_bytes", "threads"}]: the daemon,
 * and its other processes while they run. `opener_uid` is the opener's effective user, `boot_ns` is since the epoch.
 */
json_t *document_processes(const struct children *children, uid_t opener_uid, uint64_t boot_ns);

/* [{"cpu", "seconds"}]: how long each CPU has been idle; null where that cannot be read. */
json_t *document_idle_times(struct sys *sys);

/* kernel.perf_event_paranoid; null where it cannot be read. */
json_t *document_paranoid(const struct machine *machine);

/* [{"name", "enabled", "success", "duration_seconds", "error"}] */
json_t *document_collectors(const struct registry *registry);

/* [{"collector", "group", "event", "pmu", "reason", "cpus", "message"}] */
json_t *document_failures(const struct registry *registry);

struct summary_state {
    const char *reload_error; /* "" where the last one succeeded */
    unsigned paused_seconds;  /* 0: counting is not paused */
    bool opener_lost;
    bool ends; /* because of that */
};

/*
 * "counting 30 groups on 8 CPUs and 12 cgroups; 6 events unavailable, see /api/v1/status". Before it stands what an
 * operator did (a pause) or has to do.
 */
void summary_format(struct registry *registry, const struct summary_state *state, char *text, size_t size);

/*
 * Describes what is counted: "counting: cpu 0-7: core (armv8_cortex_a55, armv8_cortex_a76), software; 24 cgroups by
 * bpf: core; 3 events are not counted, see "perfcountd plan"".
 */
void summary_describe(struct registry *registry, char *text, size_t size);

#endif
