/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of the rows that the bpf engine creates for every cgroup. It also says which row each perf group on a CPU is
 * added to. One plan serves all cgroups.
 *
 * The perf engine would create the same rows for the same perf groups. A perf group stays in its row as long as it is
 * configured.
 */
#ifndef COLLECTORS_CGROUP_BPF_ROWS_H
#define COLLECTORS_CGROUP_BPF_ROWS_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/group-rows.h"

/* A perf group and the index of its row, or BPF_ROW_NONE if the machine no longer knows the group's events. */
struct placed_part {
    struct row_part part;
    uint32_t row;
};

/* The planned rows of one configured group. An all-zero plan is empty. */
struct bpf_plan {
    const char *signature, *name;   /* interned in the snapshot */
    struct group_rows rows;         /* the planned rows; their member `row` is NULL */
    struct row_template *templates; /* templates of the rows in rows.items, at the same index */
    struct placed_part *placed;     /* one placement for each open group */
    size_t n_templates, n_placed;
};

#define BPF_PART_NONE UINT32_MAX

/* The word that counts an event of a perf group, and the index of the event's counter in the perf group's row. */
struct bpf_field {
    uint8_t word, counter;
};

/* A perf group on a CPU. */
struct bpf_part {
    const struct open_group *open_group; /* the open group, borrowed until the groups are configured again */
    uint64_t events;                     /* mask of the configured events that the perf group counts */
    const struct bpf_field *fields;      /* one field for each event in `events` */
    uint32_t n_fields;
    uint32_t row, cpu;
    uint32_t next_on_cpu, next_in_row; /* next parts on the same CPU and in the same row, or BPF_PART_NONE */
    uint32_t enabled;                  /* word of the enabled time; the running time is the next word */
    enum group_activity activity;      /* GROUP_IDLE, or the reason why the group's activity is unknown */
    int error;                         /* -errno if the perf group cannot be read, else 0 */
};

struct planned_row {
    const char *signature;           /* signature of the configured group */
    const struct group_row *planned; /* the planned row, whose member `row` is NULL */
    const struct row_template *template;
    uint32_t first_part;
    bool is_unreadable; /* the events cannot be read on at least one CPU */
    bool absent;        /* the row's CPU is offline, as in struct row */
};

/* An event that is not counted; each cgroup has a row that shows it. */
struct bpf_unavailable {
    const char *group; /* name of the configured group */
    const struct unavailable_event *event;
};

struct bpf_rows {
    struct bpf_plan *plans; /* one plan for each configured group */
    size_t n_plans;
    struct planned_row *rows;
    uint32_t n_rows;
    struct bpf_part *parts;
    uint32_t n_parts;
    struct bpf_field *fields; /* the fields of all parts */
    uint32_t n_fields;
    uint32_t *first_on_cpu; /* for each CPU, the index of its first part in `parts` */
    uint32_t n_cpus;
    struct bpf_unavailable *unavailable;
    uint32_t n_unavailable;
    size_t n_without_rows; /* number of configured groups that have no row */
    uint64_t edition;      /* changes whenever the rows change; never 0 */
    uint64_t changes;      /* changes whenever a part becomes readable or unreadable */
};

/*
 * Plans the rows for the configured groups. Allocates *rows if it is NULL, else keeps existing rows. After the call,
 * bpf_counts_resume() must be called for each cgroup. After -ENOMEM no rows are planned.
 */
int bpf_rows_resume(struct bpf_rows **rows, const struct collector_env *env, const struct bpf_groups *groups);
struct bpf_rows *bpf_rows_free(struct bpf_rows *rows);

/*
 * Records which perf groups cannot be read or are on an offline CPU. Must be called after all CPUs were read and before
 * bpf_counts_update().
 */
void bpf_rows_update(struct bpf_rows *rows);

static inline uint32_t bpf_rows_on_cpu(const struct bpf_rows *rows, unsigned cpu)
{
    return cpu < rows->n_cpus ? rows->first_on_cpu[cpu] : BPF_PART_NONE;
}

#endif
