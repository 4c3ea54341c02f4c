/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for what the opener may open. They are fixed before the opener is forked, and no request can extend them:
 * only a restart can.
 *
 * Files are permitted by patterns for their paths, listed in a table, and the pattern alone determines the kind of
 * file. No pattern permits a dot, so a path cannot leave its directory.
 */
#ifndef OPENER_RULES_H
#define OPENER_RULES_H

#include "base/util.h"
#include "perf/attr.h"
#include "perf/sys.h"

#define OPENER_PATH_MAX 256

enum opener_file_kind {
    OPENER_FILE_UNKNOWN, /* no pattern matches, or only a pattern for a daemon that samples */
    OPENER_FILE_TRACEFS,
    OPENER_FILE_PROC,
};

/* Returns the kind of file that the path names. Pure. */
enum opener_file_kind opener_path_kind(const char *path, bool sampling);
/* Whether the daemon asks the opener first: every process may open the file, but sees less without privileges. */
bool opener_path_asks_opener_first(const char *path, bool sampling);

/*
 * A permitted event whose descriptor allows more than counting. The opener opens only the exact event of the
 * configuration: a tracepoint by its id, a probe by its function or file and its offset, a breakpoint by address,
 * length and access.
 */
struct opener_permitted_event {
    uint32_t type, bp_type;
    uint64_t config, config1, config2;
    char *text;   /* a probe's function or file; NULL: none */
    bool samples; /* the sampler may open it too */
};

/* Limits on the events that are open at the same time. They are never raised later. */
struct opener_event_limits {
    uint64_t cpu;        /* of a whole CPU, and of cgroups on it */
    uint64_t cpu_of_bpf; /* the same, once a BPF program has counted cgroups */
    uint64_t thread;     /* of one thread, on each CPU and for all CPUs */
    uint64_t threads;    /* of all these threads together */
};

/* The permissions that follow from the configuration. The caller fills them in. */
struct opener_permissions {
    struct opener_event_limits limits;
    bool sampling;      /* samples of all tasks */
    bool hindsight;     /* samples of whole CPUs that the kernel overwrites, with the task's cgroup */
    bool uprobes;       /* `events` includes uprobes */
    bool state_files;   /* state files of container runtimes, for their reader */
    bool breakpoints;   /* opener.breakpoints: breakpoints among `events` may be opened */
    uint32_t bpf_slots; /* how many slots a BPF program may have at most; 0: no BPF program is allowed */
    struct opener_permitted_event *events;
    size_t n_events;
    char **files; /* the configuration's own files, by the paths in it */
    size_t n_files;
    char **sockets; /* the paths of unix sockets, whose files may be removed at the end (opener/bound-sockets.h) */
    size_t n_sockets;
};
/*
 * Adds a copy of the event. Ignores an event that only counts, which needs no permission, and an event that is never
 * permitted. Returns -ENOMEM on failure.
 */
int opener_permissions_add_event(struct opener_permissions *permissions, const struct attr *attr, bool samples);
/* Adds a copy of the path; NULL and "" add nothing. Returns -ENOMEM on failure. */
int opener_permissions_add_file(struct opener_permissions *permissions, const char *path);
int opener_permissions_add_socket(struct opener_permissions *permissions, const char *path);
void opener_permissions_done(struct opener_permissions *permissions);

struct opener_types {
    uint32_t *items;
    size_t n;
};

struct opener_rules {
    pid_t daemon; /* the only task that may be counted; permissions.sampling permits sampling others */
    struct opener_permissions permissions;
    unsigned n_cpus; /* possible CPUs: the highest number plus 1 */
    /*
     * CAP_PERFMON does not suffice: kernel.perf_event_paranoid is 3 or more, a level of the Debian and Ubuntu kernels,
     * or there is a uprobe, for which Linux requires CAP_SYS_ADMIN since 6.16 (perf_uprobe_event_init()).
     */
    bool needs_admin;
    /*
     * The types of the PMUs that existed at the start, by what their descriptors allow. Events of other PMUs are
     * permitted individually.
     */
    struct opener_types counting, tracing, probing;
};

/*
 * Makes the rules for this process and the machine's PMUs, which sysfs lists. Takes ownership of the permissions even
 * on failure. Returns -ENOMEM on failure; nothing needs to be released then.
 */
int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_permissions *permissions);
void opener_rules_done(struct opener_rules *rules);

bool opener_types_have(const struct opener_types *types, uint32_t type);
/* Whether descriptors of the type accept a filter: the kernel's perf_event_is_tracing() (kernel/events/core.c). */
bool opener_rules_type_takes_filter(const struct opener_rules *rules, uint32_t type);
/* Whether the event is a permitted one with this text (NULL: none), and, if `samples`, permitted to the sampler. */
bool opener_rules_permit_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text,
                               bool samples);
/* Whether the path is one of the configuration's own files. */
bool opener_rules_permit_file(const struct opener_rules *rules, const char *path);

#endif
