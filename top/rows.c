/* SPDX-License-Identifier: Apache-2.0 */
#include "top/rows.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"

/* --- columns --- */

static const struct top_column columns[] = {
    {"cpu", "%CPU", "CPU time; 100 is one CPU", {"cpu_utilization"}, {0}, {0}, TOP_PERCENT, 'P'},
    {"ipc", "IPC", "instructions per cycle", {"ipc"}, {0}, {0}, TOP_RATIO, 'I'},
    {"frequency",
     "GHZ",
     "cycles per second of CPU time",
     {"frequency_hertz", "cpu_frequency_hertz"},
     {0},
     {0},
     TOP_GIGA,
     'G'},
    {"stalls",
     "STALL%",
     "share of the cycles spent waiting for data",
     {"backend_stall_ratio"},
     {0},
     {0},
     TOP_PERCENT,
     'B'},
    {.name = "misses",
     .title = "MISSES/s",
     .help = "misses in the last cache level that is counted",
     .events = {"ll_cache_miss_rd", "cache_misses", "llc_load_misses", "l3d_cache_refill", "l2d_cache_refill"},
     .format = TOP_QUANTITY,
     .key = 'M'},
    {"mpki", "MPKI", "those misses per 1000 instructions", {"llc_mpki", "l2_mpki"}, {0}, {0}, TOP_RATIO, 'L'},
    {"branches", "BR-MPKI", "branch misses per 1000 instructions", {"branch_mpki"}, {0}, {0}, TOP_RATIO, 'R'},
    {"faults", "FAULTS/s", "page faults", {0}, {"page_faults"}, {"minor_faults", "major_faults"}, TOP_QUANTITY, 'F'},
    {"switches", "SWITCH/s", "context switches", {0}, {"context_switches"}, {0}, TOP_QUANTITY, 'S'},
    {"migrations", "MIGR/s", "migrations to another CPU", {0}, {"cpu_migrations"}, {0}, TOP_QUANTITY, 'V'},
    {"counted", "COUNTED%", "share of the time that was counted", {"running_ratio"}, {0}, {0}, TOP_PERCENT, 'C'},
};

_Static_assert(ARRAY_SIZE(columns) <= TOP_COLUMNS_MAX, "a table has room for all columns");

size_t top_column_count(void)
{
    return ARRAY_SIZE(columns);
}

const struct top_column *top_column_at(size_t i)
{
    return &columns[i];
}

/*
 * Returns whether `name` is among the `n` strings, a list that may end early with NULL. A "-" in `name` also matches
 * "_".
 */
static bool is_named(const char *name, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n && texts[i]; i++) {
        size_t k = 0;
        while (texts[i][k] && (texts[i][k] == name[k] || (texts[i][k] == '_' && name[k] == '-')))
            k++;
        if (!texts[i][k] && !name[k])
            return true;
    }
    return false;
}

size_t top_column_find(const char *name)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(columns) && !is_named(name, &columns[i].name, 1))
        i++;
    for (size_t k = 0; i == ARRAY_SIZE(columns) && k < ARRAY_SIZE(columns); k++)
        if (is_named(name, columns[k].metrics, ARRAY_SIZE(columns[k].metrics)) ||
            is_named(name, columns[k].events, ARRAY_SIZE(columns[k].events)))
            return k;
    return i;
}

static bool find_number(const json_t *object, const char *name, double *ret)
{
    const json_t *value = json_object_get(object, name);

    if (value)
        *ret = json_is_number(value) ? json_number_value(value) : NAN;
    return value != NULL;
}

/*
 * Takes the value of a column from the members "events" and "ratios" of a row of /api/v1/rates. Returns whether the row
 * has the metric or event of the column; *ret is NAN if the value is unknown.
 */
static bool top_column_value(const struct top_column *column, const json_t *events, const json_t *ratios, double *ret)
{
    double sum = 0, part;
    bool any = false;

    for (size_t i = 0; i < ARRAY_SIZE(column->metrics) && column->metrics[i]; i++)
        if (find_number(ratios, column->metrics[i], ret))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(column->events) && column->events[i]; i++)
        if (find_number(events, column->events[i], ret))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(column->sum) && column->sum[i]; i++) {
        if (find_number(events, column->sum[i], &part)) {
            sum += part;
            any = true;
        }
    }
    if (any)
        *ret = sum;
    return any;
}

static void format_quantity(double value, char *text, size_t size)
{
    static const char prefixes[] = " kMGTPE";
    size_t at = 0;

    for (; value >= 999.5 && at + 2 < sizeof(prefixes); at++)
        value /= 1000;
    if (at == 0)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefixes[at]);
}

void top_column_format(const struct top_column *column, double value, bool estimate, char *text, size_t size)
{
    char digits[32];

    switch (column->format) {
    case TOP_PERCENT:
        snprintf(digits, sizeof(digits), "%.1f", MIN(100 * value, 99999.9));
        break;
    case TOP_RATIO:
        snprintf(digits, sizeof(digits), "%.2f", MIN(value, 9999.99));
        break;
    case TOP_GIGA:
        snprintf(digits, sizeof(digits), "%.2f", MIN(value / 1e9, 9999.99));
        break;
    default:
        format_quantity(MIN(value, 9e18), digits, sizeof(digits));
    }
    snprintf(text, size, "%s%s", estimate && isfinite(value) ? "~" : "", isfinite(value) ? digits : "-");
}

/* --- table --- */

#define CPU_MAX 65535 /* larger than any CPU number in Linux */

/*
 * An entry of /api/v1/rates, which has the values of one group. A row of the table is made from the entries of several
 * groups.
 */
struct top_part {
    const char *name, *group;
    const char *pmu; /* PMU, or "" for an entry of several PMUs, which has the member "pmus" */
    int cpu;
    const json_t *document;
};

struct top_table {
    enum top_kind kind;
    bool by_pmu;
    json_t *rates, *cgroups;
    struct top_row *rows;
    size_t n;
    uint32_t has;      /* bitmask of columns with a value in at least one row */
    char (*texts)[16]; /* for each row: "cpu 4", or the first digits of a container's ID */
    char **labels;     /* labels made of a name and a path, owned by the table */
    size_t n_labels;
};

struct top_table *top_table_free(struct top_table *table)
{
    if (!table)
        return NULL;
    json_decref(table->rates);
    json_decref(table->cgroups);
    free(table->rows);
    free(table->texts);
    for (size_t i = 0; i < table->n_labels; i++)
        free(table->labels[i]);
    free(table->labels);
    free(table);
    return NULL;
}
DEFINE_CLEANUP(struct top_table *, top_table_free);

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_hardware(const char *pmu)
{
    return *pmu && !str_equal(pmu, "software") && !str_equal(pmu, "tracepoint") && !str_equal(pmu, "breakpoint");
}

/* Returns whether an entry of /api/v1/rates belongs to a table of this kind; if so, sets *ret. */
static bool part_from(const json_t *document, enum top_kind kind, struct top_part *ret)
{
    static const char *const collectors[] = {[TOP_CGROUPS] = "cgroup", [TOP_CPUS] = "cpu", [TOP_PMUS] = "cpu"};
    const json_t *cpu = json_object_get(document, "cpu");
    struct top_part part = {"", text_of(document, "group"), text_of(document, "pmu"), -1, document};

    if (!str_equal(text_of(document, "collector"), collectors[kind]))
        return false;
    if (kind == TOP_CGROUPS)
        part.name = text_of(document, "cgroup");
    else if (kind == TOP_PMUS)
        part.name = is_hardware(part.pmu) ? part.pmu : "";
    else if (json_is_integer(cpu))
        part.cpu = (int)MIN(MAX(json_integer_value(cpu), -1), CPU_MAX);
    *ret = part;
    return *part.name || part.cpu >= 0;
}

static int compare_target(const struct top_part *one, const struct top_part *other, bool by_pmu)
{
    int order = strcmp(one->name, other->name);

    if (order == 0)
        order = (one->cpu > other->cpu) - (one->cpu < other->cpu);
    return order == 0 && by_pmu ? strcmp(one->pmu, other->pmu) : order;
}

static int compare_part(const struct top_part *one, const struct top_part *other, bool by_pmu)
{
    int order = compare_target(one, other, by_pmu);

    if (order == 0)
        order = strcmp(one->group, other->group);
    return order == 0 ? strcmp(one->pmu, other->pmu) : order;
}

static int compare_parts(const void *a, const void *b)
{
    return compare_part(a, b, false);
}

static int compare_parts_by_pmu(const void *a, const void *b)
{
    return compare_part(a, b, true);
}

static double share_counted(const json_t *ratios)
{
    const json_t *share = json_object_get(ratios, "running_ratio");

    return json_is_number(share) ? json_number_value(share) : 1;
}

/*
 * Adds the values of one group to a row. A value that an earlier group has set is kept, except that the smallest
 * running_ratio is kept. If the group has several entries, the group's values are unknown, because the daemon did not
 * add up the entries.
 */
static void row_add_group(struct top_table *table, struct top_row *row, const struct top_part *part, bool is_sum)
{
    const json_t *ratios = json_object_get(part->document, "ratios");

    for (size_t k = 0; k < top_column_count(); k++) {
        const struct top_column *column = top_column_at(k);
        double value = NAN;
        if (!top_column_value(column, json_object_get(part->document, "events"), ratios, &value))
            continue;
        table->has |= 1u << k;
        bool is_share = column->metrics[0] && str_equal(column->metrics[0], "running_ratio");
        bool is_exact = is_share || (table->kind == TOP_CPUS && str_equal(column->name, "cpu"));
        if (is_sum && (isnan(row->values[k]) || (is_share && value < row->values[k]))) {
            row->values[k] = value;
            if (share_counted(ratios) < 0.9995 && !is_exact)
                row->estimates |= 1u << k;
        }
    }
}

static void row_add_pmu(struct top_row *row, const char *pmu)
{
    if (row->pmu && is_hardware(pmu) && !str_equal(pmu, row->pmu))
        row->pmu = *row->pmu ? NULL : pmu;
}

static void row_find_pmu(struct top_row *row, const struct top_part *parts, size_t n, bool by_pmu)
{
    const json_t *pmu;
    size_t k;

    row->pmu = by_pmu ? parts[0].pmu : "";
    for (size_t i = 0; i < n && !by_pmu; i++) {
        row_add_pmu(row, parts[i].pmu);
        json_array_foreach (json_object_get(parts[i].document, "pmus"), k, pmu)
            row_add_pmu(row, json_is_string(pmu) ? json_string_value(pmu) : "");
    }
}

static void table_add_row(struct top_table *table, const struct top_part *parts, size_t n)
{
    struct top_row *row = &table->rows[table->n];
    size_t group;

    *row = (struct top_row){.target = parts->name, .cpu = parts->cpu, .id = ""};
    if (table->kind == TOP_CPUS) {
        snprintf(table->texts[table->n], sizeof(table->texts[0]), "cpu %d", parts->cpu);
        row->target = table->texts[table->n];
    }
    row->name = row->label = row->target;
    for (size_t k = 0; k < N_NAME_KINDS; k++)
        row->names[k] = "";
    for (size_t k = 0; k < TOP_COLUMNS_MAX; k++)
        row->values[k] = NAN;
    row_find_pmu(row, parts, n, table->by_pmu);
    for (size_t i = 0; i < n; i += group) {
        for (group = 1; i + group < n && str_equal(parts[i].group, parts[i + group].group);)
            group++;
        row_add_group(table, row, parts + i, group == 1);
    }
    table->n++;
}

/* --- names of cgroups --- */

static int compare_key(const void *key, const void *element)
{
    return strcmp(key, ((const struct top_row *)element)->target);
}

/* Sets the names of a row from an entry of /api/v1/cgroups. */
static void row_add_names(struct top_table *table, struct top_row *row, const json_t *cgroup)
{
    const char *name = text_of(cgroup, "name");
    char *id = table->texts[row - table->rows];

    for (enum name_kind kind = 0; kind < N_NAME_KINDS; kind++)
        row->names[kind] = text_of(cgroup, name_kind_text(kind));
    row->name = row->label = *name ? name : row->target;
    snprintf(id, sizeof(table->texts[0]), "%.12s", row->names[NAME_CONTAINER_ID]);
    row->id = id;
}

/* Sets the names of all rows. The rows must be sorted by target, which is the order in which table_fill() adds rows. */
static void table_add_names(struct top_table *table)
{
    const json_t *cgroup;
    size_t i;

    json_array_foreach (json_object_get(table->cgroups, "cgroups"), i, cgroup) {
        const char *path = text_of(cgroup, "cgroup");
        struct top_row *row = table->n ? bsearch(path, table->rows, table->n, sizeof(*row), compare_key) : NULL;
        struct top_row *end = table->rows + table->n;
        while (row && row > table->rows && str_equal(row[-1].target, path))
            row--;
        for (; row && row < end && str_equal(row->target, path); row++)
            row_add_names(table, row, cgroup);
    }
}

static int compare_named(const void *a, const void *b)
{
    const struct top_row *one = *(struct top_row *const *)a, *other = *(struct top_row *const *)b;
    int order = strcmp(one->name, other->name);

    return order == 0 ? strcmp(one->target, other->target) : order;
}

static int table_label(struct top_table *table, struct top_row *row)
{
    char *label = NULL;

    if (array_grow(&table->labels, table->n_labels) < 0 || asprintf(&label, "%s %s", row->name, row->target) < 0)
        return -ENOMEM;
    row->label = table->labels[table->n_labels++] = label;
    return 0;
}

/* Appends the path to the labels of cgroups that have the same name. */
static int table_distinguish(struct top_table *table)
{
    _cleanup_(freep) struct top_row **rows = calloc(table->n + 1, sizeof(*rows));
    size_t end;
    int r = rows ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < table->n; i++)
        rows[i] = &table->rows[i];
    if (r == 0 && table->n)
        qsort(rows, table->n, sizeof(struct top_row *), compare_named);
    for (size_t i = 0; r == 0 && i < table->n; i = end) {
        for (end = i + 1; end < table->n && str_equal(rows[i]->name, rows[end]->name);)
            end++;
        bool is_one = str_equal(rows[i]->target, rows[end - 1]->target);
        for (size_t k = i; r == 0 && !is_one && k < end; k++)
            r = table_label(table, rows[k]);
    }
    return r;
}

/*
 * Returns the entries to make rows from: the daemon's totals, unless rows stand for one CPU or PMU or the daemon has no
 * totals.
 */
static const json_t *table_entries(const struct top_table *table)
{
    const json_t *totals = json_object_get(table->rates, "totals");

    return json_is_array(totals) && table->kind != TOP_CPUS && !table->by_pmu ? totals
                                                                              : json_object_get(table->rates, "rates");
}

static int table_fill(struct top_table *table)
{
    const json_t *array = table_entries(table), *document;
    _cleanup_(freep) struct top_part *parts = calloc(json_array_size(array) + 1, sizeof(*parts));
    size_t n = 0, i, rows;

    table->rows = calloc(json_array_size(array) + 1, sizeof(*table->rows));
    table->texts = calloc(json_array_size(array) + 1, sizeof(*table->texts));
    if (!parts || !table->rows || !table->texts)
        return -ENOMEM;
    json_array_foreach (array, i, document)
        n += part_from(document, table->kind, &parts[n]);
    if (n)
        qsort(parts, n, sizeof(*parts), table->by_pmu ? compare_parts_by_pmu : compare_parts);
    for (i = 0; i < n; i += rows) {
        for (rows = 1; i + rows < n && compare_target(&parts[i], &parts[i + rows], table->by_pmu) == 0;)
            rows++;
        table_add_row(table, parts + i, rows);
    }
    if (table->kind != TOP_CGROUPS)
        return 0;
    table_add_names(table);
    return table_distinguish(table);
}

struct top_table *top_table_new(json_t *rates, json_t *cgroups, enum top_kind kind, bool by_pmu)
{
    _cleanup_(top_table_freep) struct top_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->kind = kind;
    table->by_pmu = by_pmu && kind == TOP_CGROUPS;
    table->rates = json_incref(rates);
    table->cgroups = json_incref(cgroups);
    return table_fill(table) < 0 ? NULL : steal(table);
}

size_t top_table_count(const struct top_table *table)
{
    return table->n;
}

const struct top_row *top_table_at(const struct top_table *table, size_t i)
{
    return &table->rows[i];
}

bool top_table_has(const struct top_table *table, size_t column)
{
    return column < top_column_count() && table->has >> column & 1;
}

/* The third argument of compare_rows(), passed by qsort_r(3). */
struct top_order {
    size_t column;
    bool reverse;
};

static int compare_rows(const void *a, const void *b, void *userdata)
{
    const struct top_row *one = a, *other = b;
    const struct top_order *order = userdata;
    int names = one->cpu >= 0 ? one->cpu - other->cpu : strcmp(one->label, other->label);

    if (order->column >= top_column_count())
        return order->reverse ? -names : names;
    double x = one->values[order->column], y = other->values[order->column];
    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    if (x < y || x > y)
        return (x < y) == !order->reverse ? 1 : -1;
    return names;
}

void top_table_sort(struct top_table *table, size_t column, bool reverse)
{
    struct top_order order = {column, reverse};

    if (table->n)
        qsort_r(table->rows, table->n, sizeof(*table->rows), compare_rows, &order);
}
