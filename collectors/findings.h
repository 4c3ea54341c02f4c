/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is unusual in the last hour of the history, and what cannot be counted now. Each finding has a title with
 * numbers, the cause, and the HTTP request that shows the evidence.
 *
 * The rules are listed in a table. A rule reports only problems whose cause it can name and that have lasted at least a
 * minute.
 */
#ifndef COLLECTORS_FINDINGS_H
#define COLLECTORS_FINDINGS_H

#include "collectors/failures.h"
#include "collectors/history.h"

enum finding_rule {
    FINDING_FAILED,
    FINDING_CLOCK_LIMITED,
    FINDING_SERVICE_CHANGED,
    FINDING_STARVED,
    FINDING_MULTIPLEXED,
    FINDING_MISSING,
    N_FINDING_RULES,
};

/* Returns the rule's name in JSON and in the label of perfcountd_finding, such as "clock_limited". */
const char *finding_rule_name(enum finding_rule rule);

struct finding {
    enum finding_rule rule;
    char *title;                 /* a title such as "CPUs 4-7 run at 1.42 of 2.40 GHz" */
    char *text;                  /* the cause of the finding, in one or two sentences */
    char *evidence;              /* path of the request that shows the evidence: "/api/v1/history?cgroup=..." */
    uint64_t since_ns, until_ns; /* CLOCK_REALTIME; `since_ns` is 0 if unknown, `until_ns` while the finding holds */
    char *cgroup, *cpus, *pmu;   /* subject of the finding; members that do not apply are NULL */
    const char *metric;   /* metric's name in /api/v1/metrics (static); NULL if the finding is not about a metric */
    double before, after; /* values of the metric, or NAN if the finding is not about a metric */
};

/* The findings, ordered by rule; within a rule, the largest comes first. */
struct findings {
    struct finding *items;
    size_t n;
};

struct findings_sources {
    const struct histories *histories; /* NULL if there is no history */
    const struct snapshot *snapshot;
    const struct failures *failures;
    const char *const *troubles; /* messages about parts of the daemon that do not work */
    size_t n_troubles;
};

/* Returns -ENOMEM on failure; findings_done() must be called in either case. */
int findings_make(const struct findings_sources *sources, struct findings *ret);
void findings_done(struct findings *findings);

/* A run of steps in which a value differs from its earlier level. */
struct change {
    size_t begin, end;    /* the run covers the steps from `begin` (inclusive) to `end` (exclusive) */
    double before, after; /* medians of the values before the run and within it */
};

/*
 * Finds the last run of at least `run` steps that all differ in the same direction from the median of the earlier
 * steps. Each step of the run must differ by more than five times the spread of the earlier steps (the median absolute
 * deviation, scaled like a standard deviation), by at least 1.25 times the distance within which 95 % of the earlier
 * steps lie, by at least a quarter of the median, and by at least `floor`. At least `history` steps must precede the
 * run. Steps that are NAN are skipped: such a step neither ends a run nor belongs to a run. `room` is scratch space for
 * 2 * n numbers. Returns false if no such run exists. The function is pure.
 */
bool change_find(const double *values, size_t n, size_t run, size_t history, double floor, double *room,
                 struct change *ret);

#endif
