/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector failures. An entry lists the CPUs on which an event could not be opened for one reason, or says why a whole
 * collector failed or does not see all of its CPUs or cgroups.
 */
#ifndef COLLECTORS_FAILURES_H
#define COLLECTORS_FAILURES_H

#include "metrics/metrics.h"
#include "perf/cpuset.h"
#include "perf/reason.h"

/* The reason label of a collector that could not be opened or read. */
#define FAILURE_OF_COLLECTOR "failed"

/* The strings of a failure in a list are owned by the list; other strings are borrowed. */
struct failure {
    unsigned collector; /* bit number */
    const char *group;
    const char *event;   /* as configured, or "" if the failure is not about an event */
    const char *metric;  /* metric name of the event; the value of the label `event` */
    const char *pmu;     /* PMU that counts the event or is named in it, or "" if unknown */
    const char *reason;  /* short identifier of the reason; for an event, from reason_label() */
    const char *message; /* sentence with cause and remedy, but without the CPUs */
    const char *where;   /* place of the failure, such as "cgroups" or "collector cgroup"; NULL: `cpus` */
    struct cpuset cpus;
    bool in_cgroups; /* whether the targets are cgroups, each counted on `cpus`, or the CPUs themselves */
    size_t n_targets;
    enum reason_span span;
};

struct failures {
    struct failure *items;
    size_t n;
    enum reason_span span; /* longest span of all failures, including those of failures_note() */
};

void failures_done(struct failures *failures);

/*
 * Adds a failure on `cpu` (-1 for no CPU). If an entry has the same event and reason, adds the target to that entry.
 * `failure` is copied; its `cpus` and `n_targets` are ignored. Returns -ENOMEM on failure.
 */
int failures_add(struct failures *failures, const struct failure *failure, int cpu);
/*
 * Adds failures that `n` cgroups have in common. `cgroup` lists the failures of one cgroup; each listed failure counts
 * as `n` targets. Returns -ENOMEM on failure.
 */
int failures_add_cgroups(struct failures *failures, const struct failures *cgroup, size_t n);

/* Records the span of a failure that is not listed because its CPU or cgroup is only temporarily absent. */
static inline void failures_note(struct failures *failures, enum reason_span span)
{
    failures->span = MAX(failures->span, span);
}

/* Returns the number of events that are not counted: one for each collector, group, PMU and reason. */
size_t failures_count_events(const struct failures *failures);

/*
 * Calls `visit` with each message and the first failure that it reports, until a call returns a value other than 0.
 * Returns the value of the last call, or -ENOMEM if memory runs out.
 *
 * Events that failed for the same reason on the same targets share a message: "cpu 0-3 bus-cycles, ref-cycles: no such
 * event on this PMU (ENOENT): ...", "cgroups, on cpu 0-3: bus-cycles: ...". Messages do not change when cgroups come
 * and go. All events of a missing PMU share one message, wherever they are counted, because they have one cause.
 */
int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata);

/*
 * Returns the messages of all failures as an array. The caller frees the strings and the array. Returns -ENOMEM on
 * failure.
 */
int failures_sentences(const struct failures *failures, char ***ret, size_t *ret_n);

/*
 * Adds the series of a listed failure: perfcountd_events_unavailable, or perfcountd_collector_incomplete if the failure
 * is not about an event. `collector` is the value of the collector label. Returns NULL if memory runs out.
 */
struct series *failure_add_series(const struct failure *failure, const char *collector, struct metrics *metrics);

#endif
