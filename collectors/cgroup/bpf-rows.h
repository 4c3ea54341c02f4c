/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a configured group that a tally counts, before any cgroup has them: which there are, and which of them
 * each perf group fills. A perf group stays in its row, as long as the group is configured.
 *
 * The rows that each cgroup has while a tally counts it, and which of them each perf group on a CPU fills: found once
 * for all cgroups. They are the rows that the same perf groups would have if they were opened on the cgroup.
 */
#ifndef COLLECTORS_CGROUP_BPF_ROWS_H
#define COLLECTORS_CGROUP_BPF_ROWS_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/group-rows.h"

/* A perf group, and its row; TALLY_ROW_NONE where the machine does not know the events any more. */
struct placed_part {
    struct row_part part;
    uint32_t row;
};

/* All zero: of none. */
struct tally_plan {
    const char *signature, *name; /* the snapshot has the texts */
    struct group_rows rows;       /* without their `row` */
    struct row_draft *drafts;     /* by row */
    struct placed_part *placed;   /* by opened group */
    size_t n_drafts, n_placed;
};

#define TALLY_PART_NONE UINT32_MAX

/* An event of a perf group: its word, and its counter in the row. */
struct tally_field {
    uint8_t word, counter;
};

/* A perf group on a CPU. */
struct tally_part {
    const struct opened_group *opened; /* until the groups are configured again */
    uint64_t events;                   /* of the configured group */
    const struct tally_field *fields;  /* of these */
    uint32_t n_fields;
    uint32_t row, cpu;
    uint32_t next_on_cpu, next_in_row; /* TALLY_PART_NONE: the last */
    uint32_t enabled;                  /* the word of the time enabled; that of the time running is the next */
    enum group_activity activity;      /* GROUP_IDLE, or why nothing is known of it */
    int error;                         /* where it cannot be read; else 0 */
};

struct tally_row {
    const char *signature;           /* of the configured group */
    const struct group_row *planned; /* without its `row` */
    const struct row_draft *draft;
    uint32_t first_part;
    bool is_unreadable; /* on some CPU */
    bool absent;        /* see struct row */
};

/* An event that is not counted, which is a row of each cgroup. */
struct tally_unavailable {
    const char *group; /* its name */
    const struct unavailable_event *event;
};

struct tally_rows {
    struct tally_plan *plans; /* by configured group */
    size_t n_plans;
    struct tally_row *rows;
    uint32_t n_rows;
    struct tally_part *parts;
    uint32_t n_parts;
    struct tally_field *fields; /* of all parts */
    uint32_t n_fields;
    uint32_t *first_on_cpu; /* by CPU, of `parts` */
    uint32_t n_cpus;
    struct tally_unavailable *unavailable;
    uint32_t n_unavailable;
    size_t n_without_rows; /* configured groups without any row */
    uint64_t edition;      /* of the rows; never 0 */
    uint64_t changes;      /* of what cannot be read */
};

/*
 * As the groups were configured: makes *rows, or goes on with them. Rows that were there stay. Counts of cgroups are of
 * use again after tallied_counts_resume(). -ENOMEM, and then there are no rows.
 */
int tally_rows_resume(struct tally_rows **rows, const struct collector_context *context,
                      const struct tally_groups *groups);
struct tally_rows *tally_rows_free(struct tally_rows *rows);

/* After all CPUs were read, and before tallied_counts_update(): which perf groups cannot be read, or are away. */
void tally_rows_update(struct tally_rows *rows);

static inline uint32_t tally_rows_on_cpu(const struct tally_rows *rows, unsigned cpu)
{
    return cpu < rows->n_cpus ? rows->first_on_cpu[cpu] : TALLY_PART_NONE;
}

#endif
