/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/snapshot.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "perf/machine.h"

static const char *const state_names[N_ROW_STATES] = {
    [ROW_COUNTING] = "counting",
    [ROW_MULTIPLEXED] = "multiplexed",
    [ROW_STARVED] = "starved",
    [ROW_UNAVAILABLE] = "unavailable",
};

const char *row_state_name(enum row_state state)
{
    return state_names[state];
}

int collector_find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (str_equal(names[i], name))
            return i;
    return -ENOENT;
}

static struct row *row_free(struct row *row)
{
    if (!row)
        return NULL;
    free(row->error);
    free(row);
    return NULL;
}
DEFINE_CLEANUP(struct row *, row_free);

static int row_copy_text(char **ret, const char *text)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? -ENOMEM : 0;
}

static int row_copy_target(struct row *row, struct snapshot *snapshot, const struct row_target *target)
{
    row->collector = target->collector;
    row->cpu = target->cpu;
    row->names = target->names;
    row->state = target->error ? ROW_UNAVAILABLE : ROW_COUNTING;
    row->collector_name = intern_text(&snapshot->texts, snapshot->collector_names[target->collector]);
    row->group = intern_text(&snapshot->texts, target->group);
    row->pmu = intern_text(&snapshot->texts, target->pmu);
    if (!row->collector_name || !row->group || !row->pmu || row_copy_text(&row->error, target->error) < 0)
        return -ENOMEM;
    return 0;
}

static int counter_init(struct counter *counter, struct snapshot *snapshot, const struct row_counter *from)
{
    counter->decimals = from->decimals;
    counter->scale = from->scale;
    counter->event = intern_text(&snapshot->texts, from->event);
    counter->pmu = intern_text(&snapshot->texts, from->pmu);
    counter->unit = intern_text(&snapshot->texts, from->unit);
    return counter->event && counter->pmu && counter->unit ? 0 : -ENOMEM;
}

static enum derived_target row_derived_target(const struct row *row)
{
    /* A command (collectors/task-counts.h) is a set of tasks, like a cgroup. */
    if (row->cgroup || str_equal(row->collector_name, TASK_COLLECTOR))
        return DERIVED_CGROUP;
    return str_equal(row->collector_name, "pmu") ? DERIVED_PMU : DERIVED_CPU;
}

/*
 * Returns the metric set for these events, which all rows of the same group and PMU share, or NULL if memory runs out.
 */
static const struct metric_set *snapshot_find_metric_set(struct snapshot *snapshot,
                                                         const struct metric_set_events *events)
{
    for (size_t i = 0; i < snapshot->n_metric_sets; i++)
        if (metric_set_is_of(snapshot->metric_sets[i], events))
            return snapshot->metric_sets[i];
    if (array_grow(&snapshot->metric_sets, snapshot->n_metric_sets) < 0)
        return NULL;
    struct metric_set *metric_set = metric_set_new(events);
    if (metric_set)
        snapshot->metric_sets[snapshot->n_metric_sets++] = metric_set;
    return metric_set;
}

static int row_derive(struct row *row, struct snapshot *snapshot, unsigned slots)
{
    _cleanup_(freep) const char **names = calloc(row->n_counters + 1, sizeof(*names));
    struct metric_set_events events = {
        .target = row_derived_target(row), .pmu = row->pmu, .slots = slots, .events = names, .n = row->n_counters};

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < row->n_counters; i++)
        names[i] = row->counters[i].event;
    row->metric_set = snapshot_find_metric_set(snapshot, &events);
    return row->metric_set ? 0 : -ENOMEM;
}

/* A row, its counters and its path share one allocation, because they are read together. */
static struct row *row_new(struct snapshot *snapshot, const struct row_target *target,
                           const struct row_counter *counters, size_t n)
{
    size_t cgroup_size = target->cgroup ? strlen(target->cgroup) + 1 : 0;
    _cleanup_(row_freep) struct row *row = calloc(1, sizeof(*row) + n * sizeof(row->counters[0]) + cgroup_size);

    if (!row || row_copy_target(row, snapshot, target) < 0)
        return NULL;
    row->counters = (struct counter *)(row + 1);
    if (target->cgroup)
        row->cgroup = memcpy(row->counters + n, target->cgroup, cgroup_size);
    row->n_counters = n;
    for (size_t i = 0; i < n; i++)
        if (counter_init(&row->counters[i], snapshot, &counters[i]) < 0)
            return NULL;
    if (!row->error && row_derive(row, snapshot, target->slots) < 0)
        return NULL;
    return steal(row);
}

/* Adds a series with the labels of the row's target. `pmu` may differ from the row's PMU. */
static struct series *row_add_series(struct snapshot *snapshot, const struct row *row, const struct metric *metric,
                                     const char *pmu, unsigned decimals, uint64_t created_ns)
{
    struct label labels[4];
    char cpu[16];
    size_t n = 0;

    if (row->cgroup)
        labels[n++] = (struct label){"cgroup", row->cgroup};
    if (row->cpu >= 0) {
        snprintf(cpu, sizeof(cpu), "%d", row->cpu);
        labels[n++] = (struct label){"cpu", cpu};
    }
    labels[n++] = (struct label){"pmu", pmu};
    labels[n++] = (struct label){"group", row->group};
    return metrics_add_created(&snapshot->metrics, metric, row->collector, decimals, labels, n, created_ns);
}

static struct series *row_add_time_series(struct snapshot *snapshot, const struct row *row, const char *time,
                                          const char *help, uint64_t created_ns)
{
    char name[128];
    struct metric metric = {.name = name, .help = help, .unit = "seconds", .type = METRIC_COUNTER};

    snprintf(name, sizeof(name), "perf_%s_group_%s_seconds_total", row->collector_name, time);
    return row_add_series(snapshot, row, &metric, row->pmu, 9, created_ns);
}

static int row_add_all_series(struct snapshot *snapshot, struct row *row, const struct row_counter *counters,
                              uint64_t created_ns)
{
    for (size_t i = 0; i < row->n_counters; i++) {
        if (!counters[i].metric.name)
            continue;
        row->counters[i].series =
            row_add_series(snapshot, row, &counters[i].metric, counters[i].pmu, counters[i].decimals, created_ns);
        if (!row->counters[i].series)
            return -ENOMEM;
    }
    if (row->error)
        return 0;
    row->enabled =
        row_add_time_series(snapshot, row, "enabled", "Time for which the counter group was enabled.", created_ns);
    row->running = row_add_time_series(snapshot, row, "running",
                                       "Time for which the counter group was counting on its PMU.", created_ns);
    return row->enabled && row->running ? 0 : -ENOMEM;
}

static void row_remove_all_series(struct snapshot *snapshot, struct row *row)
{
    for (size_t i = 0; i < row->n_counters; i++)
        metrics_remove(&snapshot->metrics, row->counters[i].series);
    metrics_remove(&snapshot->metrics, row->enabled);
    metrics_remove(&snapshot->metrics, row->running);
}

struct row *snapshot_add_row(struct snapshot *snapshot, const struct row_target *target,
                             const struct row_counter *counters, size_t n)
{
    _cleanup_(row_freep) struct row *row = row_new(snapshot, target, counters, n);

    if (!row || array_grow(&snapshot->rows, snapshot->n_rows) < 0)
        return NULL;
    if (row_add_all_series(snapshot, row, counters, target->created_ns) < 0) {
        row_remove_all_series(snapshot, row);
        return NULL;
    }
    row->id = snapshot->next_row_id++;
    snapshot->generation++;
    return snapshot->rows[snapshot->n_rows++] = steal(row);
}

static void snapshot_settle(struct snapshot *snapshot)
{
    size_t n = 0;

    if (snapshot->n_removed == 0)
        return;
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->removed)
            row_free(snapshot->rows[i]);
        else
            snapshot->rows[n++] = snapshot->rows[i];
    snapshot->n_rows = n;
    snapshot->n_removed = 0;
    snapshot->generation++;
}

const struct names *snapshot_find_names(const struct snapshot *snapshot, const char *cgroup)
{
    for (size_t i = 0; cgroup && i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->cgroup && str_equal(snapshot->rows[i]->cgroup, cgroup))
            return snapshot->rows[i]->names;
    return NULL;
}

void snapshot_remove_row(struct snapshot *snapshot, struct row *row)
{
    snapshot_begin_removals(snapshot);
    row_remove_all_series(snapshot, row);
    row->removed = true;
    snapshot->n_removed++;
    snapshot_end_removals(snapshot);
}

void snapshot_begin_removals(struct snapshot *snapshot)
{
    metrics_begin_removals(&snapshot->metrics);
}

void snapshot_end_removals(struct snapshot *snapshot)
{
    metrics_end_removals(&snapshot->metrics);
    if (!snapshot->metrics.held)
        snapshot_settle(snapshot);
}

/* --- known names --- */

static void known_lists_done(struct known *lists)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        free(lists[i].names);
}

static int known_add(struct known *list, struct intern *texts, const char *name)
{
    const char *copy = intern_text(texts, name);

    if (!copy || array_grow(&list->names, list->n) < 0)
        return -ENOMEM;
    list->names[list->n++] = copy;
    return 0;
}

static int known_add_configured(struct known *lists, struct intern *texts, const struct config_groups *groups)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < groups->n; i++) {
        r = known_add(&lists[KNOWN_GROUPS], texts, groups->items[i].name);
        for (size_t k = 0; r == 0 && k < groups->items[i].n_events; k++)
            r = known_add(&lists[KNOWN_EVENTS], texts, groups->items[i].events[k].event.metric);
    }
    return r;
}

int snapshot_set_known(struct snapshot *snapshot, const struct machine *machine, const struct config *config)
{
    _cleanup_(cpuset_done) struct cpuset possible = {0};
    struct known lists[N_KNOWN] = {0};
    int r = cpuset_copy(&machine->possible, &possible);

    if (r == 0 && config->cpu.enabled)
        r = known_add_configured(lists, &snapshot->texts, &config->cpu.groups);
    if (r == 0 && config->pmu.enabled)
        r = known_add_configured(lists, &snapshot->texts, &config->pmu.groups);
    if (r == 0 && config->cgroup.enabled)
        r = known_add_configured(lists, &snapshot->texts, &config->cgroup.groups);
    for (size_t i = 0; r == 0 && i < machine->n_pmus; i++)
        r = known_add(&lists[KNOWN_PMUS], &snapshot->texts, machine->pmus[i]->name);
    if (r < 0) {
        known_lists_done(lists);
        return r;
    }
    known_lists_done(snapshot->known);
    memcpy(snapshot->known, lists, sizeof(lists));
    cpuset_done(&snapshot->possible);
    snapshot->possible = possible;
    possible = (struct cpuset){0};
    return 0;
}

void snapshot_done(struct snapshot *snapshot)
{
    known_lists_done(snapshot->known);
    cpuset_done(&snapshot->possible);
    for (size_t i = 0; i < snapshot->n_rows; i++)
        row_free(snapshot->rows[i]);
    free(snapshot->rows);
    metrics_done(&snapshot->metrics);
    for (size_t i = 0; i < snapshot->n_metric_sets; i++)
        metric_set_free(snapshot->metric_sets[i]);
    free(snapshot->metric_sets);
    intern_done(&snapshot->texts);
    *snapshot = (struct snapshot){0};
}
