/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums that a row shows, of its counters and times over CPUs, and what happened since the reading before. Counts of
 * opened groups and of a tally become the same rows by it.
 *
 * The rows of a configured group on a target, and the opened groups that are added up in each: one opened group where
 * the row is of a CPU, one or more for each CPU where it is of a cgroup.
 *
 * Each opened group is scaled by its own ratio before it is added, with its digits behind the point. So a row never
 * falls: not when a CPU leaves (its group stays in the row), and not while some groups are starved.
 */
#ifndef COLLECTORS_GROUP_ROWS_H
#define COLLECTORS_GROUP_ROWS_H

#include "collectors/snapshot.h"
#include "collectors/targets.h"
#include "perf/open-group.h"

struct counter_sum {
    struct fixed total;
    uint64_t raw;
    bool known; /* false: it never ran */
};

struct row_sum {
    uint32_t activities; /* since the reading before: a bit for each enum group_activity that was on some CPU */
    int error;           /* of a CPU that cannot be read */
    struct scale_times times;
    struct counter_sum counters[GROUP_MEMBERS_MAX]; /* as many as the row has */
};

/* All 0, for a row of `n` counters. */
void row_sum_init(struct row_sum *sum, size_t n);
/* Adds what happened on a CPU; `error` where it cannot be read, else 0. */
static inline void row_sum_note(struct row_sum *sum, enum group_activity activity, int error)
{
    sum->activities |= 1U << activity;
    sum->error = error ? error : sum->error;
}
/* Puts the sums into the row and its series. */
void row_sum_show(const struct row_sum *sum, struct row *row);

/* Its series are not served until it is shown again. */
void row_hide(struct row *row);
/* The row of a CPU that is away is served nowhere. */
static inline void row_set_absent(struct row *row, bool absent)
{
    row->absent = absent;
    if (absent)
        row_hide(row);
}

/* Its ordinal, CPU and PMU distinguish a row from the others of the configured group. */
struct group_row {
    struct row *row;     /* NULL where the rows are only planned (collectors/cgroup/bpf-rows.h) */
    const char *pmu;     /* of the row; the snapshot has the text */
    uint64_t events;     /* of the configured group: those that have a counter in the row, in this order */
    uint64_t created_ns; /* see struct row_target */
    uint32_t first;      /* of its opened groups; each has the next. GROUP_ROW_END where there is none */
    int16_t cpu;         /* -1: of all CPUs */
    uint8_t ordinal;     /* 1 for the group itself, 2 for "cache-2", ... */
    bool uneven;         /* see struct row */
};

#define GROUP_ROW_END UINT32_MAX

struct group_rows {
    struct group_row *items;
    uint32_t n;
    bool summed;      /* a row is of all CPUs of a PMU; else each is of one CPU */
    bool spans_kinds; /* summed, and the rows are of several kinds of CPU */
    bool quiet;       /* they are up to date, and nothing has happened since */
};

/* No rows yet. */
void group_rows_init(struct group_rows *rows, const struct machine *machine, const struct config_group *group,
                     bool summed);
/* Removes the rows. */
void group_rows_done(struct group_rows *rows, struct snapshot *snapshot);

/*
 * Adds `groups[last]`, which was opened at `place`, to its row; makes the row where there is none. `events` are those
 * of the place. -ENOMEM.
 */
int group_rows_add(struct group_rows *rows, const struct collector_context *context, const struct place_events *events,
                   const struct place *place, struct opened_group *groups, uint32_t last);

/* A perf group, for the choice of its row. */
struct row_part {
    int cpu;
    unsigned ordinal; /* among the perf groups that the configured group became on this CPU; from 1 */
    uint64_t events;
};

/*
 * The row of a perf group. A new one, without a `row` and events, is the last, and its PMU's name is that of the
 * machine. `events` as above. -ENOMEM.
 */
int group_rows_place(struct group_rows *rows, const struct collector_context *context,
                     const struct place_events *events, const struct row_part *part, struct group_row **ret);

/* A row before it is made, any number of times. */
struct row_draft {
    char *name; /* of the group, with its ordinal */
    struct row_counter *counters;
    size_t n;
    unsigned slots;
};

/*
 * With counters of the events in `mask`, for which `counters` is the room, and whose attrs `events` has. The texts are
 * those of the machine and the configuration. -ENOMEM.
 */
int row_draft_init(struct row_draft *draft, struct row_counter *counters, const struct collector_context *context,
                   const struct group_rows *rows, const struct group_row *row, const struct place_events *events,
                   uint64_t mask);
/* The room is the caller's. */
void row_draft_done(struct row_draft *draft);
/* `whose` says the cgroup, its names and created_ns. NULL when out of memory. */
struct row *row_draft_make(const struct row_draft *draft, const struct collector_context *context,
                           const struct group_row *row, const struct row_target *whose);

/* For group_rows_update(). */
void group_row_update(const struct group_row *group_row, const struct opened_group *groups);

/* Puts the last reading into the rows; `quiet` where nothing has happened since the reading before. */
static inline void group_rows_update(struct group_rows *rows, const struct opened_group *groups, bool quiet)
{
    /* Of many cgroups, most sleep most of the time. */
    if (!quiet || !rows->quiet)
        for (size_t i = 0; i < rows->n; i++)
            group_row_update(&rows->items[i], groups);
    rows->quiet = quiet;
}
/* After groups were closed or opened: the descriptors of each row; a row of a CPU that is away is served nowhere. */
void group_rows_settle(struct group_rows *rows, const struct opened_group *groups);

/* Whether a row of `cpu` (-1: of all) has a counter of this event of the configured group, on the PMU of that name. */
bool group_rows_have(const struct group_rows *rows, size_t event, int cpu, const char *pmu);
/* Adds the rows that are served to the number in each state. */
void group_rows_count(const struct group_rows *rows, size_t counts[N_ROW_STATES]);

#endif
