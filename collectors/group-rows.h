/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums perf groups into the rows that are served: one row for each PMU of a target, or for each PMU and CPU.
 *
 * A row of a CPU has one open group. A summed row, such as the row of a cgroup, has one or more open groups for each
 * CPU. The bpf engine plans its rows with the same functions, so that both engines serve the same rows.
 *
 * Each open group is scaled by its own ratio before its counts are added, and the fractional part of the scaled count
 * is kept. A total therefore never decreases, even if a CPU goes offline (its group stays in the row) or some groups
 * are starved.
 */
#ifndef COLLECTORS_GROUP_ROWS_H
#define COLLECTORS_GROUP_ROWS_H

#include "collectors/snapshot.h"
#include "collectors/targets.h"
#include "perf/open-group.h"

struct counter_sum {
    struct fixed total;
    uint64_t raw;
    bool known; /* false if the counter never ran */
};

struct row_sum {
    uint32_t activities; /* mask of enum group_activity: activities on any CPU since the last reading */
    int error;           /* -errno of a CPU that could not be read; 0 if all could be read */
    struct scale_times times;
    struct counter_sum counters[GROUP_MEMBERS_MAX]; /* one sum for each counter of the row */
};

/* Zeroes a sum for a row of `n` counters. */
void row_sum_init(struct row_sum *sum, size_t n);
/* Adds the activity of a CPU since the last reading. `error` is -errno if the CPU could not be read, else 0. */
static inline void row_sum_note(struct row_sum *sum, enum group_activity activity, int error)
{
    sum->activities |= 1U << activity;
    sum->error = error ? error : sum->error;
}
/* Writes the sums to the row and the row's series. */
void row_sum_show(const struct row_sum *sum, struct row *row);

/* Hides the series of the row until the next row_sum_show(). */
void row_hide(struct row *row);
/* A row whose CPU is offline is not served. */
static inline void row_set_absent(struct row *row, bool absent)
{
    row->absent = absent;
    if (absent)
        row_hide(row);
}

/* A row of a configured group, identified by ordinal, CPU and PMU. */
struct group_row {
    struct row *row;     /* NULL while the row is only planned (`collectors/cgroup/bpf-rows.h`) */
    const char *pmu;     /* name of the row's PMU; owned by the snapshot once the row exists */
    uint64_t events;     /* mask of the configured events that have a counter in this row, in this order */
    uint64_t created_ns; /* CLOCK_REALTIME when the totals started at 0, as in struct row_target */
    uint32_t first;      /* index of the first open group, linked by next_in_row; GROUP_ROW_END if empty */
    int16_t cpu;         /* -1 if the row is the sum of all CPUs */
    uint8_t ordinal;     /* 1 for the row "cache" of the group "cache", 2 for "cache-2", and so on */
    bool uneven;         /* some events are not counted on all CPUs, as in struct row */
};

#define GROUP_ROW_END UINT32_MAX

struct group_rows {
    struct group_row *items;
    uint32_t n;
    bool summed;      /* each row sums all CPUs of a PMU; otherwise, a row belongs to one CPU */
    bool spans_kinds; /* rows are summed, and the machine has several kinds of core whose counts differ */
    bool quiet;       /* rows are up to date, and nothing was counted at the last reading */
};

/* Initializes an empty list of rows. */
void group_rows_init(struct group_rows *rows, const struct machine *machine, const struct config_group *group,
                     bool summed);
/* Removes the rows from the snapshot. */
void group_rows_done(struct group_rows *rows, struct snapshot *snapshot);

/*
 * Adds the perf group `groups[last]`, which was opened on `target`, to its row, and creates the row if necessary.
 * `events` is the result of target_events_find() for the group's CPU. Returns -ENOMEM on failure.
 */
int group_rows_add(struct group_rows *rows, const struct collector_env *env, const struct target_events *events,
                   const struct target *target, struct open_group *groups, uint32_t last);

/* The properties of a perf group that determine its row. */
struct row_part {
    int cpu;
    unsigned ordinal; /* number of the perf group, from 1, among the group's perf groups on this CPU */
    uint64_t events;
};

/*
 * Finds or appends the row of a perf group. An appended entry has no events, its `row` is NULL, and its PMU name is
 * borrowed from the machine. `events` is as in group_rows_add(). Returns -ENOMEM on failure.
 */
int group_rows_place(struct group_rows *rows, const struct collector_env *env, const struct target_events *events,
                     const struct row_part *part, struct group_row **ret);

/* A template, with name and counters, from which any number of rows can be created. */
struct row_template {
    char *name; /* name of the group, with its ordinal */
    struct row_counter *counters;
    size_t n;
    unsigned slots;
};

/*
 * Creates the template of a row with counters for the events in `mask`, whose attrs are in `events`. `counters` is the
 * caller's array with one element for each event in `mask`. Strings are borrowed from the machine and the
 * configuration. Returns -ENOMEM on failure.
 */
int row_template_init(struct row_template *template, struct row_counter *counters, const struct collector_env *env,
                      const struct group_rows *rows, const struct group_row *row, const struct target_events *events,
                      uint64_t mask);
/* Does not free the `counters` array. */
void row_template_done(struct row_template *template);
/*
 * Creates a row from the template. Of `whose`, only the cgroup, names and created_ns are used. Returns NULL if memory
 * runs out.
 */
struct row *row_template_make(const struct row_template *template, const struct collector_env *env,
                              const struct group_row *row, const struct row_target *whose);

/* Sums the open groups of one row and writes the sums to the row. */
void group_row_update(const struct group_row *group_row, const struct open_group *groups);

/* Updates all rows with the last reading. `quiet` means that nothing was counted since the previous reading. */
static inline void group_rows_update(struct group_rows *rows, const struct open_group *groups, bool quiet)
{
    /* Most cgroups are idle most of the time, so it pays to skip idle rows. */
    if (!quiet || !rows->quiet)
        for (size_t i = 0; i < rows->n; i++)
            group_row_update(&rows->items[i], groups);
    rows->quiet = quiet;
}
/*
 * Must be called after groups were opened or closed. Updates the number of descriptors of each row, and hides rows
 * whose CPU is offline.
 */
void group_rows_settle(struct group_rows *rows, const struct open_group *groups);

/* Returns whether a row of `cpu` (-1 for a summed row) has a counter for this event on the PMU named `pmu`. */
bool group_rows_have(const struct group_rows *rows, size_t event, int cpu, const char *pmu);
/* Adds the number of served rows in each state to `counts`. */
void group_rows_count(const struct group_rows *rows, size_t counts[N_ROW_STATES]);

#endif
