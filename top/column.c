/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of numbers: see top-column.h. */
#include "top/column.h"

#include <math.h>
#include <stdio.h>

static const struct top_column columns[] = {
    {"cpu", "%CPU", "CPU time; 100 is one CPU", {"cpu_utilization"}, {0}, {0}, TOP_PERCENT, 'P'},
    {"ipc", "IPC", "instructions for each cycle", {"ipc"}, {0}, {0}, TOP_RATIO, 'I'},
    {"frequency", "GHZ", "cycles for each second of CPU time", {"frequency_hertz"}, {0}, {0}, TOP_GIGA, 'G'},
    {"stalls", "STALL%", "cycles that waited for data", {"backend_stall_ratio"}, {0}, {0}, TOP_PERCENT, 'B'},
    {.name = "misses",
     .title = "MISSES/s",
     .help = "misses of the last cache that is counted",
     .events = {"ll_cache_miss_rd", "cache_misses", "llc_load_misses", "l3d_cache_refill", "l2d_cache_refill"},
     .format = TOP_QUANTITY,
     .key = 'M'},
    {"mpki", "MPKI", "those misses in 1000 instructions", {"llc_mpki", "l2_mpki"}, {0}, {0}, TOP_RATIO, 'L'},
    {"branches", "BR-MPKI", "branch misses in 1000 instructions", {"branch_mpki"}, {0}, {0}, TOP_RATIO, 'R'},
    {"faults", "FAULTS/s", "page faults", {0}, {"page_faults"}, {"minor_faults", "major_faults"}, TOP_QUANTITY, 'F'},
    {"switches", "SWITCH/s", "context switches", {0}, {"context_switches"}, {0}, TOP_QUANTITY, 'S'},
    {"migrations", "MIGR/s", "moves to another CPU", {0}, {"cpu_migrations"}, {0}, TOP_QUANTITY, 'V'},
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

/* Whether it is one of the texts, which may end with NULL; "-" and "_" are the same. */
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

bool top_column_value(const struct top_column *column, const json_t *events, const json_t *ratios, double *ret)
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
