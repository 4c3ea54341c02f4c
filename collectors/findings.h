/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is unusual in the last hour of the history, and what cannot be counted now. Each finding is a sentence
 * with numbers, its cause, and the request that shows its evidence.
 *
 * The rules are a table. A rule only reports what it can name a cause for, and what lasted a minute or longer.
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

/* Returns "clock_limited", ...: the label of perfcountd_finding and the name in JSON. */
const char *finding_rule_name(enum finding_rule rule);

struct finding {
    enum finding_rule rule;
    char *title;                 /* "CPU 4-7 run at 1.42 of 2.40 GHz" */
    char *text;                  /* the cause, in one or two sentences */
    char *evidence;              /* the path of a request: "/api/v1/history?cgroup=..." */
    uint64_t since_ns, until_ns; /* CLOCK_REALTIME; 0: the start is unknown, or the finding still holds */
    char *cgroup, *cpus, *pmu;   /* what the finding is about; NULL where this does not apply */
    const char *metric;          /* name in /api/v1/metrics, static; NULL if the finding is not about a metric */
    double before, after;        /* values of the metric; NAN without one */
};

/* Ordered by rule, and the largest first within a rule. */
struct findings {
    struct finding *items;
    size_t n;
};

struct findings_sources {
    const struct histories *histories; /* NULL if there is no history */
    const struct snapshot *snapshot;
    const struct failures *failures;
    const char *const *troubles; /* sentences about parts of the daemon that do not work */
    size_t n_troubles;
};

/* Returns -ENOMEM on failure; findings_done() must be called in either case. */
int findings_make(const struct findings_sources *sources, struct findings *ret);
void findings_done(struct findings *findings);

/* A run of steps in which a value differs from its earlier level. */
struct change {
    size_t begin, end;    /* the run ends before the step `end` */
    double before, after; /* medians before and in the run */
};

/*
 * Finds the last run of at least `run` steps that all differ from the median of the steps before it, to the same side,
 * by more than five times their spread (the median absolute deviation, scaled as a standard deviation), and by at least
 * each of these: 1.25 times the distance that 95 % of the earlier steps have, a quarter of the median, and `floor`. At
 * least `history` steps must come before the run. Steps that are NAN are skipped: they neither end a run nor count.
 * `room` is scratch space for 2 * n numbers. A pure function. Returns false if there is no such run.
 */
bool change_find(const double *values, size_t n, size_t run, size_t history, double floor, double *room,
                 struct change *ret);

#endif
