/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that could not be opened: an entry for each event and reason, with the CPUs on which it failed. And reasons
 * why a collector fails, or does not find all its CPUs or cgroups, which are about no event.
 */
#ifndef COLLECTORS_FAILURES_H
#define COLLECTORS_FAILURES_H

#include "metrics/metrics.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

/* The reason of a collector that could not be opened or read. */
#define FAILURE_OF_COLLECTOR "failed"

/* In a list, the list owns the texts. */
struct failure {
    unsigned collector; /* bit number */
    const char *group;
    const char *event;   /* as it was written; "" where it is about none */
    const char *metric;  /* as it is named: the label `event` */
    const char *pmu;     /* "" where there is no PMU of that name */
    const char *reason;  /* "ENOENT" */
    const char *message; /* what is wrong and what to do, without the CPUs */
    const char *where;   /* the place in words, such as "cgroups" or "collector cgroup"; NULL if `cpus` is the place */
    struct cpuset cpus;
    bool in_cgroups; /* the targets are cgroups, each on these CPUs; else the targets are the CPUs */
    size_t n_targets;
    enum reason_span span;
};

struct failures {
    struct failure *items;
    size_t n;
    enum reason_span span; /* the latest of all, also of failures that are not listed */
};

void failures_done(struct failures *failures);

/*
 * Adds a failure on `cpu` (-1: on none), or one more target of a failure that is listed. `failure` is copied; its cpus
 * and n_targets are ignored. -ENOMEM.
 */
int failures_add(struct failures *failures, const struct failure *failure, int cpu);
/* Adds the failures that each of `n` cgroups has, each listed by CPU: n more targets for each failure. -ENOMEM. */
int failures_add_cgroups(struct failures *failures, const struct failures *cgroup, size_t n);

/* A failure that is not listed, because its CPU or cgroup is only away, may be over after this span. */
static inline void failures_note(struct failures *failures, enum reason_span span)
{
    failures->span = MAX(failures->span, span);
}

/*
 * Calls `visit` with each sentence and the first failure that it reports, until a call fails. -ENOMEM.
 *
 * Events that failed for the same reason at the same targets share a sentence, which says whose they are and does not
 * change when cgroups come and go: "cpu 0-3 bus-cycles, ref-cycles: no such event on this PMU (ENOENT): ...", "cgroups,
 * on cpu 0-3: bus-cycles: ...".
 */
int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata);

/* The same sentences as an array; the caller frees them and the array. -ENOMEM. */
int failures_sentences(const struct failures *failures, char ***ret, size_t *ret_n);

/*
 * Adds the series of a failure that a list has, of the collector by this name: perfcountd_events_unavailable, or
 * perfcountd_collector_incomplete where it is about no event. NULL: there is no memory.
 */
struct series *failure_add_series(const struct failure *failure, const char *collector, struct metrics *metrics);

#endif
