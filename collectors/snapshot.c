/* SPDX-License-Identifier: Apache-2.0 */
/* What was read last, ready to be served: see snapshot.h. */
#include "collectors/snapshot.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/escape.h"

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

static void counter_done(struct counter *counter)
{
    free(counter->event);
    free(counter->pmu);
    free(counter->unit);
    free(counter->json);
}

static struct row *row_free(struct row *row)
{
    if (!row)
        return NULL;
    for (size_t i = 0; i < row->n_counters; i++)
        counter_done(&row->counters[i]);
    free(row->counters);
    free(row->group);
    free(row->pmu);
    free(row->cgroup);
    free(row->error);
    free(row);
    return NULL;
}
DEFINE_CLEANUP(struct row *, row_free);

static void append_json_text(struct buffer *json, const char *key, const char *value)
{
    buffer_appendf(json, "\"%s\": \"", key);
    escape_append(json, value, ESCAPE_JSON);
    buffer_append_text(json, "\", ");
}

/* Ends behind a value, so that the writer goes on with a comma. */
static char *render_json(const struct row *row, const struct counter *counter)
{
    _cleanup_(buffer_done) struct buffer json = {0};

    buffer_append_char(&json, '{');
    append_json_text(&json, "collector", row->collector_name);
    append_json_text(&json, "event", counter->event);
    if (row->cgroup)
        append_json_text(&json, "cgroup", row->cgroup);
    if (row->cpu >= 0)
        buffer_appendf(&json, "\"cpu\": %d, ", row->cpu);
    append_json_text(&json, "pmu", counter->pmu);
    append_json_text(&json, "group", row->group);
    append_json_text(&json, "unit", counter->unit);
    if (row->error)
        append_json_text(&json, "error", row->error);
    if (!json.failed)
        json.size -= strlen(", ");
    return buffer_string(&json);
}

static int copy_text(char **ret, const char *text)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? -ENOMEM : 0;
}

static int row_copy_target(struct row *row, const struct row_target *target)
{
    row->collector = target->collector;
    row->cpu = target->cpu;
    row->state = target->error ? ROW_UNAVAILABLE : ROW_COUNTING;
    if (copy_text(&row->group, target->group) < 0 || copy_text(&row->pmu, target->pmu) < 0 ||
        copy_text(&row->cgroup, target->cgroup) < 0 || copy_text(&row->error, target->error) < 0)
        return -ENOMEM;
    return 0;
}

static int counter_init(struct counter *counter, const struct row *row, const struct row_counter *from)
{
    counter->decimals = from->decimals;
    counter->scale = from->scale;
    if (copy_text(&counter->event, from->event) < 0 || copy_text(&counter->pmu, from->pmu) < 0 ||
        copy_text(&counter->unit, from->unit) < 0)
        return -ENOMEM;
    counter->json = render_json(row, counter);
    return counter->json ? 0 : -ENOMEM;
}

static struct row *row_new(const struct snapshot *snapshot, const struct row_target *target,
                           const struct row_counter *counters, size_t n)
{
    _cleanup_(row_freep) struct row *row = calloc(1, sizeof(*row));

    if (!row || row_copy_target(row, target) < 0)
        return NULL;
    row->collector_name = snapshot->collector_names[target->collector];
    row->counters = calloc(MAX(n, (size_t)1), sizeof(row->counters[0]));
    if (!row->counters)
        return NULL;
    row->n_counters = n;
    for (size_t i = 0; i < n; i++)
        if (counter_init(&row->counters[i], row, &counters[i]) < 0)
            return NULL;
    return steal(row);
}

/* A series of the row, whose labels are its target's; `pmu` may be an event's own. */
static struct series *add_series(struct snapshot *snapshot, const struct row *row, const struct metric *metric,
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

static struct series *add_time_series(struct snapshot *snapshot, const struct row *row, const char *time,
                                      const char *help, uint64_t created_ns)
{
    char name[128];
    struct metric metric = {.name = name, .help = help, .unit = "seconds", .type = METRIC_COUNTER};

    snprintf(name, sizeof(name), "perf_%s_group_%s_seconds_total", row->collector_name, time);
    return add_series(snapshot, row, &metric, row->pmu, 9, created_ns);
}

static int add_all_series(struct snapshot *snapshot, struct row *row, const struct row_counter *counters,
                          uint64_t created_ns)
{
    for (size_t i = 0; i < row->n_counters; i++) {
        if (!counters[i].metric.name)
            continue;
        row->counters[i].series =
            add_series(snapshot, row, &counters[i].metric, counters[i].pmu, counters[i].decimals, created_ns);
        if (!row->counters[i].series)
            return -ENOMEM;
    }
    if (row->error)
        return 0;
    row->enabled = add_time_series(snapshot, row, "enabled", "Time that the counter group was enabled.", created_ns);
    row->running =
        add_time_series(snapshot, row, "running", "Time that the counter group was counting on its PMU.", created_ns);
    return row->enabled && row->running ? 0 : -ENOMEM;
}

static void remove_all_series(struct snapshot *snapshot, struct row *row)
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
    if (add_all_series(snapshot, row, counters, target->created_ns) < 0) {
        remove_all_series(snapshot, row);
        return NULL;
    }
    row->id = snapshot->next_row_id++;
    snapshot->generation++;
    return snapshot->rows[snapshot->n_rows++] = steal(row);
}

void snapshot_remove_row(struct snapshot *snapshot, struct row *row)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        if (snapshot->rows[i] != row)
            continue;
        remove_all_series(snapshot, row);
        row_free(row);
        snapshot->n_rows--;
        memmove(&snapshot->rows[i], &snapshot->rows[i + 1], (snapshot->n_rows - i) * sizeof(snapshot->rows[0]));
        snapshot->generation++;
        return;
    }
}

void snapshot_done(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        row_free(snapshot->rows[i]);
    free(snapshot->rows);
    metrics_done(&snapshot->metrics);
    *snapshot = (struct snapshot){0};
}
