/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics in a plan: see plan-metrics.h. */
#include "cmd/plan-metrics.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cmd/table.h"

DEFINE_CLEANUP(struct table *, table_free);

/* How much the plan says of metrics in a state; the JSON has all. */
enum detail { DETAIL_COUNT, DETAIL_NAMES, DETAIL_EVENTS };

static const struct state {
    const char *reason, *words;
    enum detail detail;
} reasons[] = {
    {"available", "available", DETAIL_NAMES},     {"disabled", "disabled", DETAIL_COUNT},
    {"no_cgroup", "no cgroup", DETAIL_COUNT},     {"no_pmu", "no PMU", DETAIL_COUNT},
    {"no_event", "no such event", DETAIL_NAMES},  {"unavailable", "event refused", DETAIL_EVENTS},
    {"not_counted", "not counted", DETAIL_NAMES}, {"apart", "events apart", DETAIL_EVENTS},
    {"split", "group split", DETAIL_EVENTS},      {"uneven", "not on all CPUs", DETAIL_NAMES},
    {"starved", "starved", DETAIL_NAMES},
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const struct state *state_of(const json_t *entry)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (str_equal(reasons[i].reason, text_of(entry, "reason")))
            return &reasons[i];
    return &reasons[0];
}

/* Lines of at most this many characters of metrics: there may be forty. */
#define METRICS_WIDTH 72

static void add_line(struct table *table, const json_t *entry, const struct buffer *metrics, bool first)
{
    const struct state *state = state_of(entry);

    table_cell(table, TABLE_PLAIN, "%s", first ? text_of(entry, "collector") : "");
    table_cell(table, TABLE_PLAIN, "%s", first ? text_of(entry, "pmu") : "");
    table_cell(table, TABLE_PLAIN, "%s", first ? state->words : "");
    table_cell(table, state == &reasons[0] ? TABLE_PLAIN : TABLE_DIM, "%.*s", (int)metrics->size, metrics->data);
}

/* "l1d_mpki", with the events that are the reason: "l1d_mpki (l1d_cache_refill)". */
static char *metric_text(const json_t *metric, enum detail detail, bool last)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const json_t *event, *events = detail == DETAIL_EVENTS ? json_object_get(metric, "events") : NULL;
    size_t i = 0;

    buffer_append_text(&text, text_of(metric, "name"));
    json_array_foreach(events, i, event) buffer_appendf(&text, "%s%s", i ? ", " : " (", json_string_value(event));
    buffer_appendf(&text, "%s%s", i ? ")" : "", last ? "" : ", ");
    return buffer_string(&text);
}

static void add_entry(struct table *table, const json_t *entry)
{
    _cleanup_(buffer_done) struct buffer line = {0};
    const json_t *metric, *metrics = json_object_get(entry, "metrics");
    enum detail detail = state_of(entry)->detail;
    size_t i, n = json_array_size(metrics);
    bool first = true;

    if (detail == DETAIL_COUNT) {
        buffer_appendf(&line, "%zu metric%s", n, n == 1 ? "" : "s");
        add_line(table, entry, &line, true);
        return;
    }
    json_array_foreach(metrics, i, metric)
    {
        _cleanup_(freep) char *text = metric_text(metric, detail, i + 1 == n);
        if (line.size > 0 && text && line.size + strlen(text) > METRICS_WIDTH) {
            line.size--; /* the space behind the comma */
            add_line(table, entry, &line, first);
            buffer_clear(&line);
            first = false;
        }
        buffer_append_text(&line, text ? text : "");
    }
    add_line(table, entry, &line, first);
}

int plan_print_metrics(const json_t *metrics)
{
    static const char *const titles[] = {"COLLECTOR", "PMU", "STATE", "DERIVED METRICS"};
    static const char *const lists[] = {"available", "absent"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *entry;
    size_t i;

    if (!table)
        return -ENOMEM;
    for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
        json_array_foreach(json_object_get(metrics, lists[k]), i, entry) add_entry(table, entry);
    }
    fputc('\n', stdout);
    int r = table_print(table, stdout);
    printf(
        "the reasons: GET /api/v1/metrics, or \"perfcountd plan --json\"; the formulas: \"perfcountd list-metrics\"\n");
    return r;
}
