/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums that a row shows, of its counters and times over CPUs, and what happened since the reading before. Counts of
 * opened groups and of a tally become the same rows by it.
 */
#ifndef COLLECTORS_ROW_SUM_H
#define COLLECTORS_ROW_SUM_H

#include "collectors/snapshot.h"
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

#endif
