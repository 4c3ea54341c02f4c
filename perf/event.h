/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event as perf-list(1) describes it, its metric name and its HELP.
 *
 * The kind of a PMU: what the descriptors of its events can do besides counting. No file of the kernel says this, but
 * the PMUs that can do more are known by name. Pure.
 *
 * An event as perf-list(1) writes it, parsed (parse.h) and without any machine, and its metric name (the rules are in
 * doc/perfcountd.yaml.5, "METRIC NAMES": "cycles:u" is "cycles_user").
 */
#ifndef PERF_EVENT_H
#define PERF_EVENT_H

#include "base/error.h"
#include "base/util.h"

enum pmu_kind {
    PMU_COUNTING,   /* nothing else */
    PMU_TRACEPOINT, /* a holder of the descriptor can set a filter (PERF_EVENT_IOC_SET_FILTER) */
    PMU_PROBE, /* as tracepoints, and opening one changes the kernel's or a program's instructions: kprobe, uprobe */
    PMU_BREAKPOINT, /* a holder of the descriptor can move it to another address (PERF_EVENT_IOC_MODIFY_ATTRIBUTES) */
    PMU_TRACING,    /* shows all that a CPU executes, in a second ring: the PMUs that have setup_aux() */
};

enum pmu_kind pmu_kind(const char *name);

enum event_kind {
    EVENT_GENERIC,    /* hardware, software, cache, by name or TYPE:CONFIG: `type` and `config` are the kernel's */
    EVENT_RAW,        /* rNNN: `config`, on the core PMU of each CPU */
    EVENT_PMU,        /* pmu/terms/: `pmu` and `terms` */
    EVENT_TRACEPOINT, /* system:name: `system` and `name` */
    EVENT_BREAKPOINT, /* mem:ADDRESS/LENGTH:ACCESS: `breakpoint` */
    EVENT_NAME,       /* a bare word that is no generic event: `name`, to be found in sysfs */
};

/* perf's modifiers. With none of user, kernel and hypervisor all three are counted; so for guest and host. */
enum event_modifier {
    EVENT_USER = 1 << 0,        /* u */
    EVENT_KERNEL = 1 << 1,      /* k */
    EVENT_HYPERVISOR = 1 << 2,  /* h */
    EVENT_GUEST = 1 << 3,       /* G */
    EVENT_HOST = 1 << 4,        /* H */
    EVENT_PINNED = 1 << 5,      /* D */
    EVENT_WEAK = 1 << 6,        /* W: stands behind a group; every group is weak unless the configuration says strict */
    EVENT_EXCLUSIVE = 1 << 7,   /* e */
    EVENT_NO_IDLE = 1 << 8,     /* I */
    EVENT_SAMPLE_READ = 1 << 9, /* S: samples have the counts of their group; means nothing while counting */
};

#define EVENT_IGNORED_ON_CLOCKS ((unsigned)(EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST))

/* "umask=0x1": a term of a PMU's event. */
struct event_term {
    char *name;
    char *text; /* the value as written, a number or a probe's function or file; NULL where there was none (means 1) */
    uint64_t value;
    bool numeric;  /* `text` is a number, which is in `value` */
    size_t offset; /* in the parsed text */
};

void event_term_done(struct event_term *term);

/* An access to memory: bp_addr, bp_len and bp_type of perf_event_open(2). */
struct event_breakpoint {
    uint64_t address, length;
    unsigned access; /* bits HW_BREAKPOINT_R, _W, _X */
};

struct generic_event;

struct event {
    enum event_kind kind;
    char *text;                /* as written, with its modifiers; for messages */
    char *pmu, *system, *name; /* EVENT_GENERIC, EVENT_RAW and EVENT_BREAKPOINT have the word as written in `name` */
    struct event_term *terms;  /* without `name`, which became the metric name, `period` and `freq` */
    size_t n_terms;
    uint32_t type;
    uint64_t config;
    struct event_breakpoint breakpoint;
    const struct generic_event *generic; /* for EVENT_GENERIC, its row of the table; NULL for cache events */
    unsigned modifiers;                  /* bits of enum event_modifier */
    unsigned precise;                    /* 0 to 3: the number of p; P is 3 */
    uint64_t period, frequency;          /* the terms `period` and `freq` of an event that samples; 0: not given */
    char *metric;                        /* "cycles_user" */
    size_t offset;                       /* where it stands in the parsed text */
};

void event_done(struct event *event);

/* The events of one group. */
struct event_list {
    struct event *events;
    size_t n;
    unsigned modifiers; /* those behind the whole group; each event has them as well */
    char *name;         /* before the braces; NULL: none */
    char *text;         /* as written, without the name */
    size_t offset;      /* where the group, or its name, stands in the parsed text */
};

void event_list_done(struct event_list *list);

/* The groups of one text. */
struct event_groups {
    struct event_list *groups;
    size_t n;
};

void event_groups_done(struct event_groups *groups);

/*
 * Lower case; everything outside [a-z0-9_] is "_", a run of "_" is one, none stands at the ends; "event_" before a
 * digit. Always a valid name. NULL when out of memory; the caller frees it.
 */
char *event_metric_name(const char *text);
/* Gives the event the metric name that its kind and its modifiers make, unless it has a name already. -ENOMEM. */
int event_build_metric(struct event *event);
/* Whether the kernel ignores one of its modifiers: its metric name does not say it. */
bool event_has_ignored_modifiers(const struct event *event);
/* The unit as it stands behind the metric name: "" where the name ends with it, as read_bytes does with "bytes". */
const char *event_unit_suffix(const struct event *event, const char *unit);
/* Replaces the metric name by one that a person chose: [a-zA-Z_][a-zA-Z0-9_]*, else -EINVAL. */
int event_set_metric(struct event *event, const char *name, struct error *error);

/*
 * The HELP text of the event's metric, from the table of generic events or made from the event's name. NULL when out of
 * memory; the caller frees it.
 */
char *event_help(const struct event *event);

#endif
