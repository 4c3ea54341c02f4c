/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of the configuration, one struct for each section of perfcountd.yaml; config/config.h loads them from the
 * file.
 */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include <limits.h>

#include "config/trust.h"
#include "perf/event.h"

/* The maximum number of groups of a collector, and of events in a group. */
#define CONFIG_GROUPS_MAX 256
#define CONFIG_EVENTS_MAX 64

/* One event of a group, with its position in the file. */
struct config_event {
    struct event event;
    char *help;            /* the configured HELP, or NULL for the default one */
    bool named;            /* the file sets the event's `name:` */
    unsigned variants;     /* bit mask of the preset's variants that contain the event; 0 without a preset */
    unsigned line, column; /* the event's position in the file; 0 in the built-in defaults */
};

struct preset;

/* A configured group: events that are counted together on each target. */
struct config_group {
    char *name;
    bool strict;
    const struct preset *preset; /* preset whose variants' events are in `events`; may be NULL */
    char *text;                  /* the key `events` as written, if it is a string; NULL for a list or a preset */
    struct event_groups written; /* groups parsed from the string of the key `events`; only used while loading */
    struct config_event *events;
    size_t n_events;
    char *signature; /* identifies what the series count; a reload keeps the totals of equal signatures */
    unsigned line, column;
};

struct config_groups {
    struct config_group *items;
    size_t n;
};

/* Limits on clients: numbers of connections, sizes in bytes, and times in nanoseconds. */
struct config_limits {
    uint64_t connections, connections_per_address;
    uint64_t header_size; /* maximum size of the request line and the headers together */
    uint64_t request_timeout_ns, idle_timeout_ns, response_timeout_ns;
};

struct config_web {
    char **listen; /* addresses as written in the file: ":10298", "[::1]:10298", "unix:/path" */
    size_t n_listen;
    char *telemetry_path;
    uint64_t min_interval_ns;
    char *config_file; /* path of the web configuration file (config/web-config.h), or "" if there is none */
    struct config_limits limits;
    char **hosts; /* additional host names by which clients reach this machine */
    size_t n_hosts;
    bool local_operators;
};

struct config_cpu {
    bool enabled;
    char *cpus; /* "all" or a list of CPUs; already validated */
    struct config_groups groups;
};

struct config_pmu {
    bool enabled;
    struct config_groups groups;
};

/* The ways to count cgroups. */
enum config_engine {
    ENGINE_AUTO, /* uses bpf if it works, otherwise perf */
    ENGINE_PERF, /* opens events for each cgroup on each CPU */
    ENGINE_BPF,  /* opens events for each CPU; a BPF program attributes their counts to cgroups */
};

/* The value of max_cgroups for `auto`: the limit depends on the engine. */
#define MAX_CGROUPS_AUTO UINT_MAX

struct config_cgroup {
    bool enabled;
    enum config_engine engine;
    char **include, **exclude; /* glob patterns (base/glob.h); already validated */
    size_t n_include, n_exclude;
    uint64_t max_cgroups; /* may be MAX_CGROUPS_AUTO; config_max_cgroups() returns the effective limit */
    bool per_cpu;
    uint64_t linger_ns;
    struct config_groups groups;
};

/* Settings of continuous sampling into memory (sampler/hindsight.h). */
struct config_hindsight {
    bool enabled;
    uint64_t seconds, frequency; /* Hz */
    char *event;                 /* "auto", or an event in perf's syntax; already validated */
    uint64_t memory;             /* total size of the ring buffers in bytes */
};

struct config_sampler {
    bool enabled;
    char *event;                /* "auto", or one group in perf's syntax; already validated */
    uint64_t frequency, period; /* either a sampling rate in Hz or a period in events; the unused member is 0 */
    bool callchain;
    uint64_t ring_pages; /* data pages of each CPU's ring buffer, a power of two */
    uint64_t max_clients, max_seconds;
    uint64_t memory;   /* limit on the sampler's memory in bytes, excluding the ring buffers */
    enum trust allow;  /* lowest level of trust that may get samples; read with config_trust_to_sample() */
    bool allow_remote; /* deprecated key that sets `allow` */
    unsigned allow_remote_line, allow_remote_column; /* position of allow_remote; 0 if absent */
    char **tracepoints;                              /* tracepoints that clients may sample; already validated */
    size_t n_tracepoints;
    struct config_hindsight hindsight;
};

/* Settings of the history of counts in memory (collectors/history.h). */
struct config_history {
    bool enabled;
    uint64_t interval_ns, keep_ns;
    uint64_t memory; /* bytes */
};

struct config {
    char *file; /* path of the configuration file, or NULL for the built-in defaults */
    bool blank; /* the file is empty */
    struct config_web web;
    struct config_cpu cpu;
    struct config_pmu pmu;
    struct config_cgroup cgroup;
    bool self_enabled;
    struct config_sampler sampler;
    struct config_history history;
    char *user; /* name or number of the user to which a daemon started by root switches, or "" for the default */
    bool opener_breakpoints; /* the opener may open the breakpoints of the configuration */
};

#endif
