/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for what the opener may open. They are fixed before the opener is forked: a restart can extend them, but a
 * request cannot.
 *
 * A table of path patterns lists the permitted files and their kinds. No pattern permits a dot, so no path can contain
 * "..".
 */
#ifndef OPENER_RULES_H
#define OPENER_RULES_H

#include "base/util.h"
#include "perf/attr.h"
#include "perf/sys.h"

#define OPENER_PATH_MAX 256

enum opener_file_kind {
    OPENER_FILE_UNKNOWN, /* no pattern matches, or only one that requires sampling */
    OPENER_FILE_TRACEFS,
    OPENER_FILE_PROC,
};

/* Returns the kind of the file at this path. Pure. */
enum opener_file_kind opener_path_kind(const char *path, bool sampling);
/*
 * Returns whether the daemon asks the opener for this file before trying to open it itself, because any process may
 * open it, but sees less in it without privileges.
 */
bool opener_path_asks_opener_first(const char *path, bool sampling);

/*
 * A permitted event whose descriptor allows more than counting. Of these, the opener opens exactly those in the
 * configuration: tracepoints are identified by id, probes by function or file and offset, breakpoints by address,
 * length and access.
 */
struct opener_permitted_event {
    uint32_t type, bp_type;
    uint64_t config, config1, config2;
    char *text;   /* the function or file of a probe, or NULL for other events */
    bool samples; /* the sampler may open this event, too */
};

/* Limits on the number of events open at the same time, which are never raised later. */
struct opener_event_limits {
    uint64_t cpu;        /* per-CPU and cgroup events on each CPU */
    uint64_t cpu_of_bpf; /* replaces `cpu` once a BPF program counts cgroups */
    uint64_t thread;     /* events of one thread, on each CPU and for all CPUs */
    uint64_t threads;    /* events of all threads together */
};

/* The permissions that follow from the configuration, filled in by the caller. */
struct opener_permissions {
    struct opener_event_limits limits;
    bool sampling;      /* all tasks may be sampled */
    bool hindsight;     /* whole CPUs may be sampled into overwritable ring buffers, with the task's cgroup */
    bool uprobes;       /* `events` includes uprobes */
    bool state_files;   /* container runtimes' state files may be opened for the state file reader */
    bool breakpoints;   /* opener.breakpoints: breakpoints among `events` may be opened */
    uint32_t bpf_slots; /* maximum number of slots of a BPF program; 0 if no BPF program is allowed */
    struct opener_permitted_event *events;
    size_t n_events;
    char **files; /* paths of the configuration's own files, as written in the configuration */
    size_t n_files;
    char **sockets; /* paths of unix sockets that the opener may remove when it exits (opener/bound-sockets.h) */
    size_t n_sockets;
};
/*
 * Adds a copy of the event. Events that only count, which need no permission, and events that are never permitted are
 * ignored. Returns -ENOMEM on failure.
 */
int opener_permissions_add_event(struct opener_permissions *permissions, const struct attr *attr, bool samples);
/* Adds a copy of the path; NULL and "" are ignored. Returns -ENOMEM on failure. */
int opener_permissions_add_file(struct opener_permissions *permissions, const char *path);
int opener_permissions_add_socket(struct opener_permissions *permissions, const char *path);
void opener_permissions_done(struct opener_permissions *permissions);

struct opener_types {
    uint32_t *items;
    size_t n;
};

struct opener_rules {
    pid_t daemon; /* the only task that may be counted; others may only be sampled */
    struct opener_permissions permissions;
    unsigned n_cpus; /* 1 + the highest number of a possible CPU */
    /*
     * CAP_PERFMON does not suffice, because kernel.perf_event_paranoid is 3 or more (in Debian's and Ubuntu's kernels),
     * or because of a uprobe, which requires CAP_SYS_ADMIN since Linux 6.16 (perf_uprobe_event_init()).
     */
    bool needs_admin;
    /*
     * The types of the PMUs that existed at the start, grouped by what their events' descriptors allow. Events on later
     * PMUs must be permitted one by one.
     */
    struct opener_types counting, tracing, probing;
};

/*
 * Makes the rules for this process and for the PMUs that sysfs lists. Takes ownership of the permissions even on
 * failure. Returns -ENOMEM on failure, after which nothing has to be released.
 */
int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_permissions *permissions);
void opener_rules_done(struct opener_rules *rules);

bool opener_types_have(const struct opener_types *types, uint32_t type);
/*
 * Returns whether a filter can be set on descriptors of this event type, like the kernel's perf_event_is_tracing()
 * (kernel/events/core.c).
 */
bool opener_rules_type_takes_filter(const struct opener_rules *rules, uint32_t type);
/*
 * Returns whether the event with this text (NULL for none) is permitted and, if `samples` is set, whether the sampler
 * may open it.
 */
bool opener_rules_permit_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text,
                               bool samples);
/* Returns whether the path names one of the configuration's own files. */
bool opener_rules_permit_file(const struct opener_rules *rules, const char *path);

#endif
