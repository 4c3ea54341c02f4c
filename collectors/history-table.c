/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/history-table.h"

#include <math.h>

#include "base/cleanup.h"
#include "perf/group.h"

void history_table_done(struct history_table *table)
{
    for (size_t i = 0; i < table->n_lines; i++) {
        free(table->lines[i].row.events);
        free(table->lines[i].cells);
        free(table->lines[i].values);
    }
    free(table->lines);
    free(table->steps);
    free(table->texts);
    *table = (struct history_table){0};
}

/* --- sums of steps --- */

void growth_event_add(struct growth_event *sum, const struct growth_event *more, uint8_t decimals)
{
    double a, b;

    sum->known = sum->known && more->known;
    if (decimals != SERIES_REAL) {
        sum->value += more->value;
        return;
    }
    memcpy(&a, &sum->value, sizeof(a));
    memcpy(&b, &more->value, sizeof(b));
    a += b;
    memcpy(&sum->value, &a, sizeof(a));
}

void history_add(const struct history_row *row, struct history_cell *sum, struct growth_event *sums,
                 const struct history_cell *more, const struct growth_event *values)
{
    bool first = sum->state == HISTORY_ABSENT;

    if (more->state == HISTORY_ABSENT)
        return;
    if (more->state == HISTORY_UNKNOWN || sum->state == HISTORY_UNKNOWN) {
        *sum = (struct history_cell){.state = HISTORY_UNKNOWN};
        memset(sums, 0, row->n_events * sizeof(*sums));
        return;
    }
    sum->has_busy = more->has_busy && (first || sum->has_busy);
    sum->busy_ns += more->busy_ns;
    sum->limited_ns += more->limited_ns;
    sum->enabled_ns += more->enabled_ns;
    sum->running_ns += more->running_ns;
    sum->state = MAX(sum->state, more->state);
    for (size_t i = 0; i < row->n_events; i++) {
        if (first)
            sums[i] = (struct growth_event){.known = true};
        growth_event_add(&sums[i], &values[i], row->events[i].decimals);
        sums[i].value = sums[i].known ? sums[i].value : 0;
    }
}

int history_line_sum(const struct history_line *line, const struct history_step *steps, size_t begin, size_t end,
                     struct history_cell *sum, struct growth_event *sums, uint64_t *ret_covered_ns)
{
    *sum = (struct history_cell){.state = HISTORY_ABSENT};
    *ret_covered_ns = 0;
    for (size_t i = begin; i < end; i++) {
        if (!history_is_known(&line->cells[i]))
            continue;
        history_add(&line->row, sum, sums, &line->cells[i], &line->values[i * line->row.n_events]);
        *ret_covered_ns += steps[i].covered_ns;
    }
    return history_is_known(sum) ? 0 : -ENODATA;
}

/* --- sums of lines --- */

static bool are_added_up(const struct history_row *a, const struct history_row *b, enum totals_order order)
{
    bool alike = a->others == b->others && str_equal(a->collector, b->collector) && str_equal(a->group, b->group) &&
                 !a->cgroup == !b->cgroup && (!a->cgroup || str_equal(a->cgroup, b->cgroup)) &&
                 a->n_events == b->n_events;

    alike = alike && ((order == TOTALS_BY_CGROUP && a->cgroup) || (a->pmu && b->pmu && str_equal(a->pmu, b->pmu)));
    for (size_t i = 0; alike && i < a->n_events; i++)
        alike = str_equal(a->events[i].event, b->events[i].event) && a->events[i].decimals == b->events[i].decimals;
    return alike;
}

/*
 * Adds the cells of the line `from` to the line `to`. A step that is unknown in either line becomes unknown; an absent
 * step counts as 0.
 */
static void line_add(struct history_line *to, const struct history_line *from, size_t n_steps)
{
    size_t n = to->row.n_events;

    for (size_t i = 0; i < n_steps; i++)
        history_add(&to->row, &to->cells[i], &to->values[i * n], &from->cells[i], &from->values[i * n]);
    to->row.cpu = -1;
    if (to->row.pmu && !str_equal(to->row.pmu, from->row.pmu))
        to->row.pmu = NULL;
}

/* Returns a hash that is the same for all lines of a sum. */
static uint32_t hash_line(const struct history_row *row, enum totals_order order)
{
    uint64_t hash = hash_mix_text(hash_mix_text(hash_mix_text(row->others, row->collector), row->group), row->cgroup);

    return hash_fold(order == TOTALS_BY_CGROUP && row->cgroup ? hash : hash_mix_text(hash, row->pmu));
}

int history_table_add_up(struct history_table *table, enum totals_order order)
{
    _cleanup_(hash_index_done) struct hash_index index = {0};

    for (size_t i = 0; i < table->n_lines; i++) {
        struct history_line *line = &table->lines[i];
        uint32_t hash = hash_line(&line->row, order), found;
        size_t at = 0;
        do
            found = hash_index_next(&index, hash, &at);
        while (found != HASH_INDEX_NONE && !are_added_up(&table->lines[found].row, &line->row, order));
        if (found == HASH_INDEX_NONE && hash_index_add(&index, hash, (uint32_t)i) < 0)
            return -ENOMEM;
        if (found == HASH_INDEX_NONE)
            continue;
        line_add(&table->lines[found], line, table->n_steps);
        line->row.n_events = 0;
    }
    return 0;
}

/* --- derived metrics --- */

unsigned history_slots(const struct snapshot *snapshot, const char *pmu)
{
    unsigned slots = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->metric_set && str_equal(snapshot->rows[i]->pmu, pmu))
            slots = MAX(slots, metric_set_slots(snapshot->rows[i]->metric_set));
    return slots;
}

struct metric_set *history_metric_set(const struct history_row *row, const struct snapshot *snapshot)
{
    _cleanup_(freep) const char **names = calloc(row->n_events + 1, sizeof(*names));
    struct metric_set_events events = {.pmu = row->pmu ? row->pmu : "", .events = names, .n = row->n_events};

    if (!names)
        return NULL;
    events.target = row->cgroup || row->others         ? DERIVED_CGROUP
                    : str_equal(row->collector, "pmu") ? DERIVED_PMU
                                                       : DERIVED_CPU;
    events.slots = history_slots(snapshot, events.pmu);
    for (size_t i = 0; i < row->n_events; i++)
        names[i] = row->events[i].event;
    return metric_set_new(&events);
}

double history_metric(const struct history_row *row, const struct metric_set *metric_set, size_t metric,
                      const struct history_cell *cell, const struct growth_event *values, double seconds)
{
    const struct growth growth = {
        .known = true,
        .has_times = true,
        .enabled_ns = cell->enabled_ns,
        .running_ns = cell->running_ns,
        .has_busy = cell->has_busy,
        .busy_ns = cell->busy_ns,
    };
    struct metric_set_times times = growth_times(&growth, seconds);
    double rates[GROUP_MEMBERS_MAX];

    if (!history_is_known(cell) || seconds <= 0 || (row->uneven && metric_set_compares_events(metric_set, metric)))
        return NAN;
    for (size_t i = 0; i < row->n_events; i++)
        rates[i] = growth_real(&values[i], row->events[i].decimals) / seconds;
    return metric_set_value(metric_set, metric, rates, &times);
}
