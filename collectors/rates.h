/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and ratios between two readings of a snapshot: a baseline remembers the first reading, and rates_row()
 * compares.
 *
 * There is a derived metric only where all of its events are in one group, and so were counted at the same time.
 *
 * Rows added up: what the CPUs of a PMU, or all PMUs of a cgroup, counted together between two readings. A derived
 * metric of a total is made of the sums, so that it is a ratio of sums.
 *
 * Totals stand in blocks: of the same group and PMU, or of the same cgroup.
 */
#ifndef COLLECTORS_RATES_H
#define COLLECTORS_RATES_H

#include "base/intern.h"
#include "collectors/snapshot.h"
#include "perf/cpuset.h"

struct baseline;

/* Remembers all rows. NULL when out of memory. */
struct baseline *baseline_new(const struct snapshot *snapshot);
struct baseline *baseline_free(struct baseline *baseline);

struct ratio {
    const char *name; /* of a derived metric: "ipc" */
    double value;     /* in its unit */
};

struct rates {
    const struct row *row;
    double *events; /* per second, in the counters' units, row->n_counters of them; NAN where the rate is not known */
    struct derivation_times times; /* of the group in the interval; NAN where they are not known */
    struct ratio ratios[DERIVATION_METRICS_MAX];
    size_t n_ratios;
};

/* Seconds from the baseline to the snapshot's reading. */
double rates_seconds(const struct baseline *baseline, const struct snapshot *snapshot);
/*
 * The rates of one row since the baseline. -ENODATA where the row was not there then, is absent or unavailable now.
 * `events` has room for row->n_counters.
 */
int rates_row(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row, double *events,
              struct rates *ret);

enum totals_order {
    TOTALS_BY_PMU,    /* all CPUs of a PMU are added up; a block is of a group and a PMU */
    TOTALS_BY_CPU,    /* nothing is added up; a block is of a group and a PMU */
    TOTALS_BY_CGROUP, /* all PMUs and CPUs of a cgroup's group are added up; a block is of a cgroup */
};

#define TOTAL_END UINT32_MAX

struct total {
    const struct row *row; /* the first of its rows: it names the target, the group and the events. Borrowed */
    size_t n_rows;
    struct cpuset cpus; /* of its rows; empty where they are not of one CPU each */
    double *rates;      /* of each event: the sum over the rows where it is known, see rates_row(); NAN where of none */
    size_t *known;      /* in how many rows it is known */
    bool uneven;        /* a row has events that are not counted on all its CPUs */
    struct derivation_times times;
    const struct derivation *derivation; /* NULL where there is none that holds for all rows */
    uint32_t first, next;                /* of its block; TOTAL_END behind the last */
    uint32_t last;                       /* of its block; only the block's first has it */
};

struct totals {
    enum totals_order order;
    double seconds;
    struct total *items; /* in the order of the rows */
    size_t n;
    struct hash_index blocks;
};

/*
 * Adds up the rows that `passes` takes (NULL: all). Rows of events that could not be opened are there as well, with
 * nothing known; rows that were not there at the baseline are not. -ENOMEM; totals_done() in either case. The totals
 * are valid until the snapshot changes.
 */
int totals_make(const struct baseline *baseline, const struct snapshot *snapshot, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret);
void totals_done(struct totals *totals);

/* The count of an event in the interval, in its unit; NAN where it is known of no row. */
double total_growth(const struct totals *totals, const struct total *total, size_t event);
/* The value of a metric of its derivation; NAN where it has none, or its events are not known of the same rows. */
double total_metric(const struct total *total, size_t metric);
/* The share of the time in which the group was counted, 0 to 1; NAN where it is not known. */
double total_share(const struct total *total);

#endif
