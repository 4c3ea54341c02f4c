/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a derived metric has no value at a counting place: a collector, and a PMU that it counts with. The reason is that
 * of the formula which is nearest to a value there.
 */
#ifndef FORMATS_ABSENCE_H
#define FORMATS_ABSENCE_H

#include "base/buffer.h"
#include "formats/absence-place.h"
#include "metrics/formula.h"

enum absence {
    ABSENCE_NONE,        /* it has a value */
    ABSENCE_DISABLED,    /* the collector is disabled */
    ABSENCE_FAILED,      /* the collector fails */
    ABSENCE_NO_CGROUP,   /* no cgroup is counted */
    ABSENCE_NO_PMU,      /* the machine has no PMU that the metric is defined for */
    ABSENCE_NO_EVENT,    /* the PMU does not list an event */
    ABSENCE_UNAVAILABLE, /* an event could not be opened */
    ABSENCE_NOT_COUNTED, /* no group has an event */
    ABSENCE_APART,       /* the events are in different groups */
    ABSENCE_SPLIT,       /* they are, since their group did not fit the PMU */
    ABSENCE_UNEVEN,      /* the group has not all of them on each of its CPUs */
    ABSENCE_STARVED,     /* the group is enabled and was never counted */
};

/* "available", "disabled", "no_cgroup", "no_pmu", ... */
const char *absence_name(enum absence absence);

#define AVAILABILITY_GROUPS_MAX 8

/* A derived metric at a counting place. Borrowed for the time of a visit. */
struct availability {
    const struct derived_metric *metric;
    const char *collector, *pmu;           /* `pmu` is "" where all that the collector counts is meant */
    const struct derived_formula *formula; /* that gives the value, or is nearest to one; NULL where none is */
    enum absence absence;
    const char *groups[AVAILABILITY_GROUPS_MAX]; /* that have the metric */
    size_t n_groups;
    char missing[FORMULA_NAMES_MAX][FORMULA_NAME_SIZE]; /* events that are the reason */
    size_t n_missing;
    struct buffer message; /* a sentence with the remedy; empty where there is a value */
};

/* Fills formula, absence, missing and message of a metric that no row of the place has. */
void absence_explain(const struct absence_place *place, struct availability *availability);

#endif
