/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a configured group that are not counted on a target: why, on which CPUs, and their rows. */
#ifndef COLLECTORS_UNAVAILABLE_H
#define COLLECTORS_UNAVAILABLE_H

#include "collectors/collector.h"
#include "perf/group.h"

/* An event and a reason. The texts belong to the snapshot. */
struct unavailable_event {
    size_t event; /* of the configured group */
    const char *text, *metric, *pmu, *message;
    int error;
    enum reason_span span;
    int cpu; /* of its row: -1 for one row of all CPUs */
    struct cpuset cpus;
    bool on_no_cpu;  /* no CPU is to count it */
    struct row *row; /* NULL where a row of the same name counts it on other CPUs */
};

struct unavailable_events {
    struct unavailable_event *items;
    uint32_t n;
    bool summed; /* their rows are of all CPUs */
};

void unavailable_done(struct unavailable_events *events, struct snapshot *snapshot);

/*
 * Adds an event on `cpu` (-1: on none). `why` says the event, the reason, how long it lasts, and the name of the PMU
 * (NULL: the one that `config` names); the texts are copied. -ENOMEM.
 */
int unavailable_add(struct unavailable_events *events, const struct collector_context *context, int cpu,
                    const struct config_event *config, struct unavailable_event why);
/* The events in `mask` are tried again on that CPU (-1: on none). */
void unavailable_forget(struct unavailable_events *events, uint64_t mask, int cpu);
/* Removes events that are no longer unavailable anywhere. */
void unavailable_sweep(struct unavailable_events *events, struct snapshot *snapshot);

/* Adds the row that shows the event, or removes it; `where` says the group, the cgroup and its names. -ENOMEM. */
int unavailable_show(struct unavailable_event *event, const struct collector_context *context,
                     const struct row_target *where, bool visible);

/* Adds them to the failures that a person reads. -ENOMEM. */
int unavailable_report(const struct unavailable_events *events, const struct collector_context *context,
                       const char *group, struct failures *failures);

#endif
