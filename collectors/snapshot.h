/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last reading, ready to be served: the metrics, and the rows of /api/v1/counters, one for each group and target.
 *
 * Collectors write the snapshot and the HTTP side reads it, both on the main thread. Rows and series live until their
 * collector removes them, and survive a reload.
 */
#ifndef COLLECTORS_SNAPSHOT_H
#define COLLECTORS_SNAPSHOT_H

#include "base/intern.h"
#include "metrics/formula.h"
#include "metrics/metrics.h"
#include "perf/busy.h"
#include "perf/cpuset.h"

struct names;

enum row_state { ROW_COUNTING, ROW_MULTIPLEXED, ROW_STARVED, ROW_UNAVAILABLE };
#define N_ROW_STATES 4

/* Returns "counting", "multiplexed", "starved" or "unavailable". */
const char *row_state_name(enum row_state state);
/* The state that JSON shows for every row of a collector that fails. */
#define STATE_FAILED "failed"

/* One event of a row. The strings are interned in the snapshot. */
struct counter {
    const char *event;     /* metric name without prefix and unit: "cycles_user" */
    const char *pmu;       /* PMU of this event: "software" in a mixed group */
    const char *unit;      /* "" for plain counts, "seconds", ... */
    uint64_t value;        /* scaled total, encoded as series.value */
    double scale;          /* factor from the kernel's count to the unit */
    uint8_t decimals;      /* as in struct series */
    bool known;            /* false: the counter never ran, and `value` is meaningless */
    uint64_t raw;          /* unscaled sum of the kernel's counts since the first open */
    struct series *series; /* NULL if the event could not be opened */
};

/* A group on a target. In state ROW_UNAVAILABLE: an event that could not be opened on the target. */
struct row {
    uint64_t id;        /* never reused */
    unsigned collector; /* bit number */
    int cpu;            /* -1 if the target is not a single CPU */
    const char *collector_name;
    const char *group;
    const char *pmu;           /* hardware PMU of the group, else the PMU of its first event */
    const char *cgroup;        /* NULL if the target is not a cgroup */
    const struct names *names; /* names of what runs in the cgroup (`cgroups/names.h`), or NULL */
    enum row_state state;
    bool absent;  /* its CPU is offline, or its PMU is now read on another CPU; not served */
    bool uneven;  /* some of its events are not counted on all of its CPUs, so ratios of two events are meaningless */
    bool removed; /* freed once removals are no longer held */
    uint32_t n_descriptors; /* open descriptors of this row */
    char *error;            /* ROW_UNAVAILABLE: the failure sentence */
    const char *cause;      /* why the row, or its part on some CPUs, is starved; static string or NULL */
    uint64_t enabled_ns, running_ns;
    struct series *enabled, *running;    /* NULL for ROW_UNAVAILABLE */
    const struct metric_set *metric_set; /* NULL for ROW_UNAVAILABLE */
    size_t n_counters;
    struct counter *counters;
};

/* The name of the collector that counts one command (collectors/task-counts.h). */
#define TASK_COLLECTOR "command"

struct config;
struct machine;

/* The kinds of names that a query may ask for. The names are interned in the snapshot. */
enum known_kind { KNOWN_EVENTS, KNOWN_GROUPS, KNOWN_PMUS };
#define N_KNOWN 3

struct known {
    const char **names;
    size_t n;
};

/* The causes that limit clock rates, as bits. */
enum clock_cause {
    CLOCK_LIMIT_SET = 1 << 0, /* the frequency limit is below what the CPU can do */
    CLOCK_COOLING = 1 << 1,
    CLOCK_UNDER_VOLTAGE = 1 << 2,
};

struct clock_limit {
    bool known;
    uint64_t limit_hz, max_hz; /* current limit of the CPU's clock rate, and its maximum; 0: unknown */
    uint64_t lost_ns;          /* time multiplied by the fraction of max_hz that the limit took away */
};

struct clock_limits {
    struct clock_limit *cpus; /* indexed by the number of the CPU */
    size_t n;
    unsigned causes; /* bits of enum clock_cause at the last reading */
};

/* Returns NULL if the limit of this CPU is unknown. */
static inline const struct clock_limit *clock_limit_find(const struct clock_limits *limits, int cpu)
{
    return cpu >= 0 && (size_t)cpu < limits->n && limits->cpus[cpu].known ? &limits->cpus[cpu] : NULL;
}

struct snapshot {
    struct metrics metrics;
    struct row **rows; /* in order of creation */
    size_t n_rows;
    size_t n_removed; /* number of removed rows that are still in `rows` */
    struct intern texts;
    struct metric_set **metric_sets; /* one for all rows with the same events; its strings are in `texts` */
    size_t n_metric_sets;
    uint64_t generation;                /* changes with every reading and every change of rows or series */
    uint64_t realtime_ns;               /* when the reading began, by CLOCK_REALTIME */
    uint64_t monotonic_ns;              /* and by CLOCK_MONOTONIC */
    const char *const *collector_names; /* indexed by bit number; NULL-terminated */
    uint64_t next_row_id;
    struct known known[N_KNOWN]; /* names from the configuration and the machine; see snapshot_set_known() */
    struct cpuset possible;      /* CPUs of the machine; empty: unknown */
    bool needs_busy;             /* the history or a metric of the collector `cpu` needs the busy time of CPUs */
    struct busy_times busy;      /* busy times when `cpu` was last read; empty if no metric needs them */
    struct series **busy_series; /* one for each item of `busy` */
    size_t n_busy_series;
    struct clock_limits clock_limits; /* limits when `self` was last read; `self` frees them */
    uint64_t pauses; /* number of times that all groups were disabled or enabled; odd while they are disabled */
};

void snapshot_done(struct snapshot *snapshot);

/*
 * Lists the names that a query may ask for even if no row has them now: events and groups of the configuration, PMUs
 * and CPUs of the machine. Cgroups come and go, and a client that polls for one must not get an error in between.
 * Returns -ENOMEM on failure; the lists are then unchanged.
 */
int snapshot_set_known(struct snapshot *snapshot, const struct machine *machine, const struct config *config);

/* Returns the bit number of a collector in a NULL-terminated list of names; -ENOENT if it is not in the list. */
int collector_find(const char *const *names, const char *name);

/* The counters and the target of a new row. Strings are copied. */
struct row_counter {
    const char *event, *pmu, *unit;
    uint8_t decimals;
    double scale;
    struct metric metric; /* metric.name is NULL for a counter without a series (ROW_UNAVAILABLE) */
};
struct row_target {
    unsigned collector;
    const char *group, *pmu, *cgroup, *error;
    int cpu;
    unsigned slots;            /* issue slots per cycle of a CPU of this PMU (perf/pmu.h) */
    uint64_t created_ns;       /* CLOCK_REALTIME when the totals started from 0; 0: no _created lines */
    const struct names *names; /* borrowed for the lifetime of the row */
};

/*
 * Adds a row with its series: those of its counters and, unless target->error is set, the enabled and running times of
 * the group as perf_COLLECTOR_group_..._seconds_total. The snapshot owns the row. Returns NULL if memory runs out.
 */
struct row *snapshot_add_row(struct snapshot *snapshot, const struct row_target *target,
                             const struct row_counter *counters, size_t n);
void snapshot_remove_row(struct snapshot *snapshot, struct row *row);
/* Returns the names of what runs in a cgroup; NULL if the cgroup has no row. */
const struct names *snapshot_find_names(const struct snapshot *snapshot, const char *cgroup);
/* metrics_begin_removals() and metrics_end_removals() for rows as well as series. */
void snapshot_begin_removals(struct snapshot *snapshot);
void snapshot_end_removals(struct snapshot *snapshot);

/*
 * Returns whether the last reading of the row's collector failed: its numbers are out of date and not served. Always
 * false for ROW_UNAVAILABLE, which has no numbers and its own reason.
 */
static inline bool snapshot_row_failed(const struct snapshot *snapshot, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && (snapshot->metrics.failed >> row->collector & 1);
}

#endif
