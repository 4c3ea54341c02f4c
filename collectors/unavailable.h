/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a configured group that are not counted on a target: the reason, the CPUs, and the row that shows each
 * of them.
 */
#ifndef COLLECTORS_UNAVAILABLE_H
#define COLLECTORS_UNAVAILABLE_H

#include "collectors/collector.h"
#include "perf/group.h"

/* An event and a reason. Strings are interned in the snapshot. */
struct unavailable_event {
    size_t event; /* index in the configured group */
    const char *text, *metric, *pmu, *message;
    int error;
    enum reason_span span;
    int cpu; /* CPU of its row; -1 for one row of all CPUs */
    struct cpuset cpus;
    bool on_no_cpu;  /* unavailable independently of any CPU (added with cpu -1) */
    struct row *row; /* NULL if the event is counted on other CPUs in a row of the same name */
};

struct unavailable_events {
    struct unavailable_event *items;
    uint32_t n;
    bool summed; /* one row for all CPUs */
};

void unavailable_done(struct unavailable_events *events, struct snapshot *snapshot);

/*
 * Adds an event on `cpu` (-1: no CPU). `why` has the event, the reason, its span, and the name of the PMU (NULL: the
 * PMU named in `config`); its strings are copied. Returns -ENOMEM on failure.
 */
int unavailable_add(struct unavailable_events *events, const struct collector_env *env, int cpu,
                    const struct config_event *config, struct unavailable_event why);
/* Removes `cpu` (-1: "no CPU") from the events in `mask`, because they are about to be tried again there. */
void unavailable_forget(struct unavailable_events *events, uint64_t mask, int cpu);
/* Frees events that are no longer unavailable anywhere, and their rows. */
void unavailable_sweep(struct unavailable_events *events, struct snapshot *snapshot);

/*
 * Adds (`visible`) or removes the row that shows the event. `where` has the group, the cgroup and its names. Returns
 * -ENOMEM on failure.
 */
int unavailable_show(struct unavailable_event *event, const struct collector_env *env, const struct row_target *where,
                     bool visible);

/* Adds the events to `failures`. Returns -ENOMEM on failure. */
int unavailable_report(const struct unavailable_events *events, const struct collector_env *env, const char *group,
                       struct failures *failures);

#endif
