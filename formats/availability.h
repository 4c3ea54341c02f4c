/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether each derived metric has a value on this machine and, if not, why.
 *
 * A metric has a value if one group counts all events of one of its formulas and was scheduled on the PMU. Each pair of
 * a collector and a PMU is considered separately. If no formula of the metric can be computed for the pair, the reason
 * given is that of the formula that comes closest.
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

/* Returns the name in the JSON documents, such as "available", "disabled", "no_cgroup" or "no_pmu". */
const char *why_absent_name(enum why_absent why_absent);

#define AVAILABILITY_GROUPS_MAX 8

/* The availability of a derived metric for one collector and PMU, valid only during the visit. */
struct availability {
    const struct derived_metric *metric;
    const char *collector, *pmu;           /* `pmu` is "" if the reason for an absence applies to the whole collector */
    const struct derived_formula *formula; /* formula that is closest to having a value, or NULL if none applies */
    enum why_absent why_absent;
    const char *groups[AVAILABILITY_GROUPS_MAX]; /* the groups from which the metric is computed */
    size_t n_groups;
    char missing[FORMULA_NAMES_MAX][FORMULA_NAME_SIZE]; /* the events that cause the metric's absence */
    size_t n_missing;
    struct buffer message; /* reason and remedy as a sentence; empty for a metric with a value */
};

typedef void (*availability_visit)(void *userdata, const struct availability *availability);

/*
 * Calls `visit` for each metric, for each collector that supports it, and for each PMU of that collector, nested in
 * this order. Returns -ENOMEM on failure.
 */
int availability_each(struct registry *registry, const struct machine *machine, availability_visit visit,
                      void *userdata);

/*
 * Writes the name of a formula's event to `text` in the configuration's syntax: perf's or sysfs's name, and a modifier
 * in place of the suffix. Returns false, and writes the name unchanged, if the PMU does not list the event. `pmu` may
 * be NULL.
 */
bool availability_spell(const struct pmu *pmu, const char *name, char *text, size_t size);

/*
 * Returns the table of derived metrics, which is the same on every machine: {"metrics": [{"name", "unit", "help",
 * "collectors", "formulas": [{"formula", "pmu", "events", "source", "seen"}]}],
 *  "spellings": {"cycles": ["cpu_cycles"]}}
 */
json_t *derived_json(void);

/*
 * Returns derived_json() with the members "available": [{"collector", "pmu", "groups", "formula"}] and "absent":
 * [{"collector", "pmu", "reason", "events", "message"}] added to each metric.
 */
json_t *availability_json(struct registry *registry, const struct machine *machine);

/*
 * Returns a summary by collector, PMU and reason, for `perfcountd plan`: {"available": [{"collector", "pmu", "reason",
 * "metrics": [{"name", "events", "message"}]}], "absent": [the same]}. In the summary, "events" lists the events that
 * cause a metric's absence.
 */
json_t *availability_json_summarize(struct registry *registry, const struct machine *machine);

#endif
