/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a history was asked for: rows of what was recorded, each with a cell for every step of a range of time.
 *
 * A cell has growth, which adds up: over steps, over rows that are alike, and in derived metrics, which are ratios of
 * sums. Pure, except for memory.
 */
#ifndef COLLECTORS_HISTORY_TABLE_H
#define COLLECTORS_HISTORY_TABLE_H

#include "collectors/rates.h"

/* One row as it was described when it was recorded. The strings are valid as long as the table that has it. */
struct history_row {
    const char *collector, *group, *pmu;
    const char *cgroup; /* NULL if the target is not a cgroup */
    int cpu;            /* -1 if the target is not a single CPU */
    bool others;        /* the sum of cgroups that had no room */
    bool uneven;        /* as in struct row */
    size_t n_events;
    struct history_event {
        const char *event, *pmu, *unit;
        uint8_t decimals; /* as in struct series */
    } * events;
};

enum history_state {
    HISTORY_ABSENT,      /* no frame of the step has the row */
    HISTORY_COUNTING,    /* it ran whenever it was enabled */
    HISTORY_MULTIPLEXED, /* it ran during a part of that time: the growth is an estimate */
    HISTORY_UNKNOWN,     /* its growth is not known in a frame of the step: starved, paused, failed */
};

struct history_cell {
    enum history_state state;
    uint64_t enabled_ns, running_ns; /* 0 if the growth is not known */
    bool has_busy;                   /* the busy time of the row's CPU is known */
    uint64_t busy_ns, limited_ns;    /* as in struct growth */
};

struct history_line {
    struct history_row row;
    struct history_cell *cells;  /* one for each step */
    struct growth_event *values; /* n_events for each step */
};

struct history_step {
    uint64_t end_ns;     /* CLOCK_REALTIME */
    uint64_t covered_ns; /* the time of its frames; 0: a gap */
    uint64_t left_out;   /* the most rows that a frame of it had no room for */
    uint64_t limited_by; /* bits of enum clock_cause: what limited clock rates at the readings of the step */
};

struct history_table {
    struct history_step *steps;
    size_t n_steps;
    struct history_line *lines; /* in the order in which the range has them */
    size_t n_lines;
    void *texts; /* owns the strings */
};

void history_table_done(struct history_table *table);

/* Whether the growth of the cell is known: it was counted in all frames of the step that have the row. */
static inline bool history_is_known(const struct history_cell *cell)
{
    return cell->state == HISTORY_COUNTING || cell->state == HISTORY_MULTIPLEXED;
}

/*
 * Adds what a row did in a step to a sum of steps, or of rows that are alike. A sum begins as HISTORY_ABSENT. What is
 * absent adds nothing, and what is unknown makes the sum unknown.
 */
void history_add(const struct history_row *row, struct history_cell *sum, struct growth_event *sums,
                 const struct history_cell *more, const struct growth_event *values);
/* Adds an event to a sum, which is not known any more if what is added is not. A sum begins as {.known = true}. */
void growth_event_add(struct growth_event *sum, const struct growth_event *more, uint8_t decimals);

/*
 * Sums the steps from `begin` to before `end`, without those in which the row is not known. *ret_covered_ns is the time
 * of the steps that were added. Returns -ENODATA if there is none.
 */
int history_line_sum(const struct history_line *line, const struct history_step *steps, size_t begin, size_t end,
                     struct history_cell *sum, struct growth_event *sums, uint64_t *ret_covered_ns);

/*
 * Adds up the lines of all CPUs of a PMU, or all PMUs of a cgroup, in place: a line that was added to another one has
 * no events any more. Returns -ENOMEM on failure.
 */
int history_table_add_up(struct history_table *table, enum totals_order order);

/* The number of issue slots of a CPU of this PMU; 0: unknown. */
unsigned history_slots(const struct snapshot *snapshot, const char *pmu);
/* The derived metrics of a row's events. `snapshot` has the PMUs' slots. Returns NULL when out of memory. */
struct metric_set *history_metric_set(const struct history_row *row, const struct snapshot *snapshot);
/* The value of a metric from the sums of `seconds`; NAN if it has none. */
double history_metric(const struct history_row *row, const struct metric_set *metric_set, size_t metric,
                      const struct history_cell *cell, const struct growth_event *values, double seconds);

#endif
