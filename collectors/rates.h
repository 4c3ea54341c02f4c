/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and derived metrics between two readings of a snapshot. A baseline remembers the first reading, and rates_row()
 * compares a row with it.
 *
 * A derived metric exists only if all of its events are in one group, and so were counted at the same time.
 *
 * A total is the sum of rows, such as all CPUs of a PMU or all PMUs of a cgroup. Its derived metrics are computed from
 * the sums: each is a ratio of sums, not a mean of ratios. The PMUs of a cgroup may count different events of a group;
 * the total has the events of all of them, and a metric has a value only if its events are known in the same rows.
 * Totals are ordered in blocks: the totals of one group and PMU, or of one cgroup.
 */
#ifndef COLLECTORS_RATES_H
#define COLLECTORS_RATES_H

#include "base/intern.h"
#include "collectors/snapshot.h"
#include "perf/cpuset.h"

struct baseline;

/* Remembers the values of all rows. Returns NULL if memory runs out. */
struct baseline *baseline_new(const struct snapshot *snapshot);
struct baseline *baseline_free(struct baseline *baseline);

/* How much a counter grew between two readings, encoded like the counter's value (struct counter). */
struct growth_event {
    uint64_t value;
    bool known; /* false: `value` is meaningless */
};

/* Returns the growth in the counter's unit, NAN if it is not known. `decimals` is that of the counter. */
double growth_real(const struct growth_event *growth, uint8_t decimals);

struct growth {
    bool known;     /* false: the growth of no event is known, because the group was starved or paused, or the collector
                     * failed */
    bool has_times; /* the times of the group are known */
    uint64_t enabled_ns, running_ns;
    bool has_busy; /* the busy time of the row's CPU is known */
    uint64_t busy_ns;
    uint64_t
        limited_ns; /* time multiplied by the fraction of the CPU's clock rate that a limit took away; 0 if unknown */
};

/* Returns the times for metric_set_value(), for an interval of `seconds`; NAN where they are not known. */
struct metric_set_times growth_times(const struct growth *growth, double seconds);

/*
 * Computes how much one row grew since the baseline; `events` has room for row->n_counters of them. Returns -ENODATA if
 * the row is not in the baseline, or is absent or unavailable now.
 */
int baseline_growth(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                    struct growth_event *events, struct growth *ret);
/* Returns whether the row was made after the baseline. */
bool baseline_predates(const struct baseline *baseline, const struct row *row);

struct ratio {
    const char *name; /* name of a derived metric: "ipc" */
    double value;     /* in the metric's unit */
};

struct rates {
    const struct row *row;
    /* Growth per second of each of the row->n_counters counters, in the counter's unit; NAN if unknown. */
    double *events;
    struct metric_set_times times; /* times of the group between the two readings; NAN if unknown */
    struct ratio ratios[METRIC_SET_MAX];
    size_t n_ratios;
};

/* Returns the seconds from the baseline to the last reading of the snapshot. */
double rates_seconds(const struct baseline *baseline, const struct snapshot *snapshot);
/*
 * Computes the rates of one row since the baseline. `events` has room for row->n_counters numbers and must outlive
 * `ret`. Returns -ENODATA if the row is not in the baseline, or is absent or unavailable now.
 */
int rates_row(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row, double *events,
              struct rates *ret);

/* The name of a metric of cgroups. Rows of a CPU have it, too: the share of the time that the CPU was busy. */
#define CPU_UTILIZATION "cpu_utilization"

/* Returns whether the row is of a CPU whose busy time is known. */
bool rates_has_cpu_time(const struct snapshot *snapshot, const struct row *row);
/* Returns the share of the time that the CPU of the row was busy; NAN if unknown, or if the row is not of one CPU. */
double rates_cpu_utilization(const struct rates *rates);

enum totals_order {
    TOTALS_BY_PMU,    /* sums all CPUs of a PMU; a block has the totals of a group and PMU */
    TOTALS_BY_CPU,    /* sums nothing; a block has the totals of a group and PMU */
    TOTALS_BY_CGROUP, /* sums all PMUs of a group in a cgroup; a block has the totals of a cgroup. other rows are
                       * treated as in TOTALS_BY_PMU */
};

#define TOTAL_END UINT32_MAX

struct total_event {
    const struct counter *counter; /* the event's counter in the first row that has it */
    size_t known;                  /* number of rows where the rate is known */
    uint64_t known_rows;           /* hash of these rows */
};

struct total {
    const struct row *row; /* first of the rows summed; names the target and the group. Borrowed */
    size_t n_rows;
    struct cpuset cpus; /* CPUs of the rows; empty if the rows are not of one CPU each */
    const char **pmus;  /* PMUs of the rows, each once. Borrowed strings */
    size_t n_pmus;
    struct total_event *events; /* events of all rows, those of the first row first */
    double *rates; /* for each event: sum of its rates over the rows where they are known; NAN if there are none */
    size_t n_events;
    bool uneven; /* some events of a row are counted on only some of its CPUs */
    bool mixed;  /* rows have different events or formulas */
    struct metric_set_times times;
    const struct metric_set *metric_set; /* NULL if the rows are of events that could not be opened */
    uint32_t first, next;                /* first and next total of the block; `next` is TOTAL_END at its end */
    uint32_t last;                       /* last total of the block; only valid in the block's first total */
};

struct totals {
    enum totals_order order;
    double seconds;
    struct total *items; /* in the order of their first rows */
    size_t n;
    struct hash_index blocks;
    struct metric_set **metric_sets; /* metric sets of mixed totals, shared by the totals with the same events */
    size_t n_metric_sets;
};

/*
 * Sums the rows that `passes` accepts (NULL: all). Rows of events that could not be opened are included, with no known
 * rate. Rows that are not in the baseline are left out. Returns -ENOMEM on failure; totals_done() must be called in
 * either case. The totals borrow from the snapshot and are valid until it changes.
 */
int totals_make(const struct baseline *baseline, const struct snapshot *snapshot, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret);
void totals_done(struct totals *totals);

/*
 * The same for rates that the caller has: start with {.order, .seconds}, add each row, and finish. `rates` is NULL for
 * a row of events that could not be opened; its ratios are not read. Both return -ENOMEM on failure.
 */
int totals_add(struct totals *totals, const struct row *row, const struct rates *rates);
int totals_finish(struct totals *totals);

/* Returns the growth of an event between the two readings, in the event's unit; NAN if it is known in no row. */
double total_growth(const struct totals *totals, const struct total *total, size_t event);
/*
 * Returns the value of a metric of total->metric_set; NAN if it has no value, or if its events are not known in the
 * same rows.
 */
double total_metric(const struct total *total, size_t metric);
/* Returns the fraction of the enabled time in which the group was on its PMU, 0 to 1; NAN if unknown. */
double total_share(const struct total *total);

#endif
