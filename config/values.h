/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the configuration, one struct for each section of perfcountd.yaml. config/config.h loads them. */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include <limits.h>

#include "config/trust.h"
#include "perf/event.h"

/* Limits: the groups of a collector, and the events of a group. */
#define CONFIG_GROUPS_MAX 256
#define CONFIG_EVENTS_MAX 64

/* One event of a group, with its position in the file. */
struct config_event {
    struct event event;
    char *help;            /* the configured HELP; NULL for the default one */
    bool named;            /* `name:` was given */
    unsigned variants;     /* a bit for each variant of the preset that has the event; 0 without a preset */
    unsigned line, column; /* 0 in the built-in defaults */
};

struct preset;

/* A configured group: events that are counted together on each target. */
struct config_group {
    char *name;
    bool strict;
    const struct preset *preset; /* `events` has the events of all its variants; NULL if the file lists the events */
    char *text;                  /* the events as written; NULL for a list and for a preset */
    struct event_groups written; /* while loading: the groups of `events`, if it is a text */
    struct config_event *events;
    size_t n_events;
    char *signature; /* equal for groups with the same series and counts; a reload keeps their totals */
    unsigned line, column;
};

struct config_groups {
    struct config_group *items;
    size_t n;
};

/* Limits on clients: numbers of connections, bytes, nanoseconds. */
struct config_limits {
    uint64_t connections, connections_per_address;
    uint64_t header_size; /* the request line and the headers together */
    uint64_t request_timeout_ns, idle_timeout_ns, response_timeout_ns;
};

struct config_web {
    char **listen; /* addresses as written: ":10298", "[::1]:10298", "unix:/path" */
    size_t n_listen;
    char *telemetry_path;
    uint64_t min_interval_ns;
    char *config_file; /* the exporters' web configuration (config/web-config.h); "" for none */
    struct config_limits limits;
    char **hosts; /* further names by which clients reach this machine */
    size_t n_hosts;
    bool local_operators;
};

struct config_cpu {
    bool enabled;
    char *cpus; /* "all" or a list, checked */
    struct config_groups groups;
};

struct config_pmu {
    bool enabled;
    struct config_groups groups;
};

/* How cgroups are counted. */
enum config_engine {
    ENGINE_AUTO, /* bpf if it works, otherwise perf */
    ENGINE_PERF, /* events of each cgroup on each CPU */
    ENGINE_BPF,  /* events of each CPU, whose counts a BPF program attributes to cgroups */
};

/* max_cgroups is `auto`: the limit depends on the engine. */
#define MAX_CGROUPS_AUTO UINT_MAX

struct config_cgroup {
    bool enabled;
    enum config_engine engine;
    char **include, **exclude; /* patterns of base/glob.h, checked */
    size_t n_include, n_exclude;
    uint64_t max_cgroups; /* or MAX_CGROUPS_AUTO; callers use config_max_cgroups() */
    bool per_cpu;
    uint64_t linger_ns;
    struct config_groups groups;
};

/* Continuous sampling into memory: see sampler/hindsight.h. */
struct config_hindsight {
    bool enabled;
    uint64_t seconds, frequency; /* Hz */
    char *event;                 /* "auto", or an event in perf's syntax, checked */
    uint64_t memory;             /* bytes of all rings */
};

struct config_sampler {
    bool enabled;
    char *event;                /* "auto", or one group in perf's syntax, checked */
    uint64_t frequency, period; /* in Hz, and in events; one of them is 0 */
    bool callchain;
    uint64_t ring_pages; /* data pages of each CPU's ring buffer, a power of two */
    uint64_t max_clients, max_seconds;
    uint64_t memory;   /* bytes, without the rings */
    enum trust allow;  /* lowest trust of clients that may have samples; callers use config_trust_to_sample() */
    bool allow_remote; /* deprecated; sets `allow` */
    unsigned allow_remote_line, allow_remote_column; /* 0: the key is absent */
    char **tracepoints;                              /* the tracepoints that clients may sample, checked */
    size_t n_tracepoints;
    struct config_hindsight hindsight;
};

/* The history of counts in memory: see collectors/history.h. */
struct config_history {
    bool enabled;
    uint64_t interval_ns, keep_ns;
    uint64_t memory; /* bytes */
};

struct config {
    char *file; /* its path; NULL for the built-in defaults */
    bool blank; /* the file is empty */
    struct config_web web;
    struct config_cpu cpu;
    struct config_pmu pmu;
    struct config_cgroup cgroup;
    bool self_enabled;
    struct config_sampler sampler;
    struct config_history history;
    char *user;              /* name or number of the user that a process started by root becomes; "" for the default */
    bool opener_breakpoints; /* the opener may open the breakpoints of the configuration */
};

#endif
