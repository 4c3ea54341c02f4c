/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be opened, settled at the start; shapes of paths.
 *
 * The files that the opener opens: a table of the shapes of their paths. The shape alone says what a path names. No
 * shape has room for dots, so that a path cannot leave its directory. Pure.
 *
 * The rules that say what the opener may open. They are decided before the two processes part, and no request widens
 * them: only a restart permits more.
 */
#ifndef OPENER_RULES_H
#define OPENER_RULES_H

#include "base/util.h"
#include "perf/attr.h"
#include "perf/sys.h"

#define OPENER_PATH_MAX 256

enum opener_file_kind {
    OPENER_FILE_UNKNOWN, /* no shape has it, or only one for a daemon that samples */
    OPENER_FILE_TRACEFS,
    OPENER_FILE_PROC,
};

enum opener_file_kind opener_path_kind(const char *path, bool sampling);
/* Whether the daemon asks the opener first: every process may open the file, but reads less without privileges. */
bool opener_path_asks_opener_first(const char *path, bool sampling);

/*
 * An event whose descriptor could do more than count. The opener opens it exactly as the configuration has it: a
 * tracepoint by its id, a probe by its function or file and its offset, a breakpoint by address, length and access.
 */
struct opener_permitted_event {
    uint32_t type, bp_type;
    uint64_t config, config1, config2;
    char *text;   /* NULL: none */
    bool samples; /* the sampler may have it too */
};

/* The most events that may be open at the same time. Nothing raises them later. */
struct opener_event_limits {
    uint64_t cpu;         /* of a whole CPU and of cgroups on it */
    uint64_t cpu_tallied; /* the same, once a tally has counted cgroups */
    uint64_t thread;      /* of one thread, on each CPU and on no certain CPU */
    uint64_t threads;     /* of all threads there */
};

/* The permissions that the configuration gives; the caller fills them. */
struct opener_permissions {
    struct opener_event_limits limits;
    bool sampling;        /* samples of all tasks */
    bool uprobes;         /* there are some among `events` */
    bool state_files;     /* of container runtimes, for their reader */
    bool breakpoints;     /* opener.breakpoints: the breakpoints among `events` may be handed out */
    uint32_t tally_slots; /* cgroups may be counted by a tally with at most this number of slots; 0: by none */
    struct opener_permitted_event *events;
    size_t n_events;
    char **files; /* the configuration's own files, by the paths that it names */
    size_t n_files;
};
/*
 * Copies. Adds nothing for an event that only counts, which needs no permission, and for one that is never permitted.
 * -ENOMEM.
 */
int opener_permissions_add_event(struct opener_permissions *permissions, const struct attr *attr, bool samples);
/* NULL or "" adds nothing. -ENOMEM. */
int opener_permissions_add_file(struct opener_permissions *permissions, const char *path);
void opener_permissions_done(struct opener_permissions *permissions);

struct opener_types {
    uint32_t *items;
    size_t n;
};

struct opener_rules {
    pid_t daemon; /* the only task that may be counted; others may be sampled where permissions.sampling */
    struct opener_permissions permissions;
    unsigned n_cpus; /* possible ones: the largest number and 1 */
    /*
     * CAP_PERFMON does not suffice: kernel.perf_event_paranoid is 3 or more, as the kernels of Debian and Ubuntu have
     * it, or there is a uprobe, for which Linux wants CAP_SYS_ADMIN since 6.16 (perf_uprobe_event_init()).
     */
    bool needs_admin;
    /* The PMUs at the start, by what their descriptors can do. Events of other PMUs are permitted one by one. */
    struct opener_types counting, tracing, probing;
};

/*
 * The rules for this process and the machine's PMUs, as sysfs has them; takes the permissions over in any case.
 * -ENOMEM, and then there is nothing to end.
 */
int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_permissions *permissions);
void opener_rules_done(struct opener_rules *rules);

bool opener_types_have(const struct opener_types *types, uint32_t type);
/* Whether descriptors of the type take a filter: the kernel's perf_event_is_tracing() (kernel/events/core.c). */
bool opener_rules_type_takes_filter(const struct opener_rules *rules, uint32_t type);
/* Whether the event is a permitted one, with its text (NULL: none); with `samples`, permitted to the sampler. */
bool opener_rules_permit_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text,
                               bool samples);
/* Whether the path is one of the configuration's own files. */
bool opener_rules_permit_file(const struct opener_rules *rules, const char *path);

#endif
