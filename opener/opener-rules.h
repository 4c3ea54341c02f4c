/* SPDX-License-Identifier: Apache-2.0 */
/* What the opener knows before the two part, and judges requests by. */
#ifndef OPENER_RULES_H
#define OPENER_RULES_H

#include "perf/sys.h"

/* What the configuration asks for at the start; what it asks for later takes another opener. */
struct opener_tasks {
    bool sampling;
    bool probing; /* who sets a probe where no instruction begins changes what a program does */
};

struct opener_rules {
    pid_t daemon; /* the only task that may be counted; others may be sampled where tasks.sampling */
    struct opener_tasks tasks;
    int64_t probe_types[2]; /* PMUs whose config1 is the address of a text: kprobe and uprobe; -1: there is none */
    /* PMUs whose descriptors show what a CPU executes, whether they sample or not; drivers loaded later are missing. */
    uint32_t *trace_types;
    size_t n_trace_types;
};

/* Of this process and the machine's PMUs, as sysfs has them. -ENOMEM, and there is nothing to end. */
int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_tasks tasks);
void opener_rules_done(struct opener_rules *rules);

#endif
