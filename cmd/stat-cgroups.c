/* SPDX-License-Identifier: Apache-2.0 */
/* A table of cgroups with their metrics: see stat-cgroups.h. */
#include "cmd/stat-cgroups.h"

#include <math.h>

#include "base/cleanup.h"
#include "cgroups/names.h"
#include "cmd/table.h"
#include "metrics/formula.h"

DEFINE_CLEANUP(struct table *, table_free);

/* A metric, or the rate of an event. */
struct column {
    const char *name, *unit;
    bool is_event;
    char heads[2][64]; /* its name in two lines */
};

struct columns {
    struct column *items;
    size_t n;
    bool has_names;
};

static void columns_done(struct columns *columns)
{
    free(columns->items);
}

static int columns_add(struct columns *columns, const char *name, const char *unit, bool is_event)
{
    for (size_t i = 0; i < columns->n; i++)
        if (str_equal(columns->items[i].name, name))
            return 0;
    if (array_grow(&columns->items, columns->n) < 0)
        return -ENOMEM;
    columns->items[columns->n++] = (struct column){.name = name, .unit = unit, .is_event = is_event};
    return 0;
}

/* --- which columns there are */

static bool is_column(const struct derived_metric *metric)
{
    return !str_equal(metric->name, "running_ratio");
}

/* Whether a metric that is a column says what this event does. */
static bool is_in_metric(const struct total *total, const char *event)
{
    struct formula formula;

    for (size_t i = 0; total->derivation && i < derivation_count(total->derivation); i++) {
        if (!is_column(derivation_metric(total->derivation, i)) ||
            formula_parse(derivation_formula(total->derivation, i)->text, &formula, NULL) < 0)
            continue;
        for (size_t k = 0; k < formula.n_names; k++)
            if (derived_names_event(formula.names[k], event))
                return true;
    }
    return false;
}

static int add_metric_columns(struct columns *columns, const struct total *total)
{
    int r = 0;

    for (size_t i = 0; r == 0 && total->derivation && i < derivation_count(total->derivation); i++) {
        const struct derived_metric *metric = derivation_metric(total->derivation, i);
        if (is_column(metric))
            r = columns_add(columns, metric->name, metric->unit, false);
    }
    return r;
}

static int add_event_columns(struct columns *columns, const struct total *total, const char *sort)
{
    int r = 0;

    if (total->row->state == ROW_UNAVAILABLE)
        return 0;
    for (size_t i = 0; r == 0 && i < total->row->n_counters; i++) {
        const char *event = total->row->counters[i].event;
        if (!is_in_metric(total, event) || (sort && str_equal(sort, event)))
            r = columns_add(columns, event, total->row->counters[i].unit, true);
    }
    return r;
}

/* "context_switches/s" as "context_" and "switches/s". */
static void split_name(struct column *column)
{
    size_t size = strlen(column->name), cut = 0;

    for (size_t i = 0; i < size; i++)
        if (column->name[i] == '_' && 2 * i < size + 8)
            cut = i + 1;
    snprintf(column->heads[0], sizeof(column->heads[0]), "%.*s", (int)cut, column->name);
    snprintf(column->heads[1], sizeof(column->heads[1]), "%s%s", column->name + cut, column->is_event ? "/s" : "");
}

/* "" where people have no name for the cgroup. */
static const char *row_name(const struct row *row, char room[NAMES_BEST_MAX])
{
    const char *name = row->names ? names_best(row->names, room) : NULL;

    return name ? name : "";
}

static int columns_make(const struct totals *totals, const char *sort, struct columns *columns)
{
    char room[NAMES_BEST_MAX];
    int r = 0;

    for (size_t i = 0; r == 0 && i < totals->n; i++)
        r = add_metric_columns(columns, &totals->items[i]);
    for (size_t i = 0; i < totals->n; i++)
        columns->has_names |= *row_name(totals->items[i].row, room) != '\0';
    for (size_t i = 0; r == 0 && i < totals->n; i++)
        r = add_event_columns(columns, &totals->items[i], sort);
    for (size_t i = 0; i < columns->n; i++)
        split_name(&columns->items[i]);
    return r;
}

/* --- values */

static double metric_value(const struct total *total, const char *name)
{
    for (size_t i = 0; total->derivation && i < derivation_count(total->derivation); i++)
        if (str_equal(derivation_metric(total->derivation, i)->name, name))
            return total_metric(total, i);
    return NAN;
}

static double event_rate(const struct total *total, const char *name)
{
    for (size_t i = 0; i < total->row->n_counters; i++)
        if (str_equal(total->row->counters[i].event, name) && total->known[i] > 0)
            return total->rates[i];
    return NAN;
}

/* The first group of the cgroup that has it. */
static double block_value(const struct totals *totals, uint32_t first, const char *name)
{
    for (uint32_t i = first; i != TOTAL_END; i = totals->items[i].next) {
        double metric = metric_value(&totals->items[i], name), rate = event_rate(&totals->items[i], name);
        if (!isnan(metric) || !isnan(rate))
            return isnan(metric) ? rate : metric;
    }
    return NAN;
}

static uint32_t find_block(const struct totals *totals, const struct row *row)
{
    uint32_t i = 0;

    while (totals->items[i].row != row)
        i++;
    return i;
}

/* --- lines */

static void add_heads(struct table *table, const struct columns *columns, size_t line)
{
    for (size_t i = 0; i < columns->n; i++)
        table_cell(table, TABLE_BOLD, "%s", columns->items[i].heads[line]);
    table_cell(table, TABLE_BOLD, "%s", line && columns->has_names ? "name" : "");
    table_cell(table, TABLE_BOLD, "%s", line ? "cgroup" : "");
}

static void add_cgroup(struct table *table, const struct columns *columns, const struct totals *totals, uint32_t first)
{
    const struct row *row = totals->items[first].row;
    char room[NAMES_BEST_MAX];

    for (size_t i = 0; i < columns->n; i++) {
        const struct column *column = &columns->items[i];
        double value = block_value(totals, first, column->name);
        char text[32];
        table_format_metric(value, column->is_event ? "" : column->unit, text, sizeof(text));
        table_cell(table, TABLE_PLAIN, "%s", text);
    }
    table_cell(table, TABLE_PLAIN, "%s", row_name(row, room));
    table_cell(table, TABLE_PLAIN, "%s", row->cgroup);
}

static size_t sort_blocks(const struct totals *totals, const struct order *order, struct order_key *keys)
{
    size_t n = 0;

    for (uint32_t i = 0; i < totals->n; i++)
        if (totals->items[i].first == i)
            keys[n++] =
                (struct order_key){totals->items[i].row, order->sort ? block_value(totals, i, order->sort) : NAN};
    return order_apply(order, keys, n);
}

int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file)
{
    _cleanup_(columns_done) struct columns columns = {0};
    _cleanup_(freep) struct order_key *keys = calloc(totals->n + 1, sizeof(*keys));
    int r = keys ? columns_make(totals, order->sort, &columns) : -ENOMEM;
    _cleanup_(freep) const char **titles = calloc(columns.n + 2, sizeof(*titles));
    _cleanup_(table_freep) struct table *table = titles ? table_new(titles, columns.n + 2) : NULL;

    if (r < 0 || !table)
        return -ENOMEM;
    for (size_t i = 0; i < columns.n + 2; i++)
        titles[i] = i < columns.n ? ">" : "";
    add_heads(table, &columns, 0);
    add_heads(table, &columns, 1);
    size_t n = sort_blocks(totals, order, keys);
    for (size_t i = 0; i < n; i++)
        add_cgroup(table, &columns, totals, find_block(totals, keys[i].row));
    return table_print(table, file);
}
