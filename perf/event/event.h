/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event as `perf` writes it (perf-list(1)): pure syntax, without any machine.
 *
 *     cycles   L1-dcache-load-misses   r11   cpu/event=0x3c,umask=0x0/   armv8_cortex_a76/l2d_cache_refill/
 *     sched:sched_switch   mem:0x1000/8:w   uprobe/path=/bin/bash,offset=0x1234/   name-known-to-sysfs   {a,b}:k
 *
 * Every event has a metric name (doc/perfcountd.yaml.5, "METRIC NAMES"): "cycles:u" is "cycles_user".
 */
#ifndef PERF_EVENT_EVENT_H
#define PERF_EVENT_EVENT_H

#include "base/error.h"

enum event_kind {
    EVENT_GENERIC,    /* hardware, software, cache: `type` and `config` are the kernel's */
    EVENT_RAW,        /* rNNN: `config`, on the core PMU of each CPU */
    EVENT_PMU,        /* pmu/terms/: `pmu` and `terms` */
    EVENT_TRACEPOINT, /* system:name: `system` and `name` */
    EVENT_BREAKPOINT, /* mem:ADDRESS/LENGTH:ACCESS: `breakpoint` */
    EVENT_NAME,       /* a bare word that is no generic event: `name`, to be found in sysfs */
};

/* perf's modifiers. With none of user, kernel and hypervisor all three are counted; so for guest and host. */
enum event_modifier {
    EVENT_USER = 1 << 0,       /* u */
    EVENT_KERNEL = 1 << 1,     /* k */
    EVENT_HYPERVISOR = 1 << 2, /* h */
    EVENT_GUEST = 1 << 3,      /* G */
    EVENT_HOST = 1 << 4,       /* H */
    EVENT_PINNED = 1 << 5,     /* D */
    EVENT_WEAK = 1 << 6,       /* W: said of a group; every group is weak unless the configuration says strict */
    EVENT_EXCLUSIVE = 1 << 7,  /* e */
};

struct event_term {
    char *name;
    char *text; /* the value as written, a number or a probe's function or file; NULL where there was none (means 1) */
    uint64_t value;
    bool numeric; /* `text` is a number, and `value` is it */
    size_t offset;
};

/* An access to memory: what perf_event_open(2) calls bp_addr, bp_len and bp_type. */
struct event_breakpoint {
    uint64_t address, length;
    unsigned access; /* of HW_BREAKPOINT_R, _W, _X */
};

struct generic_event;

struct event {
    enum event_kind kind;
    char *text;                /* as written, with its modifiers; for messages */
    char *pmu, *system, *name; /* `name` also of EVENT_GENERIC, EVENT_RAW, EVENT_BREAKPOINT: the word as written */
    struct event_term *terms;  /* without `name=`, which became the metric name */
    size_t n_terms;
    uint32_t type;
    uint64_t config;
    struct event_breakpoint breakpoint;
    const struct generic_event *generic; /* of EVENT_GENERIC with a row of its own; NULL for cache events */
    unsigned modifiers;                  /* of enum event_modifier */
    unsigned precise;                    /* how many p; P is 3 */
    char *metric;                        /* "cycles_user" */
    size_t offset;                       /* where it stands in the parsed text */
};

struct event_list {
    struct event *events;
    size_t n;
    unsigned modifiers; /* that were said of the whole group; already in each event */
};

/*
 * Parses one group: "{a,b}:k", or "a,b" or "a", which mean the same: what is written together is counted together.
 * A second group in braces is an error. -EINVAL with the error at the offending character (error->offset).
 * Bare words are not looked up: whether an EVENT_NAME exists is asked with a machine, by attr_build().
 */
int event_list_parse(const char *text, struct event_list *ret, struct error *error);
/*
 * The same for a group whose first event is to be sampled: a clock then takes u and k, which the kernel heeds when it
 * samples (kernel/events/core.c, perf_swevent_hrtimer()) and ignores when it counts.
 */
int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error);
void event_list_done(struct event_list *list);

/* Parses one event, without braces and commas outside slashes. */
int event_parse(const char *text, struct event *ret, struct error *error);
void event_done(struct event *event);

/* Replaces the metric name by one that a person chose: [a-zA-Z_][a-zA-Z0-9_]*, else -EINVAL. */
int event_set_metric(struct event *event, const char *name, struct error *error);

/*
 * Lower case, everything outside [a-z0-9_] turned to "_", runs of "_" are one, none at the ends; "event_" before a
 * digit. Always a valid name. The caller frees it; NULL when out of memory.
 */
char *event_metric_name(const char *text);

/*
 * The text a person reads about this metric, for HELP: from the table of generic events, or made of the name. NULL when
 * out of memory; the caller frees it.
 */
char *event_help(const struct event *event);

#endif
