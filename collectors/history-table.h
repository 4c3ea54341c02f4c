/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of reading a history: the recorded rows, each with a cell for every step of a time range.
 *
 * A cell contains growth, which can be summed over steps and over rows of the same total. Derived metrics are ratios of
 * these sums. Apart from allocating memory, all functions are pure.
 */
#ifndef COLLECTORS_HISTORY_TABLE_H
#define COLLECTORS_HISTORY_TABLE_H

#include "collectors/rates.h"

/* A row as it was when recorded. Its strings are valid as long as the table that contains the row. */
struct history_row {
    const char *collector, *group, *pmu;
    const char *cgroup; /* NULL if the target is not a cgroup */
    int cpu;            /* -1 if the target is not a single CPU */
    bool others;        /* the row is the sum of the cgroups that a frame had no room for */
    bool uneven;        /* some events are not counted on all CPUs, as in struct row */
    size_t n_events;
    struct history_event {
        const char *event, *pmu, *unit;
        uint8_t decimals; /* number of decimals, as in struct series */
    } * events;
};

enum history_state {
    HISTORY_ABSENT,      /* no frame of the step contains the row */
    HISTORY_COUNTING,    /* the group ran whenever it was enabled */
    HISTORY_MULTIPLEXED, /* the group ran for a part of its enabled time, so the growth is an estimate */
    HISTORY_UNKNOWN,     /* the growth is unknown in some frame: the group was starved, paused or failed */
};

struct history_cell {
    enum history_state state;
    uint64_t enabled_ns, running_ns; /* 0 if the row's growth is not known */
    bool has_busy;                   /* the busy time of the row's CPU is known */
    uint64_t busy_ns, limited_ns;    /* the CPU's busy time and limited time, as in struct growth */
};

struct history_line {
    struct history_row row;
    struct history_cell *cells;  /* one cell for each step */
    struct growth_event *values; /* n_events values for each step */
};

struct history_step {
    uint64_t end_ns;     /* CLOCK_REALTIME */
    uint64_t covered_ns; /* time that the frames of the step cover; 0 for a gap */
    uint64_t left_out;   /* maximum number of rows that a frame of the step had no room for */
    uint64_t limited_by; /* mask of enum clock_cause: what limited clock rates in the step */
};

struct history_table {
    struct history_step *steps;
    size_t n_steps;
    struct history_line *lines; /* lines in the order in which their rows first occur */
    size_t n_lines;
    void *texts; /* owns all strings of the table */
};

void history_table_done(struct history_table *table);

/* Returns whether the growth of the cell is known: the row was counted in all frames of the step that contain it. */
static inline bool history_is_known(const struct history_cell *cell)
{
    return cell->state == HISTORY_COUNTING || cell->state == HISTORY_MULTIPLEXED;
}

/*
 * Adds the growth of a row in a step to a sum over steps or rows. A sum must start in the state HISTORY_ABSENT. An
 * absent cell adds nothing; an unknown cell makes the sum unknown.
 */
void history_add(const struct history_row *row, struct history_cell *sum, struct growth_event *sums,
                 const struct history_cell *more, const struct growth_event *values);
/*
 * Adds the growth of an event to a sum. If the growth is unknown, the sum becomes unknown. A sum must start as {.known
 * = true}.
 */
void growth_event_add(struct growth_event *sum, const struct growth_event *more, uint8_t decimals);

/*
 * Sums the steps from `begin` (inclusive) to `end` (exclusive) in which the growth of the row is known. *ret_covered_ns
 * is the total time of these steps. Returns -ENODATA if there is no such step.
 */
int history_line_sum(const struct history_line *line, const struct history_step *steps, size_t begin, size_t end,
                     struct history_cell *sum, struct growth_event *sums, uint64_t *ret_covered_ns);

/*
 * Adds up the lines of all CPUs of a PMU, or of all PMUs of a cgroup, in place. Lines that were added to another one
 * are left without events. Returns -ENOMEM on failure.
 */
int history_table_add_up(struct history_table *table, enum totals_order order);

/* Returns the number of issue slots per cycle of a CPU of this PMU, or 0 if unknown. */
unsigned history_slots(const struct snapshot *snapshot, const char *pmu);
/*
 * Returns the derived metrics of a row's events. The PMU's issue slots are looked up in `snapshot`. Returns NULL if
 * memory runs out.
 */
struct metric_set *history_metric_set(const struct history_row *row, const struct snapshot *snapshot);
/* Returns the value of a metric, computed from sums over `seconds`, or NAN if the metric has no value. */
double history_metric(const struct history_row *row, const struct metric_set *metric_set, size_t metric,
                      const struct history_cell *cell, const struct growth_event *values, double seconds);

#endif
