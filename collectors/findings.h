/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands out: in the last hour of the history, and in what cannot be counted now. Each finding is a sentence with
 * numbers, its cause, and the request that shows its evidence.
 *
 * The rules are a table. A rule speaks only of what it can give a cause for, and of what lasted a minute or longer.
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

/* "clock_limited", ...: the label of perfcountd_finding and the member of JSON. */
const char *finding_rule_name(enum finding_rule rule);

struct finding {
    enum finding_rule rule;
    char *title;                 /* "CPU 4-7 run at 1.42 of 2.40 GHz" */
    char *text;                  /* the cause, in one or two sentences */
    char *evidence;              /* the path of a request: "/api/v1/history?cgroup=..." */
    uint64_t since_ns, until_ns; /* CLOCK_REALTIME; 0: unknown, or still so */
    char *cgroup, *cpus, *pmu;   /* what it is about; NULL: not about one */
    const char *metric;          /* of /api/v1/metrics; NULL: not about one. Static text */
    double before, after;        /* of the metric; NAN without one */
};

/* In the order of the rules; those of a rule with the largest first. */
struct findings {
    struct finding *items;
    size_t n;
};

struct findings_sources {
    const struct histories *histories; /* NULL: nothing is recorded */
    const struct snapshot *snapshot;
    const struct failures *failures;
    const char *const *troubles; /* sentences about parts of the daemon that do not work */
    size_t n_troubles;
};

/* Returns -ENOMEM on failure; findings_done() must be called in either case. */
int findings_make(const struct findings_sources *sources, struct findings *ret);
void findings_done(struct findings *findings);

/* A run of steps in which a value left what it was before. */
struct change {
    size_t begin, end;    /* before `end` */
    double before, after; /* medians */
};

/*
 * Finds the last run of at least `run` steps that all differ from the median of the steps before it, to the same side,
 * by more than five times their spread (the median absolute deviation, scaled as a standard deviation), by a quarter
 * more than 95 % of them do, by a quarter of the median, and by `floor`. At least `history` steps must be before it.
 * Steps that are NAN are left out; they neither end a run nor count. `room` has 2 * n numbers. Pure. Returns false if
 * there is none.
 */
bool change_find(const double *values, size_t n, size_t run, size_t history, double floor, double *room,
                 struct change *ret);

#endif
