/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failures of collectors: events that could not be opened, one entry for each event and reason with the CPUs where
 * it failed, and reasons why a whole collector failed or does not see all of its CPUs or cgroups.
 */
#ifndef COLLECTORS_FAILURES_H
#define COLLECTORS_FAILURES_H

#include "metrics/metrics.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

/* The reason label of a collector that could not be opened or read. */
#define FAILURE_OF_COLLECTOR "failed"

/* Strings are owned by the list if the failure is part of one, else borrowed. */
struct failure {
    unsigned collector; /* bit number */
    const char *group;
    const char *event;   /* as configured; "" if the failure is not about an event */
    const char *metric;  /* metric name of the event: the value of the label `event` */
    const char *pmu;     /* PMU that counts the event or that the event names; else "" */
    const char *reason;  /* reason_label() of an event; else another short identifier */
    const char *message; /* cause and remedy, without the CPUs */
    const char *where;   /* place in words, such as "cgroups" or "collector cgroup"; NULL if `cpus` is the place */
    struct cpuset cpus;
    bool in_cgroups; /* the targets are cgroups, each counted on `cpus`; else the targets are the CPUs */
    size_t n_targets;
    enum reason_span span;
};

struct failures {
    struct failure *items;
    size_t n;
    enum reason_span span; /* the maximum over all failures, including those passed to failures_note() */
};

void failures_done(struct failures *failures);

/*
 * Adds a failure on `cpu` (-1: no CPU), or another target to the entry with the same event and reason. `failure` is
 * copied; its `cpus` and `n_targets` are ignored. Returns -ENOMEM on failure.
 */
int failures_add(struct failures *failures, const struct failure *failure, int cpu);
/*
 * Adds failures that `n` cgroups have in common. `cgroup` lists them for one cgroup; each counts for `n` targets.
 * Returns -ENOMEM on failure.
 */
int failures_add_cgroups(struct failures *failures, const struct failures *cgroup, size_t n);

/* Records the span of a failure that is not listed because its CPU or cgroup is only temporarily absent. */
static inline void failures_note(struct failures *failures, enum reason_span span)
{
    failures->span = MAX(failures->span, span);
}

/* The number of events that are not counted: one for each collector, group, PMU and reason. */
size_t failures_count_events(const struct failures *failures);

/*
 * Calls `visit` with each sentence and the first failure that it reports, until a call returns a value other than 0.
 * Returns that value, or -ENOMEM if memory runs out.
 *
 * Events that failed for the same reason at the same targets share a sentence: "cpu 0-3 bus-cycles, ref-cycles: no such
 * event on this PMU (ENOENT): ...", "cgroups, on cpu 0-3: bus-cycles: ...". The sentence does not change when cgroups
 * come and go. All events of a missing PMU share one sentence, wherever they are counted, because they have one cause.
 */
int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata);

/* Returns the same sentences as an array. The caller frees the strings and the array. Returns -ENOMEM on failure. */
int failures_sentences(const struct failures *failures, char ***ret, size_t *ret_n);

/*
 * Adds the series of a listed failure: perfcountd_events_unavailable, or perfcountd_collector_incomplete if the failure
 * is not about an event. `collector` is the value of the collector label. Returns NULL if memory runs out.
 */
struct series *failure_add_series(const struct failure *failure, const char *collector, struct metrics *metrics);

#endif
