/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the opener opens, settled before the two processes part and never widened by what is asked. More takes another
 * start.
 */
#ifndef OPENER_RULES_H
#define OPENER_RULES_H

#include "perf/attr.h"
#include "perf/sys.h"

/*
 * An event whose descriptor could do more than count, and that is therefore opened exactly as the configuration has it:
 * a tracepoint by its id, a probe by its function or file and its offset, a breakpoint by address, length and access.
 */
struct opener_permitted_event {
    uint32_t type, bp_type;
    uint64_t config, config1, config2;
    char *text;   /* NULL: none */
    bool samples; /* the sampler may have it too */
};

/* What is to be opened: the caller fills it from the configuration. */
struct opener_permissions {
    bool sampling;    /* samples of all tasks */
    bool breakpoints; /* opener.breakpoints: those that are granted may be given out */
    struct opener_permitted_event *grants;
    size_t n_grants;
    char **files; /* paths of the configuration's own, as it names them */
    size_t n_files;
};
/* Copies. -ENOMEM; an event that only counts needs no grant, and adds none; nor does one that is never granted. */
int opener_permissions_add_event(struct opener_permissions *wish, const struct attr *attr, bool samples);
/* NULL or "" adds nothing. -ENOMEM. */
int opener_permissions_add_file(struct opener_permissions *wish, const char *path);
void opener_permissions_done(struct opener_permissions *wish);

struct opener_types {
    uint32_t *items;
    size_t n;
};

struct opener_rules {
    pid_t daemon; /* the only task that may be counted; others may be sampled where wish.sampling */
    struct opener_permissions wish;
    /* PMUs of the start, by what their descriptors can do; the others are granted event by event. */
    struct opener_types counting, tracing, probing;
};

/* Of this process and the machine's PMUs, as sysfs has them; takes the wish over. -ENOMEM, and there is nothing to end.
 */
int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_permissions *wish);
void opener_rules_done(struct opener_rules *rules);

bool opener_types_have(const struct opener_types *types, uint32_t type);
/* Whether descriptors of the type take a filter: the kernel's perf_event_is_tracing() (kernel/events/core.c). */
bool opener_rules_type_takes_filter(const struct opener_rules *rules, uint32_t type);
/* Whether the event, which `text` belongs to (NULL: none), was granted; with `samples`, to the sampler. */
bool opener_rules_permit_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text,
                               bool samples);
/* Whether the path is one of the configuration's own. */
bool opener_rules_permit_file(const struct opener_rules *rules, const char *path);

#endif
