/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the configuration, by section: see config.h for how they are read. */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include <limits.h>

#include "config/standing.h"
#include "perf/event.h"

/* The most that is read: groups of a collector, events of a group. */
#define CONFIG_GROUPS_MAX 256
#define CONFIG_EVENTS_MAX 64

/* One event of a group, with its position in the file. */
struct config_event {
    struct event event;
    char *help;            /* the configured HELP; NULL for the usual one */
    bool named;            /* `name:` was given */
    unsigned variants;     /* of the preset: those that have the event, one bit for each; 0 without a preset */
    unsigned line, column; /* 0 in the built-in default */
};

struct preset;

/* A configured group: events that are counted together on each target. */
struct config_group {
    char *name;
    bool strict;
    const struct preset *preset; /* where `events` are those of all its variants; NULL: they are written out */
    char *text;                  /* the events as they are written; NULL for a list, and for a preset */
    struct event_groups written; /* while the file is read: the groups of the text of `events`, each to become one */
    struct config_event *events;
    size_t n_events;
    char *signature; /* the same for groups that count and name the same events in the same way; for reload */
    unsigned line, column;
};

struct config_groups {
    struct config_group *items;
    size_t n;
};

/* Limits of clients: numbers of connections, bytes, nanoseconds. */
struct config_limits {
    uint64_t connections, connections_per_address;
    uint64_t header_size; /* of the request line and the headers together */
    uint64_t request_timeout_ns, idle_timeout_ns, response_timeout_ns;
};

struct config_web {
    char **listen; /* addresses as written: ":10298", "[::1]:10298", "unix:/path" */
    size_t n_listen;
    char *telemetry_path;
    uint64_t min_interval_ns;
    char *config_file; /* of the exporters' web configuration (web-config.h); "" for none */
    struct config_limits limits;
    char **hosts; /* more names by which clients reach this machine */
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
    ENGINE_AUTO, /* bpf where it works, else perf */
    ENGINE_PERF, /* events of each cgroup on each CPU */
    ENGINE_BPF,  /* events of each CPU, which a program in the kernel divides among cgroups */
};

/* Of max_cgroups: as the engine needs it. */
#define MAX_CGROUPS_AUTO UINT_MAX

struct config_cgroup {
    bool enabled;
    enum config_engine engine;
    char **include, **exclude; /* patterns of base/glob.h, checked */
    size_t n_include, n_exclude;
    uint64_t max_cgroups; /* or MAX_CGROUPS_AUTO; see config_max_cgroups() */
    bool per_cpu;
    uint64_t linger_ns;
    struct config_groups groups;
};

struct config_sampler {
    bool enabled;
    char *event;                /* "auto", or one group in perf's syntax, checked */
    uint64_t frequency, period; /* Hz, or events; one of them is 0 */
    bool callchain;
    uint64_t ring_pages; /* of data on each CPU, a power of two */
    uint64_t max_clients, max_seconds;
    enum standing allow; /* the lowest that may have samples; see config_standing_to_sample() */
    bool allow_remote;   /* deprecated; it sets `allow` */
    unsigned allow_remote_line, allow_remote_column; /* 0: it is not there */
    char **tracepoints;                              /* that clients may name, each checked */
    size_t n_tracepoints;
};

struct config {
    char *file; /* where it was read from; NULL for the built-in default */
    bool blank; /* the file is empty */
    struct config_web web;
    struct config_cpu cpu;
    struct config_pmu pmu;
    struct config_cgroup cgroup;
    bool self_enabled;
    struct config_sampler sampler;
    char *user;              /* a name or number: the user that root's process becomes; "" for the usual one */
    bool opener_breakpoints; /* the opener may hand out the breakpoints of the configuration */
};

#endif
