/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and derived metrics between two readings of a snapshot. A baseline stores the first reading, and rates_row()
 * compares a row with it.
 *
 * A derived metric exists only if all of its events are in one group and were therefore counted at the same time.
 *
 * A total is the sum of rows, such as all CPUs of a PMU or all PMUs of a cgroup. The derived metrics of a total are
 * computed from the sums: each metric is a ratio of sums, not a mean of ratios. The PMUs of a cgroup may count
 * different events of a group. The total has the events of all PMUs, and a metric of the total has a value only if all
 * of its events are known in the same rows. Totals form blocks, each with the totals of one group and PMU, or of one
 * cgroup.
 */
#ifndef COLLECTORS_RATES_H
#define COLLECTORS_RATES_H

#include "base/intern.h"
#include "collectors/snapshot.h"
#include "perf/cpuset.h"

struct baseline;

/* Stores the current values of all rows in a new baseline. Returns NULL if memory runs out. */
struct baseline *baseline_new(const struct snapshot *snapshot);
struct baseline *baseline_free(struct baseline *baseline);

/* The growth of a counter between two readings, encoded like the counter's value (struct counter). */
struct growth_event {
    uint64_t value;
    bool known; /* if false, `value` is meaningless */
};

/*
 * Returns the growth in the counter's unit, or NAN if the growth is unknown. `decimals` is the number of decimals of
 * the counter.
 */
double growth_real(const struct growth_event *growth, uint8_t decimals);

struct growth {
    bool known;     /* false if the growth is unknown: the group was starved or paused, or the collector failed */
    bool has_times; /* the enabled and running times of the group are known */
    uint64_t enabled_ns, running_ns;
    bool has_busy; /* the busy time of the row's CPU is known */
    uint64_t busy_ns;
    uint64_t limited_ns; /* time multiplied by the fraction of the clock rate that limits took away; 0 if unknown */
};

/* Returns the times that metric_set_value() needs for an interval of `seconds`. Unknown times are NAN. */
struct metric_set_times growth_times(const struct growth *growth, double seconds);

/*
 * Computes how much one row grew since the baseline. `events` has room for row->n_counters elements. Returns -ENODATA
 * if the row is not in the baseline, or is absent or unavailable now.
 */
int baseline_growth(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                    struct growth_event *events, struct growth *ret);
/* Returns whether the row was created after the baseline. */
bool baseline_predates(const struct baseline *baseline, const struct row *row);

struct ratio {
    const char *name; /* name of a derived metric, such as "ipc" */
    double value;     /* value of the metric, in the metric's unit */
};

struct rates {
    const struct row *row;
    /* Growth per second of each of the row's counters, in the counter's unit, or NAN if unknown. */
    double *events;
    struct metric_set_times times; /* the group's times between the two readings; unknown times are NAN */
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

/*
 * The name of a derived metric of cgroups. CPU rows have a metric with this name, too: the fraction of time for which
 * the CPU was busy.
 */
#define CPU_UTILIZATION "cpu_utilization"

/* Returns whether the row is that of a single CPU whose busy time is known. */
bool rates_has_cpu_time(const struct snapshot *snapshot, const struct row *row);
/*
 * Returns the fraction of time for which the row's CPU was busy, or NAN if this is unknown or the row is not that of a
 * single CPU.
 */
double rates_cpu_utilization(const struct rates *rates);

enum totals_order {
    TOTALS_BY_PMU,    /* sums over all CPUs of a PMU; a block has the totals of one group on one PMU */
    TOTALS_BY_CPU,    /* each total is a single row; a block has the totals of a group and PMU */
    TOTALS_BY_CGROUP, /* sums all PMUs of a group in a cgroup; a block has the totals of a cgroup. Rows without a cgroup
                         are summed as in TOTALS_BY_PMU */
};

#define TOTAL_END UINT32_MAX

struct total_event {
    const struct counter *counter; /* the counter in the first row that has the event */
    size_t known;                  /* number of rows where the rate is known */
    uint64_t known_rows;           /* hash of the set of rows where the rate is known */
};

struct total {
    const struct row *row; /* the first added row, which has the target and the group; borrowed */
    size_t n_rows;
    struct cpuset cpus; /* CPUs of the rows; empty if the rows are not those of single CPUs */
    const char **pmus;  /* distinct PMUs of the rows; borrowed strings */
    size_t n_pmus;
    struct total_event *events; /* events of all rows, beginning with the events of the first row */
    double *rates;              /* sum of each event's known rates over the rows; NAN if no rate is known */
    size_t n_events;
    bool uneven; /* some events of a row are counted on only some of its CPUs */
    bool mixed;  /* the rows have different events or formulas */
    struct metric_set_times times;
    const struct metric_set *metric_set; /* NULL if the rows show events that could not be opened */
    uint32_t first, next;                /* first and next total of the block; the last total has TOTAL_END as `next` */
    uint32_t last;                       /* last total of the block; only valid in the block's first total */
};

struct totals {
    enum totals_order order;
    double seconds;
    struct total *items; /* totals, in the order of their first rows */
    size_t n;
    struct hash_index blocks;
    struct metric_set **metric_sets; /* metric sets of mixed totals, shared by the totals with the same events */
    size_t n_metric_sets;
};

/*
 * Sums the rows that `passes` accepts (NULL: all). Rows of events that could not be opened are included, with unknown
 * rates. Rows that are not in the baseline are left out. Returns -ENOMEM on failure; totals_done() must be called in
 * either case. The totals borrow from the snapshot and are valid until it changes.
 */
int totals_make(const struct baseline *baseline, const struct snapshot *snapshot, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret);
void totals_done(struct totals *totals);

/*
 * totals_add() and totals_finish() create totals from rates that the caller has computed. The caller starts with a
 * struct totals in which only `order` and `seconds` are set, adds each row, and finishes the totals. `rates` is NULL
 * for a row of events that could not be opened; the ratios in `rates` are not used. totals_add() and totals_finish()
 * return -ENOMEM on failure.
 */
int totals_add(struct totals *totals, const struct row *row, const struct rates *rates);
int totals_finish(struct totals *totals);

/* Returns the growth of an event between the two readings, in the event's unit, or NAN if no row has a known growth. */
double total_growth(const struct totals *totals, const struct total *total, size_t event);
/*
 * Returns the value of a metric of total->metric_set, or NAN if it has no value or its events are not known in the same
 * rows.
 */
double total_metric(const struct total *total, size_t metric);
/* Returns the fraction of the enabled time for which the group was on its PMU, from 0 to 1, or NAN if unknown. */
double total_share(const struct total *total);

#endif
