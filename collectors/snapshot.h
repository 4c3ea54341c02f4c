/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last reading, ready to be served: the metrics, and beside them the counters as /api/v1/counters shows them, a row
 * for each group and target.
 *
 * Collectors write it, the HTTP side reads it; both are on the one thread. Rows and series live until their collector
 * removes them, also across a reload.
 */
#ifndef COLLECTORS_SNAPSHOT_H
#define COLLECTORS_SNAPSHOT_H

#include "base/intern.h"
#include "metrics/formula.h"
#include "metrics/metrics.h"

struct names;

enum row_state { ROW_COUNTING, ROW_MULTIPLEXED, ROW_STARVED, ROW_UNAVAILABLE };
#define N_ROW_STATES 4

/* "counting", "multiplexed", "starved", "unavailable" */
const char *row_state_name(enum row_state state);
/* The state, in JSON, of all that a collector counts while it fails. */
#define STATE_FAILED "failed"

/* One event of a row. The texts are held by the snapshot, once for all counters that have the same. */
struct counter {
    const char *event;     /* metric name without prefix and unit: "cycles_user" */
    const char *pmu;       /* of this event: "software" in a mixed group */
    const char *unit;      /* "" for plain counts, "seconds", ... */
    const char *json_head; /* rendered once: `{"collector": ..., "event": ..., `; the row's `json` stands behind it */
    const char *json_tail; /* rendered once: `"pmu": ..., "group": ..., "unit": ...` */
    uint64_t value;        /* the scaled total, as series.value has it */
    double scale;          /* the kernel's count times scale is in the unit */
    uint8_t decimals;      /* as series.decimals */
    bool known;            /* false: it never ran, and value says nothing */
    uint64_t raw;          /* the kernel's count, unscaled, since it was first opened */
    struct series *series; /* NULL where it could not be opened */
};

/* A group on a target; or, in state ROW_UNAVAILABLE, an event that could not be opened there. */
struct row {
    uint64_t id;        /* never used twice */
    unsigned collector; /* bit number */
    int cpu;            /* -1 where the target is not one CPU */
    const char *collector_name;
    const char *group;
    const char *pmu;           /* the hardware PMU of the group, else that of its first event */
    const char *cgroup;        /* NULL where the target is a CPU */
    const struct names *names; /* of what runs in the cgroup (cgroups/names.h), as they are now; NULL */
    const char *json;          /* its target, rendered once: `"cgroup": ..., "cpu": ..., ` */
    enum row_state state;
    bool absent;            /* its CPU is offline for now: served nowhere */
    bool uneven;            /* on some CPUs, some of its events are not counted: no ratio of two is of the same CPUs */
    bool removed;           /* it goes when removals are no longer held */
    uint32_t json_size;     /* of `json` */
    uint32_t n_descriptors; /* that are open for it */
    char *error;            /* of ROW_UNAVAILABLE: the failure sentence */
    char *json_error;       /* the same, rendered once: `, "error": ...`; NULL */
    const char *cause;      /* why all of it, or its part on some CPUs, is starved; static text */
    uint64_t enabled_ns, running_ns;
    struct series *enabled, *running;    /* NULL for ROW_UNAVAILABLE */
    const struct derivation *derivation; /* NULL for ROW_UNAVAILABLE */
    size_t n_counters;
    struct counter *counters;
};

struct config;
struct machine;

struct snapshot {
    struct metrics metrics;
    struct row **rows; /* in order of creation */
    size_t n_rows;
    size_t n_removed; /* rows that are removed and still in `rows` */
    size_t json_size; /* no document of the counters has more between its brackets */
    struct intern texts;
    struct derivation **derivations; /* one for all rows that count the same; made of `texts` */
    size_t n_derivations;
    uint64_t generation;  /* changes with every reading and every change of rows or series */
    uint64_t realtime_ns; /* when it was read: CLOCK_REALTIME */
    uint64_t monotonic_ns;
    const char *const *collector_names; /* by bit number; ends with NULL */
    uint64_t next_row_id;
    const struct machine *machine; /* as it was opened last; see known.h. NULL: not known */
    const struct config *config;
    uint64_t pauses; /* how often all groups were disabled or enabled again; odd while they are disabled */
};

void snapshot_done(struct snapshot *snapshot);

/* The counters and the target of a new row; all strings are copied. */
struct row_counter {
    const char *event, *pmu, *unit;
    uint8_t decimals;
    double scale;
    struct metric metric; /* metric.name NULL: no series (ROW_UNAVAILABLE) */
};
struct row_target {
    unsigned collector;
    const char *group, *pmu, *cgroup, *error;
    int cpu;
    unsigned slots;            /* of its CPU, see perf/pmu.h */
    uint64_t created_ns;       /* CLOCK_REALTIME when its totals started from 0; 0 where the series have no _created */
    const struct names *names; /* borrowed for as long as the row is there */
};

/*
 * Adds a row with its series (those of the counters and, unless target->error is set, the group's enabled and running
 * times as perf_COLLECTOR_group_..._seconds_total). Returns NULL when out of memory. The snapshot owns it.
 */
struct row *snapshot_add_row(struct snapshot *snapshot, const struct row_target *target,
                             const struct row_counter *counters, size_t n);
void snapshot_remove_row(struct snapshot *snapshot, struct row *row);
/* As metrics_hold() and metrics_release(), for rows as well. */
void snapshot_hold(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/*
 * Whether the row's collector could not be read: its numbers are old, and none of them is shown. A row of an event that
 * could not be opened has no numbers, and its own reason.
 */
static inline bool snapshot_row_failed(const struct snapshot *snapshot, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && (snapshot->metrics.failed >> row->collector & 1);
}

/* The part of the row in `json_size` of the snapshot. */
size_t row_json_size(const struct row *row);

/* No counter's numbers, their keys and its state take more. */
#define COUNTER_NUMBERS_MAX 224

#endif
