/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a configured group that are not counted on a target: why, on which CPUs, and their rows. */
#ifndef COLLECTORS_UNAVAILABLE_H
#define COLLECTORS_UNAVAILABLE_H

#include "collectors/binding.h"

struct missing {
    size_t event; /* of the configured group */
    char *text, *metric, *pmu, *message;
    int error;
    enum reason_span span;
    int cpu; /* of its row: -1 for one row of all CPUs */
    struct cpuset cpus;
    bool nowhere;    /* no CPU is to count it */
    struct row *row; /* NULL where a row of the same name counts it on other CPUs */
};

struct missings {
    struct missing *items;
    size_t n;
};

void missings_done(struct missings *missings, struct snapshot *snapshot);

/* `at` is the CPU on which it is missing or -1, `cpu` that of its row. -ENOMEM. */
int missings_add(struct missings *missings, const struct config_event *config, const struct missing *item, int at);
/* These events are tried again on that CPU (-1: those of no CPU). */
void missings_forget(struct missings *missings, uint64_t events, int at);
/* Takes out what is forgotten. */
void missings_sweep(struct missings *missings, struct snapshot *snapshot);

/* Gives the row that shows it, or takes it away. -ENOMEM. */
int missing_show(struct missing *missing, const struct collector_context *context, const char *group,
                 const char *cgroup, bool visible);

/* Adds them to what a person reads. -ENOMEM. */
int missings_report(const struct missings *missings, const struct collector_context *context, const char *group,
                    struct failures *failures);

#endif
