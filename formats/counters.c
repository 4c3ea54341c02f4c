/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/counters.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "formats/writers.h"
#include "metrics/metrics.h"
#include "perf/group.h"

/* --- rates --- */

/* The two readings from which rates are computed. */
struct interval {
    const struct baseline *baseline;
    const struct snapshot *snapshot;
    double *events; /* scratch space for the rates of the largest row */
};

static int interval_init(struct interval *interval, const struct baseline *baseline, const struct snapshot *snapshot)
{
    size_t n = 1;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        n = MAX(n, snapshot->rows[i]->n_counters);
    *interval = (struct interval){baseline, snapshot, calloc(n, sizeof(*interval->events))};
    return interval->events ? 0 : -ENOMEM;
}

static void interval_done(struct interval *interval)
{
    free(interval->events);
}

/* Computes the rates of a row. Returns the errors of rates_row(). `ret` is valid until the next call. */
static int interval_rates(struct interval *interval, const struct row *row, struct rates *ret)
{
    return rates_row(interval->baseline, interval->snapshot, row, interval->events, ret);
}

/* Fills `keys` with the *ret_n rows to write, in output order. Returns -ENOMEM on failure. */
static int find_rows(struct interval *interval, const struct filter *filter, const struct order *order,
                     struct order_key *keys, size_t *ret_n)
{
    const struct snapshot *snapshot = interval->snapshot;
    struct rates rates;
    size_t n = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (filter_passes_some(filter, row) && interval_rates(interval, row, &rates) == 0)
            keys[n++] = order_key_of(row, order->sort ? order_value(order, &rates) : NAN);
    }
    return order_apply(order, keys, n, ret_n);
}

static void write_event(struct json_document *document, const struct counter *counter, double rate,
                        const struct filter *filter)
{
    if (filter_passes_counter(filter, counter))
        json_document_add_real(document, counter->event, rate);
}

/* Writes why all rates of the row are null. */
static void write_failed(struct json_document *document, const struct snapshot *snapshot, const struct row *row)
{
    if (snapshot_row_failed(snapshot, row))
        json_document_add_string(document, "state", STATE_FAILED);
}

/* Writes the counts from which the rates are computed. Integers keep all their digits. */
static void write_counts(struct json_document *document, const struct interval *interval, const struct rates *rates,
                         const struct filter *filter)
{
    const struct row *row = rates->row;
    struct growth_event events[GROUP_MEMBERS_MAX];
    struct growth growth;

    if (baseline_growth(interval->baseline, interval->snapshot, row, events, &growth) < 0)
        return;
    json_document_add_real(document, "enabled", rates->times.enabled);
    json_document_add_real(document, "running", rates->times.running);
    json_document_open(document, "units", '{');
    for (size_t i = 0; i < row->n_counters; i++)
        if (row->counters[i].unit[0] && filter_passes_counter(filter, &row->counters[i]))
            json_document_add_string(document, row->counters[i].event, row->counters[i].unit);
    json_document_close(document);
    json_document_open(document, "counts", '{');
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct counter *counter = &row->counters[i];
        if (!filter_passes_counter(filter, counter))
            continue;
        if (events[i].known && counter->decimals == 0 && events[i].value <= INT64_MAX)
            json_document_add_i64(document, counter->event, (int64_t)events[i].value);
        else
            json_document_add_real(document, counter->event, growth_real(&events[i], counter->decimals));
    }
    json_document_close(document);
}

static void write_rates(struct json_document *document, const struct interval *interval, const struct rates *rates,
                        const struct filter *filter, bool counts)
{
    const struct row *row = rates->row;
    double utilization = rates_cpu_utilization(rates);

    json_document_open(document, NULL, '{');
    json_document_add_string(document, "collector", row->collector_name);
    if (row->cgroup)
        json_document_add_string(document, "cgroup", row->cgroup);
    if (row->cpu >= 0)
        json_document_add_i64(document, "cpu", row->cpu);
    json_document_add_string(document, "pmu", row->pmu);
    json_document_add_string(document, "group", row->group);
    write_failed(document, interval->snapshot, row);
    if (counts)
        write_counts(document, interval, rates, filter);
    json_document_open(document, "events", '{');
    for (size_t i = 0; i < row->n_counters; i++)
        write_event(document, &row->counters[i], rates->events[i], filter);
    json_document_close(document);
    json_document_open(document, "ratios", '{');
    for (size_t i = 0; i < rates->n_ratios; i++)
        json_document_add_real(document, rates->ratios[i].name, rates->ratios[i].value);
    if (!isnan(utilization))
        json_document_add_real(document, CPU_UTILIZATION, utilization);
    json_document_close(document);
    json_document_close(document);
}

/* --- totals --- */

const struct totals_kind totals_pmu = {"pmu", TOTALS_BY_PMU}, totals_cgroup = {"cgroup", TOTALS_BY_CGROUP};

const struct totals_kind *totals_kind_find(const char *name, struct error *error)
{
    static const struct totals_kind *const kinds[] = {&totals_pmu, &totals_cgroup};
    _cleanup_(unknown_done) struct unknown unknown = {.suggest = {.wrong = name}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (str_equal(kinds[i]->name, name))
            return kinds[i];
        unknown_consider(&unknown, kinds[i]->name);
    }
    unknown_error(&unknown, error, "parameter \"totals\": there are no totals by \"%.64s\"", name);
    return NULL;
}

static bool is_added_up(const void *filter, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && filter_passes_some(filter, row);
}

static void write_pmus(struct json_document *document, const struct total *total, enum totals_order order)
{
    if (order != TOTALS_BY_CGROUP || !total->row->cgroup) {
        json_document_add_string(document, "pmu", total->row->pmu);
        return;
    }
    json_document_open(document, "pmus", '[');
    for (size_t i = 0; i < total->n_pmus; i++)
        json_document_add_string(document, NULL, total->pmus[i]);
    json_document_close(document);
}

static int write_total(struct json_document *document, const struct snapshot *snapshot, const struct total *total,
                       enum totals_order order, const struct filter *filter)
{
    const struct row *row = total->row;
    _cleanup_(freep) char *cpus = cpuset_format(&total->cpus);

    if (!cpus)
        return -ENOMEM;
    json_document_open(document, NULL, '{');
    json_document_add_string(document, "collector", row->collector_name);
    if (row->cgroup)
        json_document_add_string(document, "cgroup", row->cgroup);
    write_pmus(document, total, order);
    if (*cpus)
        json_document_add_string(document, "cpus", cpus);
    json_document_add_string(document, "group", row->group);
    write_failed(document, snapshot, row);
    json_document_open(document, "events", '{');
    for (size_t i = 0; i < total->n_events; i++)
        write_event(document, total->events[i].counter, total->rates[i], filter);
    json_document_close(document);
    json_document_open(document, "ratios", '{');
    for (size_t i = 0; total->metric_set && i < metric_set_count(total->metric_set); i++) {
        double value = total_metric(total, i);
        if (!isnan(value))
            json_document_add_real(document, metric_set_metric(total->metric_set, i)->name, value);
    }
    json_document_close(document);
    json_document_close(document);
    return 0;
}

static int write_totals(struct json_document *document, const struct interval *interval, enum totals_order order,
                        const struct filter *filter)
{
    _cleanup_(totals_done) struct totals totals = {0};
    int r = totals_make(interval->baseline, interval->snapshot, order, is_added_up, filter, &totals);

    json_document_open(document, "totals", '[');
    for (size_t i = 0; r == 0 && i < totals.n; i++)
        r = write_total(document, interval->snapshot, &totals.items[i], order, filter);
    json_document_close(document);
    return r;
}

int rates_json_write(struct buffer *out, const struct baseline *baseline, const struct snapshot *snapshot,
                     const struct filter *filter, const struct order *order, const struct totals_kind *totals,
                     bool counts)
{
    static const struct order as_they_are = {0};
    _cleanup_(freep) struct order_key *keys = calloc(snapshot->n_rows + 1, sizeof(*keys));
    _cleanup_(interval_done) struct interval interval = {0};
    struct json_document document = {.out = out};
    struct rates rates;
    size_t n;

    if (!keys || interval_init(&interval, baseline, snapshot) < 0)
        return -ENOMEM;
    if (find_rows(&interval, filter, order ? order : &as_they_are, keys, &n) < 0)
        return -ENOMEM;
    json_document_open(&document, NULL, '{');
    json_document_add_real(&document, "seconds", rates_seconds(baseline, snapshot));
    json_document_open(&document, "rates", '[');
    for (size_t i = 0; i < n; i++)
        if (interval_rates(&interval, keys[i].item, &rates) == 0)
            write_rates(&document, &interval, &rates, filter, counts);
    json_document_close(&document);
    if (totals && write_totals(&document, &interval, totals->order, filter) < 0)
        return -ENOMEM;
    json_document_close(&document);
    buffer_append_char(out, '\n');
    return out->failed ? -ENOMEM : 0;
}

/* --- counters --- */

/* Upper bound on the size of a counter's keys, numbers and state, in bytes. */
#define COUNTER_SIZE_MAX 384

static char *put_interned(char *to, const char *text)
{
    if (!intern_is_plain(text))
        return json_put_string(to, text);
    *to++ = '"';
    to = put_bytes(to, text, intern_size(text));
    *to++ = '"';
    return to;
}

static char *write_value(char *to, const struct counter *counter)
{
    double real;

    if (!counter->known)
        return put_text(to, "null");
    if (counter->decimals != SERIES_REAL)
        return to + number_write_fixed(to, counter->value, counter->decimals);
    memcpy(&real, &counter->value, sizeof(real));
    return isfinite(real) ? to + number_write_real(to, real) : put_text(to, "null");
}

static char *write_number_member(char *to, const char *key, uint64_t value)
{
    to = put_text(to, key);
    return to + number_write_u64(to, value);
}

/*
 * Writes two numbers, the second with the key `key`. They are equal unless the group was multiplexed, and are then
 * rendered only once.
 */
static inline char *write_pair(char *to, uint64_t first, const char *key, uint64_t second)
{
    char digits[NUMBER_SIZE_MAX]; /* copied whole, because copies of constant size are cheaper */
    size_t size = number_write_u64(digits, first);

    memcpy(to, digits, sizeof(digits));
    to = put_text(to + size, key);
    if (second != first)
        return to + number_write_u64(to, second);
    memcpy(to, digits, sizeof(digits));
    return to + size;
}

static char *write_value_and_raw(char *to, const struct counter *counter)
{
    if (counter->known && counter->decimals == 0)
        return write_pair(to, counter->value, ", \"raw\": ", counter->raw);
    return write_number_member(write_value(to, counter), ", \"raw\": ", counter->raw);
}

static char *write_before_event(char *to, const struct row *row)
{
    to = put_interned(put_text(to, ",\n {\"collector\": "), row->collector_name);
    return put_text(to, ", \"event\": ");
}

static char *write_before_value(char *to, const struct row *row, const struct counter *counter)
{
    if (row->cgroup)
        to = json_put_string(put_text(to, ", \"cgroup\": "), row->cgroup);
    if (row->cpu >= 0)
        to = write_number_member(to, ", \"cpu\": ", (uint64_t)row->cpu);
    to = put_interned(put_text(to, ", \"pmu\": "), counter->pmu);
    to = put_interned(put_text(to, ", \"group\": "), row->group);
    to = put_interned(put_text(to, ", \"unit\": "), counter->unit);
    if (row->error)
        to = json_put_string(put_text(to, ", \"error\": "), row->error);
    return put_text(to, ", \"value\": ");
}

static char *write_after_raw(char *to, const struct row *row, bool failed)
{
    if (row->state != ROW_UNAVAILABLE && !failed) {
        to = put_text(to, ", \"enabled_ns\": ");
        to = write_pair(to, row->enabled_ns, ", \"running_ns\": ", row->running_ns);
    }
    to = put_text(to, ", \"state\": \"");
    to = put_text(to, failed ? STATE_FAILED : row_state_name(row->state));
    return put_text(to, "\"}");
}

/*
 * Text that all counters of a row share. It is rendered for the first counter and copied for the others, because
 * rendering takes twice as long as copying.
 */
struct part {
    const char *text;
    size_t size;
};
struct parts {
    struct part before_event;
    struct part before_value; /* text between the event and the value */
    const char *pmu, *unit;   /* PMU and unit in `before_value`; interned, so that addresses can be compared */
    struct part after_raw;    /* text from the raw count to the next counter's event; empty before the first counter */
};

/* Writes the text from this counter's event up to the next counter's event. */
static char *write_counter(char *to, const struct row *row, const struct counter *counter, bool failed,
                           struct parts *parts)
{
    char *start = to = put_interned(to, counter->event);

    if (counter->pmu == parts->pmu && counter->unit == parts->unit)
        to = put_bytes(to, parts->before_value.text, parts->before_value.size);
    else
        to = write_before_value(to, row, counter);
    parts->before_value = (struct part){start, (size_t)(to - start)};
    parts->pmu = counter->pmu;
    parts->unit = counter->unit;
    if (row->state == ROW_UNAVAILABLE || failed)
        to = put_text(to, "null");
    else
        to = write_value_and_raw(to, counter);
    if (parts->after_raw.text)
        return put_bytes(to, parts->after_raw.text, parts->after_raw.size);
    start = to;
    to = write_after_raw(to, row, failed);
    to = put_bytes(to, parts->before_event.text, parts->before_event.size);
    parts->after_raw = (struct part){start, (size_t)(to - start)};
    return to;
}

/* Upper bound on the size of the row's JSON and of the text before one more event, in bytes. */
static size_t room_for(const struct row *row)
{
    size_t n = row->n_counters + 1, size = n * (intern_size(row->collector_name) + intern_size(row->group));

    if (row->cgroup)
        size += n * strlen(row->cgroup);
    if (row->error)
        size += n * strlen(row->error);
    for (size_t i = 0; i < row->n_counters; i++) {
        const struct counter *counter = &row->counters[i];
        size += intern_size(counter->event) + intern_size(counter->pmu) + intern_size(counter->unit);
    }
    return size * JSON_ESCAPED_MAX + n * COUNTER_SIZE_MAX;
}

/* Writes the counters of a row, each preceded by a comma. */
static void write_row(struct buffer *out, const struct row *row, bool failed, const struct filter *filter)
{
    bool all = filter_is_mask(filter);
    char *start = buffer_reserve(out, room_for(row));

    if (!start)
        return;
    char *event = write_before_event(start, row), *to = event;
    struct parts parts = {.before_event = {start, (size_t)(event - start)}};
    for (size_t i = 0; i < row->n_counters; i++)
        if (all || filter_passes_counter(filter, &row->counters[i]))
            to = write_counter(to, row, &row->counters[i], failed, &parts);
    /* drop the text that was written ahead for an event that does not follow */
    buffer_advance(out, (size_t)(to - start) - parts.before_event.size);
}

#define CACHE_LINE 64
#define AHEAD 4

/*
 * Prefetches the row that will be written AHEAD rows from now. A row has more cache lines than the hardware prefetcher
 * fetches.
 */
static void prefetch(const struct row *row, size_t n_counters)
{
    size_t size = sizeof(*row) + n_counters * sizeof(row->counters[0]);

    for (size_t at = 0; at < size; at += CACHE_LINE)
        __builtin_prefetch((const char *)row + at);
}

static void write_rows(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (i + AHEAD < snapshot->n_rows)
            prefetch(snapshot->rows[i + AHEAD], row->n_counters);
        if (!row->absent && filter_passes_row(filter, row))
            write_row(out, row, snapshot_row_failed(snapshot, row), filter);
    }
}

int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname)
{
    uint64_t ms = snapshot->realtime_ns / NSEC_PER_MSEC;

    /*
     * Allocates the buffer at once, because growing a large buffer copies it. The JSON text is less than twice as large
     * as the text format.
     */
    if (filter_is_mask(filter))
        buffer_reserve(buffer, 2 * metrics_text_size(&snapshot->metrics, filter_mask(filter), false));
    buffer_appendf(buffer, "{\"timestamp\": %" PRIu64 ".%03u, \"hostname\": ", ms / 1000, (unsigned)(ms % 1000));
    json_write_string(buffer, hostname);
    json_write_raw(buffer, ", \"counters\": ");
    size_t first = buffer->size;
    write_rows(buffer, snapshot, filter);
    if (buffer->size > first)
        buffer->data[first] = '['; /* replaces the comma before the first counter */
    else
        buffer_append_char(buffer, '[');
    json_write_raw(buffer, "]}\n");
    return buffer->failed ? -ENOMEM : 0;
}

/* --- formats --- */

static int write_exposition_text(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter)
{
    return exposition_write(out, &snapshot->metrics, filter_mask(filter), EXPOSITION_TEXT);
}

static int write_exposition_openmetrics(struct buffer *out, const struct snapshot *snapshot,
                                        const struct filter *filter)
{
    return exposition_write(out, &snapshot->metrics, filter_mask(filter), EXPOSITION_OPENMETRICS);
}

static int write_counters_json(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter)
{
    char hostname[256] = "";

    gethostname(hostname, sizeof(hostname) - 1);
    return counters_write(out, snapshot, filter, hostname);
}

const struct counter_format counter_formats[] = {
    [COUNTERS_TEXT] = {"text/plain; version=0.0.4; charset=utf-8", write_exposition_text},
    [COUNTERS_OPENMETRICS] = {"application/openmetrics-text; version=1.0.0; charset=utf-8",
                              write_exposition_openmetrics},
    [COUNTERS_JSON] = {"application/json", write_counters_json},
};

const struct sample_format sample_formats[] = {
    [FORMAT_NDJSON] = {"application/x-ndjson", &writer_ndjson},
    [FORMAT_PERF_DATA] = {"application/octet-stream", &writer_perf_data},
    [FORMAT_PPROF] = {"application/octet-stream", &writer_pprof},
    [FORMAT_FOLDED] = {"text/plain; charset=utf-8", &writer_folded},
};
