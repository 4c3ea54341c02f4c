/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each derived metric: whether it has a value on this machine, and if not, why.
 *
 * A metric has a value if one group counts all events of one of its formulas and was scheduled on the PMU. Each pair of
 * a collector and a PMU is considered separately. If no formula can be computed there, the reason given comes from the
 * formula that comes closest to a value.
 *
 * The functions that return JSON return NULL when out of memory.
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

enum why_absent {
    ABSENT_NONE,        /* the metric has a value */
    ABSENT_DISABLED,    /* the collector is disabled */
    ABSENT_FAILED,      /* the collector fails */
    ABSENT_NO_CGROUP,   /* no cgroup is counted */
    ABSENT_NO_PMU,      /* the machine has no PMU for which the metric is defined */
    ABSENT_NO_EVENT,    /* the PMU does not list one of the events */
    ABSENT_UNAVAILABLE, /* one of the events could not be opened */
    ABSENT_NOT_COUNTED, /* no group counts one of the events */
    ABSENT_APART,       /* the events are in different groups */
    ABSENT_SPLIT,       /* the group was split because it does not fit the PMU's counters */
    ABSENT_UNEVEN,      /* some CPUs do not count all events of the group */
    ABSENT_STARVED,     /* the group is enabled but never gets onto the PMU */
};

/* The name in the JSON documents: "available", "disabled", "no_cgroup", "no_pmu", ... */
const char *why_absent_name(enum why_absent why_absent);

#define AVAILABILITY_GROUPS_MAX 8

/* A derived metric on one collector and PMU. Valid only during the visit. */
struct availability {
    const struct derived_metric *metric;
    const char *collector, *pmu;           /* `pmu` is "" if the reason applies to the whole collector */
    const struct derived_formula *formula; /* formula that computes the value, or comes closest to it; NULL: none
                                            * applies */
    enum why_absent why_absent;
    const char *groups[AVAILABILITY_GROUPS_MAX]; /* the groups from which the metric is computed */
    size_t n_groups;
    char missing[FORMULA_NAMES_MAX][FORMULA_NAME_SIZE]; /* the events that cause the absence */
    size_t n_missing;
    struct buffer message; /* a sentence with a remedy; empty if the metric has a value */
};

typedef void (*availability_visit)(void *userdata, const struct availability *availability);

/*
 * Calls `visit` for each metric, for each collector that supports it, and for each PMU of that collector, nested in
 * this order. Returns -ENOMEM on failure.
 */
int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata);

/*
 * Writes an event of a formula as a user writes it, in the spelling of perf or sysfs, with the modifier that its suffix
 * stands for. Returns false, and writes the name itself, if the PMU does not list it. `pmu` may be NULL.
 */
bool availability_spell(const struct pmu *pmu, const char *name, char *text, size_t size);

/*
 * The table of derived metrics, the same on every machine:
 * {"metrics": [{"name", "unit", "help", "collectors", "formulas": [{"formula", "pmu", "events", "source", "seen"}]}],
 *  "spellings": {"cycles": ["cpu_cycles"]}}
 */
json_t *derived_json(void);

/*
 * derived_json() with the members "available": [{"collector", "pmu", "groups", "formula"}] and "absent": [{"collector",
 * "pmu", "reason", "events", "message"}] added to each metric.
 */
json_t *availability_json(struct registry *registry, const struct machine *machine);

/*
 * A summary by collector, PMU and reason, for `perfcountd plan`: {"available": [{"collector", "pmu", "reason",
 * "metrics": [{"name", "events", "message"}]}], "absent": [the same]}. "events" lists the events that cause the
 * absence.
 */
json_t *availability_json_summarize(struct registry *registry, const struct machine *machine);

#endif
