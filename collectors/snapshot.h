/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot is the last reading, ready to be served: the metrics, and the rows of /api/v1/counters, one row for each
 * group and target.
 *
 * Collectors write the snapshot and the HTTP side reads it, both on the main thread. Rows and series survive a reload;
 * they exist until their collector removes them.
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
/* The state that JSON documents show for every row of a failing collector. */
#define STATE_FAILED "failed"

/* One event of a row. The strings are interned in the snapshot. */
struct counter {
    const char *event;     /* metric name without prefix and unit, such as "cycles_user" */
    const char *pmu;       /* PMU of this event, such as "software" in a mixed group */
    const char *unit;      /* the unit: "" for plain counts, "seconds", and so on */
    uint64_t value;        /* scaled total, encoded as series.value */
    double scale;          /* the kernel's count times this is a value in `unit` */
    uint8_t decimals;      /* number of decimals, as in struct series */
    bool known;            /* false if the counter never ran; `value` is then meaningless */
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
    const char *pmu;           /* hardware PMU of the group, or else the PMU of the group's first event */
    const char *cgroup;        /* NULL if the target is not a cgroup */
    const struct names *names; /* names of what runs in the cgroup (`cgroups/names.h`), or NULL */
    enum row_state state;
    bool absent;  /* not served, because the CPU is offline or the PMU is now read on another CPU */
    bool uneven;  /* some events are not counted on all CPUs of the row, so ratios of two events are meaningless */
    bool removed; /* the row will be freed by the outermost snapshot_end_removals() */
    uint32_t n_descriptors; /* number of open descriptors of this row */
    char *error;            /* in state ROW_UNAVAILABLE, the failure message */
    const char *cause;      /* why the row is starved on some or all CPUs; static string or NULL */
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

/* The kinds of names that a query may contain. The names are interned in the snapshot. */
enum known_kind { KNOWN_EVENTS, KNOWN_GROUPS, KNOWN_PMUS };
#define N_KNOWN 3

struct known {
    const char **names;
    size_t n;
};

/* Flags for the causes of clock rate limits. */
enum clock_cause {
    CLOCK_LIMIT_SET = 1 << 0, /* the frequency limit is below what the CPU can do */
    CLOCK_COOLING = 1 << 1,
    CLOCK_UNDER_VOLTAGE = 1 << 2,
};

struct clock_limit {
    bool known;
    uint64_t limit_hz, max_hz; /* current limit of the CPU's clock rate, and its maximum; 0 if unknown */
    uint64_t lost_ns;          /* time, multiplied by the fraction of max_hz that the limit took away */
};

struct clock_limits {
    struct clock_limit *cpus; /* limits, indexed by CPU number */
    size_t n;
    unsigned causes; /* mask of enum clock_cause at the last reading */
};

/* Returns NULL if the limit of this CPU is unknown. */
static inline const struct clock_limit *clock_limit_find(const struct clock_limits *limits, int cpu)
{
    return cpu >= 0 && (size_t)cpu < limits->n && limits->cpus[cpu].known ? &limits->cpus[cpu] : NULL;
}

struct snapshot {
    struct metrics metrics;
    struct row **rows; /* rows in order of creation */
    size_t n_rows;
    size_t n_removed; /* number of removed rows that are still in `rows` */
    struct intern texts;
    struct metric_set **metric_sets; /* one metric set for all rows with the same events; strings are in `texts` */
    size_t n_metric_sets;
    uint64_t generation;                /* changes with every reading, and whenever rows or series change */
    uint64_t realtime_ns;               /* when the reading began, by CLOCK_REALTIME */
    uint64_t monotonic_ns;              /* when the reading began, by CLOCK_MONOTONIC */
    const char *const *collector_names; /* names of the collectors, indexed by bit number; NULL-terminated */
    uint64_t next_row_id;
    struct known known[N_KNOWN]; /* names from the configuration and the machine; see snapshot_set_known() */
    struct cpuset possible;      /* possible CPUs of the machine; empty if unknown */
    bool needs_busy;             /* the history or a metric of the `cpu` collector needs the busy time of CPUs */
    struct busy_times busy;      /* busy times when `cpu` was last read; empty if no metric needs them */
    struct series **busy_series; /* one series for each item of `busy` */
    size_t n_busy_series;
    struct clock_limits clock_limits; /* clock limits when `self` was last read; freed by `self` */
    uint64_t pauses;                  /* how often all groups were disabled or enabled; odd while they are disabled */
};

void snapshot_done(struct snapshot *snapshot);

/*
 * Lists the names that a query may contain even if no row currently has them: the configuration's events and groups,
 * and the machine's PMUs and CPUs. Cgroups are not listed: they come and go, and a client that polls for one must not
 * get an error in between. Returns -ENOMEM on failure; the lists are then unchanged.
 */
int snapshot_set_known(struct snapshot *snapshot, const struct machine *machine, const struct config *config);

/* Returns a collector's bit number, which is its index in a NULL-terminated list of names, or -ENOENT if unknown. */
int collector_find(const char *const *names, const char *name);

/* The counters and the target of a new row. Strings are copied into the row. */
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
    uint64_t created_ns;       /* CLOCK_REALTIME when the totals started at 0; 0 for no _created lines */
    const struct names *names; /* names, borrowed for the lifetime of the row */
};

/*
 * Adds a row with its series: the series of the counters and, unless target->error is set, the enabled and running
 * times of the group as perf_COLLECTOR_group_..._seconds_total. The snapshot owns the row. Returns NULL if memory runs
 * out.
 */
struct row *snapshot_add_row(struct snapshot *snapshot, const struct row_target *target,
                             const struct row_counter *counters, size_t n);
void snapshot_remove_row(struct snapshot *snapshot, struct row *row);
/* Returns the names of what runs in a cgroup, or NULL if the cgroup has no row. */
const struct names *snapshot_find_names(const struct snapshot *snapshot, const char *cgroup);
/* Series and rows that are removed between the two calls are dropped at the end, as with metrics_begin_removals(). */
void snapshot_begin_removals(struct snapshot *snapshot);
void snapshot_end_removals(struct snapshot *snapshot);

/*
 * Returns whether the last reading of the row's collector failed. If so, the row's numbers are out of date and not
 * served. Always false in state ROW_UNAVAILABLE, in which the row has a reason of its own instead of numbers.
 */
static inline bool snapshot_row_failed(const struct snapshot *snapshot, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && (snapshot->metrics.failed >> row->collector & 1);
}

#endif
