/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/stat-tables.h"

#include <ctype.h>
#include <math.h>

#include "base/cleanup.h"
#include "cgroups/names.h"
#include "cmd/table.h"
#include "metrics/formula.h"
#include "perf/reason.h"

/* --- counts --- */

DEFINE_CLEANUP(struct table *, table_free);

#define TEXT_SIZE 96
#define COUNT_WIDTH 15 /* minimum width of the counts, so that blocks with and without "<not supported>" line up */

/* The input of stat_counts_print(), and the table that it fills. */
struct counts {
    const struct totals *totals;
    const struct failures *failures;
    struct table *table;
};

/* Formats a number like "1,234,567", with `decimals` digits after the point. */
static void format_count(double value, unsigned decimals, char *text, size_t size)
{
    char digits[TEXT_SIZE];
    int n = snprintf(digits, sizeof(digits), "%.*f", (int)decimals, value);
    size_t whole = (size_t)n - (decimals ? decimals + 1 : 0), used = 0;

    for (size_t i = 0; digits[i] && used + 2 < size; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
}

/* How counts in these units are printed. Counts in other units have two decimals. */
static const struct count_unit {
    const char *unit, *shown;
    double factor;
    unsigned decimals;
} count_units[] = {
    {"", "", 1, 0},
    {"bytes", "bytes", 1, 0},
    {"seconds", "msec", 1000, 2},
};

static struct count_unit find_unit(const char *unit)
{
    for (size_t i = 0; i < ARRAY_SIZE(count_units); i++)
        if (str_equal(count_units[i].unit, unit))
            return count_units[i];
    return (struct count_unit){unit, unit, 1, 2};
}

/*
 * Returns whether the kernel and the PMU have the row's event. As in perf-stat(1), an event without a count is shown as
 * "<not supported>" if either lacks it, and otherwise as "<not counted>".
 */
static bool is_supported(const struct counts *counts, const struct row *row)
{
    static const char *const reasons[] = {"ENOENT", "EOPNOTSUPP", "EINVAL",           "ENODEV",
                                          "ENXIO",  "ENOSYS",     REASON_LABEL_NO_PMU};

    for (size_t i = 0; row->state == ROW_UNAVAILABLE && i < counts->failures->n; i++) {
        const struct failure *failure = &counts->failures->items[i];
        if (failure->collector == row->collector && str_equal(failure->group, row->group) &&
            str_equal(failure->metric, row->counters[0].event) && str_equal(failure->pmu, row->counters[0].pmu))
            return !str_is_one_of(failure->reason, reasons, ARRAY_SIZE(reasons));
    }
    return true;
}

/* Formats the rate of a count without a unit as in perf-stat(1), "# 1.235 k/sec"; "" if the count has a unit. */
static void format_rate(const struct counter *counter, double rate, char *text, size_t size)
{
    char quantity[32];

    text[0] = '\0';
    if (counter->unit[0] || isnan(rate))
        return;
    table_format_quantity(rate, quantity, sizeof(quantity));
    bool prefixed = isalpha((unsigned char)quantity[strlen(quantity) - 1]);
    snprintf(text, size, "# %s%s/sec", quantity, prefixed ? "" : " ");
}

/*
 * Formats how much of the time an event was counted, "(71.43%)", or "(3 of 4 CPUs)" if a CPU's count is unknown, or ""
 * if it was counted all the time.
 */
static void format_share(const struct total *total, size_t event, char *text, size_t size)
{
    double share = total_share(total);

    text[0] = '\0';
    if (total->events[event].known == 0)
        return;
    if (total->events[event].known < total->n_rows)
        snprintf(text, size, "(%zu of %zu CPUs)", total->events[event].known, total->n_rows);
    else if (share < 0.99995)
        snprintf(text, size, "(%.2f%%)", 100 * share);
}

/*
 * Returns the index of the event that a name in a formula stands for, or -1 for the name of a time or the digits of a
 * number.
 */
static int find_name(const struct total *total, const char *name, size_t size)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", (int)size, name);
    for (size_t i = 0; i < total->n_events; i++)
        if (derived_names_event(text, total->events[i].counter->event))
            return (int)i;
    return -1;
}

/*
 * Returns the event next to which a metric is printed: the only event before the first "/" of its formula. Returns -1
 * unless that part has exactly one event.
 */
static int find_event(const struct total *total, size_t metric)
{
    const char *text = metric_set_formula(total->metric_set, metric)->text, *end = text + strcspn(text, "/");
    int found = -1;

    while (text < end) {
        size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        int event = size ? find_name(total, text, size) : -1;
        if (event >= 0 && found >= 0 && event != found)
            return -1;
        found = event >= 0 ? event : found;
        text += MAX(size, (size_t)1);
    }
    return found;
}

/*
 * Returns whether a metric is printed as "# METRIC VALUE", unlike running_ratio, which is printed in parentheses.
 */
static bool is_shown(const struct total *total, size_t metric)
{
    return !str_equal(metric_set_metric(total->metric_set, metric)->name, "running_ratio") &&
           !isnan(total_metric(total, metric));
}

static void add_texts(struct counts *counts, const char *count, const char *unit, const char *event, const char *metric)
{
    table_cell(counts->table, *count == '<' ? TABLE_DIM : TABLE_BOLD, "%*s", *count ? COUNT_WIDTH : 0, count);
    table_cell(counts->table, TABLE_PLAIN, "%s", unit);
    table_cell(counts->table, TABLE_PLAIN, "%s", event);
    table_cell(counts->table, TABLE_DIM, "%s", metric);
}

static void add_cpu(struct counts *counts, const struct total *total)
{
    if (counts->totals->order == TOTALS_BY_CPU && total->row->cpu >= 0)
        table_cell(counts->table, TABLE_PLAIN, "CPU%d", total->row->cpu);
    else
        table_cell(counts->table, TABLE_PLAIN, "%s", "");
}

static void add_event(struct counts *counts, const struct total *total, size_t event, const char *metric)
{
    const struct counter *counter = total->events[event].counter;
    const struct count_unit unit = find_unit(counter->unit);
    double growth = total_growth(counts->totals, total, event);
    char count[TEXT_SIZE], share[TEXT_SIZE], rate[TEXT_SIZE];

    if (isnan(growth))
        snprintf(count, sizeof(count), "%s", is_supported(counts, total->row) ? "<not counted>" : "<not supported>");
    else
        format_count(growth * unit.factor, unit.decimals, count, sizeof(count));
    format_rate(counter, isnan(growth) ? NAN : total->rates[event], rate, sizeof(rate));
    format_share(total, event, share, sizeof(share));
    add_cpu(counts, total);
    add_texts(counts, count, isnan(growth) ? "" : unit.shown, counter->event, metric ? metric : rate);
    table_cell(counts->table, TABLE_WARNING, "%s", share);
}

/*
 * Adds the metrics that belong to an event, the first of them on the event's line. If `event` is -1, adds the metrics
 * that belong to no single event.
 */
static void add_metrics(struct counts *counts, const struct total *total, int event)
{
    size_t n = total->metric_set ? metric_set_count(total->metric_set) : 0;
    bool begun = event < 0;
    char text[TEXT_SIZE], value[32];

    for (size_t i = 0; i < n; i++) {
        if (!is_shown(total, i) || find_event(total, i) != event)
            continue;
        const struct derived_metric *metric = metric_set_metric(total->metric_set, i);
        table_format_metric(total_metric(total, i), metric->unit, value, sizeof(value));
        snprintf(text, sizeof(text), "# %s %s", metric->name, value);
        if (!begun) {
            add_event(counts, total, (size_t)event, text);
            begun = true;
            continue;
        }
        add_cpu(counts, total);
        add_texts(counts, "", "", "", text);
        table_cell(counts->table, TABLE_PLAIN, "%s", "");
    }
    if (!begun)
        add_event(counts, total, (size_t)event, NULL);
}

static int add_title(struct counts *counts, const struct total *first)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};

    for (const struct total *total = first;; total = &counts->totals->items[total->next]) {
        CPUSET_FOREACH (cpu, &total->cpus)
            if (cpuset_add(&cpus, (unsigned)cpu) < 0)
                return -ENOMEM;
        if (total->next == TOTAL_END)
            break;
    }
    _cleanup_(freep) char *list = cpuset_format(&cpus);
    if (!list)
        return -ENOMEM;
    bool named = *list && !str_equal(first->row->collector_name, "pmu");
    table_line(counts->table, TABLE_PLAIN, "%s", "");
    table_line(counts->table, TABLE_BOLD, "%s%s%sPMU %s, group %s:", named ? "CPU " : "", named ? list : "",
               named ? ", " : "", first->row->pmu[0] ? first->row->pmu : "none", first->row->group);
    return 0;
}

static int add_block(struct counts *counts, const struct total *first)
{
    int r = add_title(counts, first);

    for (const struct total *total = first; r == 0; total = &counts->totals->items[total->next]) {
        for (size_t i = 0; i < total->n_events; i++)
            add_metrics(counts, total, (int)i);
        add_metrics(counts, total, -1);
        if (total->next == TOTAL_END)
            break;
    }
    return r;
}

int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file)
{
    static const char *const titles[] = {"", ">", "", "", "", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    struct counts counts = {totals, failures, table};
    int r = table ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < totals->n; i++)
        if (totals->items[i].first == i)
            r = add_block(&counts, &totals->items[i]);
    return r < 0 ? r : table_print(table, file);
}

/* --- cgroups --- */

/* A column of the table: a metric, or the rate of an event. */
struct column {
    const char *name, *unit;
    bool is_event;
    char heads[2][64]; /* the two lines of the heading */
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

static bool is_column(const struct derived_metric *metric)
{
    return !str_equal(metric->name, "running_ratio");
}

/* Returns whether any metric with a column uses this event. */
static bool is_in_metric(const struct total *total, const char *event)
{
    struct formula formula;

    for (size_t i = 0; total->metric_set && i < metric_set_count(total->metric_set); i++) {
        if (!is_column(metric_set_metric(total->metric_set, i)) ||
            formula_parse(metric_set_formula(total->metric_set, i)->text, &formula, NULL) < 0)
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

    for (size_t i = 0; r == 0 && total->metric_set && i < metric_set_count(total->metric_set); i++) {
        const struct derived_metric *metric = metric_set_metric(total->metric_set, i);
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
    for (size_t i = 0; r == 0 && i < total->n_events; i++) {
        const struct counter *counter = total->events[i].counter;
        if (!is_in_metric(total, counter->event) || (sort && str_equal(sort, counter->event)))
            r = columns_add(columns, counter->event, counter->unit, true);
    }
    return r;
}

/* Splits a heading into two lines, so that "context_switches/s" becomes "context_" and "switches/s". */
static void split_name(struct column *column)
{
    size_t size = strlen(column->name), cut = 0;

    for (size_t i = 0; i < size; i++)
        if (column->name[i] == '_' && 2 * i < size + 8)
            cut = i + 1;
    snprintf(column->heads[0], sizeof(column->heads[0]), "%.*s", (int)cut, column->name);
    snprintf(column->heads[1], sizeof(column->heads[1]), "%s%s", column->name + cut, column->is_event ? "/s" : "");
}

/* Returns the readable name of the cgroup, or "" if the cgroup has no name. */
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

static double metric_value(const struct total *total, const char *name)
{
    for (size_t i = 0; total->metric_set && i < metric_set_count(total->metric_set); i++)
        if (str_equal(metric_set_metric(total->metric_set, i)->name, name))
            return total_metric(total, i);
    return NAN;
}

static double event_rate(const struct total *total, const char *name)
{
    for (size_t i = 0; i < total->n_events; i++)
        if (str_equal(total->events[i].counter->event, name) && total->events[i].known > 0)
            return total->rates[i];
    return NAN;
}

/* Returns a metric's or an event's value from the cgroup's first group that knows it. */
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

static int sort_blocks(const struct totals *totals, const struct order *order, struct order_key *keys, size_t *ret_n)
{
    size_t n = 0;

    for (uint32_t i = 0; i < totals->n; i++)
        if (totals->items[i].first == i)
            keys[n++] = order_key_of(totals->items[i].row, order->sort ? block_value(totals, i, order->sort) : NAN);
    return order_apply(order, keys, n, ret_n);
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
    size_t n;
    if (sort_blocks(totals, order, keys, &n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        add_cgroup(table, &columns, totals, find_block(totals, keys[i].item));
    return table_print(table, file);
}
