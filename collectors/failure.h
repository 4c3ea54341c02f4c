/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could not be opened: one entry per event and reason, with the CPUs on which it failed.
 */
#ifndef COLLECTORS_FAILURE_H
#define COLLECTORS_FAILURE_H

#include "perf/cpuset.h"
#include "perf/reason.h"

struct failure {
    unsigned collector; /* bit number */
    char *group;
    char *event;   /* as it was written */
    char *metric;  /* as it is named: the label `event` */
    char *pmu;     /* "" where there is none of that name */
    char *reason;  /* "ENOENT" */
    char *message; /* what is wrong and what to do, without the place */
    char *place;   /* "own task"; NULL where it is `cpus` */
    struct cpuset cpus;
    bool in_cgroups; /* the targets are cgroups, each on these CPUs; else the CPUs */
    size_t n_targets;
    enum reason_span span;
};

struct failures {
    struct failure *items;
    size_t n;
    enum reason_span span; /* the latest of all, also of what is not listed */
};

void failures_done(struct failures *failures);

/*
 * One more target of what may already be listed, on `cpu` (-1: on none); `item` is copied, its cpus and n_targets are
 * ignored. -ENOMEM.
 */
int failures_add(struct failures *failures, const struct failure *item, int cpu);
/* What one cgroup lacks, listed by CPU: to each that is one more target. -ENOMEM. */
int failures_add_cgroup(struct failures *failures, const struct failures *cgroup);

/* Something that is not listed, because it is only away, may be had later. */
static inline void failures_note(struct failures *failures, enum reason_span span)
{
    failures->span = MAX(failures->span, span);
}

/*
 * Calls `visit` with each sentence and the first failure that it tells, until one fails. -ENOMEM.
 */
int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata);

/*
 * What a person reads: "cpu 0-3 bus-cycles, ref-cycles: no such event on this PMU (ENOENT): ...". Events that failed
 * for the same reason on the same CPUs share a sentence, which does not change when cgroups come and go; what failed
 * elsewhere for a reason that is told of CPUs joins it. The caller frees the sentences and the array. -ENOMEM.
 */
int failures_sentences(const struct failures *failures, char ***ret, size_t *ret_n);

#endif
