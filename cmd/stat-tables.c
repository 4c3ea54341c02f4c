/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of the machine as perf-stat(1) prints them: see stat-counts.h. */
#include "cmd/stat-tables.h"

#include <ctype.h>
#include <math.h>

#include "base/cleanup.h"
#include "cmd/table.h"

DEFINE_CLEANUP(struct table *, table_free);

#define TEXT_SIZE 96
#define COUNT_WIDTH 15 /* at least, so that blocks with and without "<not supported>" look alike */

/* The counts that are being printed. */
struct counts {
    const struct totals *totals;
    const struct failures *failures;
    struct table *table;
};

/* --- the texts of a line */

/* "1,234,567", or with digits behind the point. */
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

/* How counts of a unit are shown; others with two digits behind the point. */
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

/* As perf-stat(1) distinguishes them: the kernel or the PMU has no such event, or it was never counted. */
static bool is_supported(const struct counts *counts, const struct row *row)
{
    static const char *const reasons[] = {"ENOENT", "EOPNOTSUPP", "EINVAL", "ENODEV", "ENXIO", "ENOSYS"};

    for (size_t i = 0; row->state == ROW_UNAVAILABLE && i < counts->failures->n; i++) {
        const struct failure *failure = &counts->failures->items[i];
        if (failure->collector == row->collector && str_equal(failure->group, row->group) &&
            str_equal(failure->metric, row->counters[0].event) && str_equal(failure->pmu, row->counters[0].pmu))
            return !str_is_one_of(failure->reason, reasons, ARRAY_SIZE(reasons));
    }
    return true;
}

/* "1.235 k/sec": of counts without a unit, as perf-stat(1) has it; "" for others. */
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

/* "(71.43%)" of the time, "(3 of 4 CPUs)" where nothing is known of one; "" where all was counted. */
static void format_share(const struct total *total, size_t event, char *text, size_t size)
{
    double share = total_share(total);

    text[0] = '\0';
    if (total->known[event] == 0)
        return;
    if (total->known[event] < total->n_rows)
        snprintf(text, size, "(%zu of %zu CPUs)", total->known[event], total->n_rows);
    else if (share < 0.99995)
        snprintf(text, size, "(%.2f%%)", 100 * share);
}

/* --- which metric belongs to which event */

/* A name of the formula is an event of the row, a time, or a number's digits. */
static int find_name(const struct row *row, const char *name, size_t size)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", (int)size, name);
    for (size_t i = 0; i < row->n_counters; i++)
        if (derived_names_event(text, row->counters[i].event))
            return (int)i;
    return -1;
}

/* It belongs to the only event in front of its first "/". */
static int find_event(const struct total *total, size_t metric)
{
    const char *text = derivation_formula(total->derivation, metric)->text, *end = text + strcspn(text, "/");
    int found = -1;

    while (text < end) {
        size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        int event = size ? find_name(total->row, text, size) : -1;
        if (event >= 0 && found >= 0 && event != found)
            return -1;
        found = event >= 0 ? event : found;
        text += MAX(size, (size_t)1);
    }
    return found;
}

/* The share of the time stands in parentheses. */
static bool is_shown(const struct total *total, size_t metric)
{
    return !str_equal(derivation_metric(total->derivation, metric)->name, "running_ratio") &&
           !isnan(total_metric(total, metric));
}

/* --- lines */

static void add_texts(struct counts *counts, const char *count, const char *unit, const char *event, const char *metric)
{
    table_cell(counts->table, TABLE_BOLD, "%*s", *count ? COUNT_WIDTH : 0, count);
    table_cell(counts->table, TABLE_PLAIN, "%s", unit);
    table_cell(counts->table, TABLE_PLAIN, "%s", event);
    table_cell(counts->table, TABLE_PLAIN, "%s", metric);
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
    const struct counter *counter = &total->row->counters[event];
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

/* The metrics that belong to an event, the first in its line; those of several events where `event` is -1. */
static void add_metrics(struct counts *counts, const struct total *total, int event)
{
    size_t n = total->derivation ? derivation_count(total->derivation) : 0;
    bool begun = event < 0;
    char text[TEXT_SIZE], value[32];

    for (size_t i = 0; i < n; i++) {
        if (!is_shown(total, i) || find_event(total, i) != event)
            continue;
        const struct derived_metric *metric = derivation_metric(total->derivation, i);
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
        for (size_t i = 0; i < total->row->n_counters; i++)
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
