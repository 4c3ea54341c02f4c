/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a cgroup that is counted by a tally: its totals over all CPUs, and what a perf group adds to them. */
#ifndef COLLECTORS_CGROUP_TALLIED_ROW_H
#define COLLECTORS_CGROUP_TALLIED_ROW_H

#include "collectors/cgroup/bpf-rows.h"

struct tallied_total {
    struct fixed scaled;
    uint64_t raw;
};

struct tallied_row {
    struct group_row own; /* `row` NULL: it could not be made */
    const char *signature;
    struct tallied_total *totals; /* by counter */
    struct scale_times times;
    uint64_t ran;        /* events that ran at least once, on any CPU */
    uint32_t activities; /* as in struct row_sum, since the row was shown last */
};

/* Whether it is the row that `wanted` describes, maybe with other events. */
bool tallied_row_matches(const struct tallied_row *row, const struct tally_row *wanted);
/* Makes it; `whose` as for row_draft_make(). -ENOMEM; tallied_row_done() in any case. */
int tallied_row_init(struct tallied_row *row, const struct collector_context *context, const struct tally_row *wanted,
                     const struct row_target *whose);
/* Removes it; all zero then. */
void tallied_row_done(struct tallied_row *row, struct snapshot *snapshot);
/* It takes the place of `before`, which had other events: what that counted goes on. */
void tallied_row_take(struct tallied_row *row, const struct tallied_row *before);

/* A cgroup had this of a perf group on a CPU. */
struct tallied_increment {
    const struct tally_part *part;
    struct scale_times times;
    bool ran;                          /* the perf group did */
    enum group_activity activity;      /* by tallied_increment_scale() */
    uint64_t values[TALLY_EVENTS_MAX]; /* by field of the part */
    struct fixed scaled[TALLY_EVENTS_MAX];
};

/* Takes the words of the part. */
void tallied_increment_init(struct tallied_increment *increment, const struct tally_part *part, const uint64_t *delta);
/* Scales them with time enabled that waited. A value that comes without its time counts as it is. */
void tallied_increment_scale(struct tallied_increment *increment, uint64_t pending_ns);
void tallied_row_credit(struct tallied_row *row, const struct tallied_increment *increment);
/* Shows it; `known` are the events that may have run, and `sum` has the activities of CPUs where nothing ran. */
void tallied_row_show(struct tallied_row *row, uint64_t known, struct row_sum *sum);

#endif
