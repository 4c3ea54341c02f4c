/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/readings.h"

#include <math.h>

#include "tests/unit/test.h"

static const char *const names[] = {"cpu", "pmu", "cgroup", NULL};

void readings_init(struct readings *readings)
{
    *readings = (struct readings){.snapshot = {.collector_names = names}};
}

void readings_done(struct readings *readings)
{
    baseline_free(readings->baseline);
    snapshot_done(&readings->snapshot);
}

static unsigned collector_of(const char *pmu, const char *cgroup)
{
    if (cgroup)
        return 2;
    return str_equal(pmu, "rockchip_ddr") || str_equal(pmu, "power");
}

static void fill_counter(struct row_counter *counter, char *event, const char *pmu)
{
    char *unit = strchr(event, ':');
    char *name = NULL;

    if (unit)
        *unit++ = '\0';
    assert_true(asprintf(&name, "perf_test_%s_total", event) > 0);
    *counter = (struct row_counter){.event = event, .pmu = pmu, .unit = unit ? unit : "", .scale = 1};
    if (unit)
        counter->decimals = str_equal(unit, "seconds") ? 9 : SERIES_REAL;
    counter->metric = (struct metric){name, "H.", counter->unit, METRIC_COUNTER};
}

struct row *readings_add(struct readings *readings, const char *pmu, const char *group, const char *cgroup, int cpu,
                         const char *events)
{
    const struct row_target target = {
        .collector = collector_of(pmu, cgroup), .group = group, .pmu = pmu, .cgroup = cgroup, .cpu = cpu};
    struct row_counter counters[8];
    char list[256], *rest = NULL;
    size_t n = 0;

    snprintf(list, sizeof(list), "%s", events);
    for (char *event = strtok_r(list, ",", &rest); event; event = strtok_r(NULL, ",", &rest)) {
        assert_true(n < ARRAY_SIZE(counters));
        fill_counter(&counters[n++], event, pmu);
    }
    struct row *row = snapshot_add_row(&readings->snapshot, &target, counters, n);
    assert_non_null(row);
    for (size_t i = 0; i < n; i++) {
        free((char *)counters[i].metric.name);
        row->counters[i].known = true;
    }
    return row;
}

void readings_refuse(struct readings *readings, const char *pmu, const char *group, int cpu, const char *event)
{
    const struct row_counter counter = {.event = event, .pmu = pmu, .unit = ""};
    const struct row_target target = {.group = group, .pmu = pmu, .cpu = cpu, .error = "it is refused"};

    assert_non_null(snapshot_add_row(&readings->snapshot, &target, &counter, 1));
}

void readings_begin(struct readings *readings)
{
    readings->baseline = baseline_new(&readings->snapshot);
    assert_non_null(readings->baseline);
    readings->snapshot.monotonic_ns += (uint64_t)(READINGS_SECONDS * 1e9);
}

static void grow(struct counter *counter, double value)
{
    if (counter->decimals == SERIES_REAL)
        memcpy(&counter->value, &value, sizeof(value));
    else
        counter->value += (uint64_t)llround(value * pow(10, counter->decimals));
}

void readings_count(struct row *row, double first, double second, double running)
{
    grow(&row->counters[0], first);
    if (row->n_counters > 1)
        grow(&row->counters[1], second);
    row->enabled_ns += (uint64_t)(READINGS_SECONDS * 1e9);
    row->running_ns += (uint64_t)(running * 1e9);
    if (running == 0)
        row->state = ROW_STARVED;
}
