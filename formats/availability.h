/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counting place, a collector and a PMU that it counts with: the events that it counts, or could count.
 *
 * Why a derived metric has no value at a counting place: a collector, and a PMU that it counts with. The reason is that
 * of the formula which is nearest to a value there.
 *
 * The derived metrics that the rows of the snapshot have now, and why they do not have the others: of each collector
 * and PMU.
 *
 * A metric is available where one group has all of its events, and is counted.
 *
 * The derived metrics as JSON: the table of them, and which are available here. NULL when out of memory.
 */
#ifndef FORMATS_AVAILABILITY_H
#define FORMATS_AVAILABILITY_H

#include <jansson.h>

#include "base/buffer.h"
#include "collectors/failures.h"
#include "collectors/registry.h"
#include "collectors/snapshot.h"
#include "metrics/formula.h"
#include "perf/machine.h"

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

typedef void (*availability_visit)(void *userdata, const struct availability *availability);

/* Calls `visit` for each metric on each collector that it is for, and each PMU there, in this order. -ENOMEM. */
int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata);

/*
 * {"metrics": [{"name", "unit", "help", "collectors", "formulas": [{"formula", "pmu", "events", "source", "seen"}]}],
 *  "spellings": {"cycles": ["cpu_cycles"]}}: the table, of any machine.
 */
json_t *derived_json(void);

/*
 * The same, each metric with "available": [{"collector", "pmu", "groups", "formula"}] and
 * "absent": [{"collector", "pmu", "reason", "events", "message"}].
 */
json_t *availability_json(struct registry *registry, const struct machine *machine);

/*
 * In short, for the plan: {"available": [{"collector", "pmu", "reason", "metrics": [{"name", "events", "message"}]}],
 * "absent": [the same]}, where "events" are those that are the reason.
 */
json_t *availability_json_summarize(struct registry *registry, const struct machine *machine);

#endif
