/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed event in the syntax of perf-list(1), independent of the machine, with its metric name and HELP text.
 *
 * perf/event-parse.h creates events. The rules for metric names are in doc/perfcountd.yaml.5, "METRIC NAMES":
 * "cycles:u" is "cycles_user".
 */
#ifndef PERF_EVENT_H
#define PERF_EVENT_H

#include "base/error.h"
#include "base/util.h"

/*
 * What a descriptor of one of the PMU's events can do besides counting. The kernel does not export this; the PMUs that
 * can do more are known by name.
 */
enum pmu_kind {
    PMU_COUNTING,   /* nothing but counting */
    PMU_TRACEPOINT, /* the holder of the descriptor can set a filter (PERF_EVENT_IOC_SET_FILTER) */
    PMU_PROBE,      /* kprobe, uprobe: like a tracepoint, but opening the event also patches the kernel or a program */
    PMU_BREAKPOINT, /* the holder of the descriptor can move the breakpoint (PERF_EVENT_IOC_MODIFY_ATTRIBUTES) */
    PMU_TRACING,    /* records what a CPU executes, in the AUX ring buffer: PMUs with setup_aux() */
};

enum pmu_kind pmu_kind(const char *name);

enum event_kind {
    EVENT_GENERIC,    /* hardware, software or cache event, by name or TYPE:CONFIG: uses `type` and `config` */
    EVENT_RAW,        /* rNNN: uses `config`, on the core PMU of each CPU */
    EVENT_PMU,        /* pmu/terms/: uses `pmu` and `terms` */
    EVENT_TRACEPOINT, /* system:name: uses `system` and `name` */
    EVENT_BREAKPOINT, /* mem:ADDRESS/LENGTH:ACCESS: uses `breakpoint` */
    EVENT_NAME,       /* any other bare word: uses `name`, which is looked up in sysfs and libpfm4 */
};

/*
 * perf's modifiers. An event with none of u, k and h counts in user mode, kernel and hypervisor; one with neither G nor
 * H counts guest and host.
 */
enum event_modifier {
    EVENT_USER = 1 << 0,        /* u */
    EVENT_KERNEL = 1 << 1,      /* k */
    EVENT_HYPERVISOR = 1 << 2,  /* h */
    EVENT_GUEST = 1 << 3,       /* G */
    EVENT_HOST = 1 << 4,        /* H */
    EVENT_PINNED = 1 << 5,      /* D */
    EVENT_WEAK = 1 << 6,        /* W: after a group; every group is weak unless the configuration says strict */
    EVENT_EXCLUSIVE = 1 << 7,   /* e */
    EVENT_NO_IDLE = 1 << 8,     /* I */
    EVENT_SAMPLE_READ = 1 << 9, /* S: samples carry the counts of their group; no effect while counting */
};

#define EVENT_IGNORED_ON_CLOCKS ((unsigned)(EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST))

/* "umask=0x1": a term of a PMU's event. */
struct event_term {
    char *name;
    char *text; /* value as written: a number, or a probe's function or file, or NULL if omitted, which means 1 */
    uint64_t value;
    bool numeric;  /* `text` is a number, stored in `value` */
    size_t offset; /* position in the parsed text */
};

void event_term_done(struct event_term *term);

/* A memory access: bp_addr, bp_len and bp_type of perf_event_open(2). */
struct event_breakpoint {
    uint64_t address, length;
    unsigned access; /* bits HW_BREAKPOINT_R, _W, _X */
};

struct generic_event;

struct event {
    enum event_kind kind;
    char *text;                /* as written, with its modifiers; for messages */
    char *pmu, *system, *name; /* `name` is also set for EVENT_GENERIC, EVENT_RAW and EVENT_BREAKPOINT */
    struct event_term *terms;  /* without `name`, `period` and `freq`, which set the members below */
    size_t n_terms;
    uint32_t type;
    uint64_t config;
    struct event_breakpoint breakpoint;
    const struct generic_event *generic; /* row of the table of generic events; NULL for all other events */
    unsigned modifiers;                  /* mask of bits of enum event_modifier */
    unsigned precise;                    /* 0 to 3: how many times p is given; P counts as 3 */
    uint64_t period, frequency;          /* the terms `period` and `freq` of a sampled event; 0: not given */
    char *metric;                        /* "cycles_user" */
    size_t offset;                       /* position in the parsed text */
};

void event_done(struct event *event);

/* The events of one group. */
struct event_list {
    struct event *events;
    size_t n;
    unsigned modifiers; /* modifiers after the whole group; each event has them as well */
    char *name;         /* given before the braces, or NULL if unnamed */
    char *text;         /* as written, without the name */
    size_t offset;      /* position of the group, or of its name, in the parsed text */
};

void event_list_done(struct event_list *list);

/* The groups of one text. */
struct event_groups {
    struct event_list *groups;
    size_t n;
};

void event_groups_done(struct event_groups *groups);

/*
 * Turns any text into a valid metric name: lower case; characters outside [a-z0-9_] become "_"; runs of "_" become one,
 * and are removed at both ends. A leading digit gets the prefix "event_", and an empty result becomes "event". The
 * caller frees the name. Returns NULL when out of memory.
 */
char *event_metric_name(const char *text);
/*
 * Sets the metric name from the event's kind, terms and modifiers, unless the event already has one. Returns -ENOMEM on
 * failure.
 */
int event_build_metric(struct event *event);
/* Whether the kernel ignores one of the event's modifiers, which the metric name then omits. */
bool event_has_ignored_modifiers(const struct event *event);
/* The unit to append to the metric name, or "" if the name already ends with it ("read_bytes"). */
const char *event_unit_suffix(const struct event *event, const char *unit);
/*
 * Replaces the metric name with one that the user chose. Returns -EINVAL unless it matches [a-zA-Z_][a-zA-Z0-9_]*, or
 * -ENOMEM.
 */
int event_set_metric(struct event *event, const char *name, struct error *error);

/*
 * The HELP text of the event's metric, from the table of generic events or generated from the event's name. The caller
 * frees it. Returns NULL when out of memory.
 */
char *event_help(const struct event *event);

#endif
