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

/* Returns the errors of rates_row(). `ret` is valid until the next call. */
static int interval_rates(struct interval *interval, const struct row *row, struct rates *ret)
{
    return rates_row(interval->baseline, interval->snapshot, row, interval->events, ret);
}

/* Fills `keys` with the rows to write, in their order. Returns their number. */
static size_t find_rows(struct interval *interval, const struct filter *filter, const struct order *order,
                        struct order_key *keys)
{
    const struct snapshot *snapshot = interval->snapshot;
    struct rates rates;
    size_t n = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (filter_passes_some(filter, row) && interval_rates(interval, row, &rates) == 0)
            keys[n++] = (struct order_key){row, order->sort ? order_value(order, &rates) : NAN};
    }
    return order_apply(order, keys, n);
}

static void write_event(struct json_document *document, const struct counter *counter, double rate,
                        const struct filter *filter)
{
    if (filter_passes_counter(filter, counter))
        json_document_add_real(document, counter->event, rate);
}

/* Explains why all rates of the row are null. */
static void write_failed(struct json_document *document, const struct snapshot *snapshot, const struct row *row)
{
    if (snapshot_row_failed(snapshot, row))
        json_document_add_string(document, "state", STATE_FAILED);
}

static void write_rates(struct json_document *document, const struct snapshot *snapshot, const struct rates *rates,
                        const struct filter *filter)
{
    const struct row *row = rates->row;

    json_document_open(document, NULL, '{');
    json_document_add_string(document, "collector", row->collector_name);
    if (row->cgroup)
        json_document_add_string(document, "cgroup", row->cgroup);
    if (row->cpu >= 0)
        json_document_add_i64(document, "cpu", row->cpu);
    json_document_add_string(document, "pmu", row->pmu);
    json_document_add_string(document, "group", row->group);
    write_failed(document, snapshot, row);
    json_document_open(document, "events", '{');
    for (size_t i = 0; i < row->n_counters; i++)
        write_event(document, &row->counters[i], rates->events[i], filter);
    json_document_close(document);
    json_document_open(document, "ratios", '{');
    for (size_t i = 0; i < rates->n_ratios; i++)
        json_document_add_real(document, rates->ratios[i].name, rates->ratios[i].value);
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
    unknown_error(&unknown, error, "parameter \"totals\": there are no sums by \"%.64s\"", name);
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
                     const struct filter *filter, const struct order *order, const struct totals_kind *totals)
{
    static const struct order as_they_are = {0};
    _cleanup_(freep) struct order_key *keys = calloc(snapshot->n_rows + 1, sizeof(*keys));
    _cleanup_(interval_done) struct interval interval = {0};
    struct json_document document = {.out = out};
    struct rates rates;

    if (!keys || interval_init(&interval, baseline, snapshot) < 0)
        return -ENOMEM;
    size_t n = find_rows(&interval, filter, order ? order : &as_they_are, keys);
    json_document_open(&document, NULL, '{');
    json_document_add_real(&document, "seconds", rates_seconds(baseline, snapshot));
    json_document_open(&document, "rates", '[');
    for (size_t i = 0; i < n; i++)
        if (interval_rates(&interval, keys[i].row, &rates) == 0)
            write_rates(&document, snapshot, &rates, filter);
    json_document_close(&document);
    if (totals && write_totals(&document, &interval, totals->order, filter) < 0)
        return -ENOMEM;
    json_document_close(&document);
    buffer_append_char(out, '\n');
    return out->failed ? -ENOMEM : 0;
}

/* --- counters --- */

/*
 * The constant text of a row and of its counters was escaped when the row was made. Only the numbers are formatted
 * here, between these texts, into memory that is reserved once.
 */

#define CACHE_LINE 64
#define AHEAD 4

static char *write_value(char *to, const struct counter *counter)
{
    double real;

    if (!counter->known)
        return put_text(to, "null");
    if (counter->decimals == 0)
        return to + number_write_u64(to, counter->value);
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

/* Writes the members that follow the values. They are the same for all counters of a row. */
static size_t write_row_end(char *start, const struct row *row, bool failed)
{
    char *to = start;

    if (row->state != ROW_UNAVAILABLE && !failed) {
        to = write_number_member(to, ", \"enabled_ns\": ", row->enabled_ns);
        to = write_number_member(to, ", \"running_ns\": ", row->running_ns);
    }
    to = put_text(to, ", \"state\": \"");
    to = put_text(to, failed ? STATE_FAILED : row_state_name(row->state));
    return (size_t)(put_text(to, "\"}") - start);
}

static char *write_counter(char *to, const struct row *row, const struct counter *counter, bool failed)
{
    to = put_bytes(to, counter->json_head, intern_size(counter->json_head));
    to = put_bytes(to, row->json, row->json_size);
    to = put_bytes(to, counter->json_tail, intern_size(counter->json_tail));
    if (row->json_error)
        to = put_text(to, row->json_error);
    to = put_text(to, ", \"value\": ");
    if (row->state == ROW_UNAVAILABLE || failed)
        return put_text(to, "null");
    to = write_value(to, counter);
    return write_number_member(to, ", \"raw\": ", counter->raw);
}

/* Prefetches a row that is written later (AHEAD): a row spans more cache lines than the hardware prefetcher fetches. */
static void prefetch(const struct row *row, size_t n_counters)
{
    size_t size = sizeof(*row) + n_counters * sizeof(row->counters[0]);

    for (size_t at = 0; at < size; at += CACHE_LINE)
        __builtin_prefetch((const char *)row + at);
}

static char *write_rows(char *to, const struct snapshot *snapshot, const struct filter *filter)
{
    const char *separator = "\n ";

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        char end[COUNTER_NUMBERS_MAX];

        if (i + AHEAD < snapshot->n_rows)
            prefetch(snapshot->rows[i + AHEAD], row->n_counters);
        if (row->absent || !filter_passes_row(filter, row))
            continue;
        bool failed = snapshot_row_failed(snapshot, row);
        size_t end_size = write_row_end(end, row, failed);
        for (size_t k = 0; k < row->n_counters; k++) {
            if (!filter_passes_counter(filter, &row->counters[k]))
                continue;
            to = put_text(to, separator);
            to = write_counter(to, row, &row->counters[k], failed);
            to = put_bytes(to, end, end_size);
            separator = ",\n ";
        }
    }
    return to;
}

/* An upper bound on the size of the selected counters, in bytes. */
static size_t room_for(const struct snapshot *snapshot, const struct filter *filter)
{
    size_t size = 0;

    if (!filter || (filter->mask == 0 && filter->n == 0))
        return snapshot->json_size;
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (filter_passes_row(filter, snapshot->rows[i]))
            size += row_json_size(snapshot->rows[i]);
    return size;
}

int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname)
{
    uint64_t ms = snapshot->realtime_ns / NSEC_PER_MSEC;

    buffer_appendf(buffer, "{\"timestamp\": %" PRIu64 ".%03u, \"hostname\": ", ms / 1000, (unsigned)(ms % 1000));
    json_write_string(buffer, hostname);
    buffer_append_text(buffer, ", \"counters\": [");
    char *start = buffer_reserve(buffer, room_for(snapshot, filter));
    if (!start)
        return -ENOMEM;
    buffer_advance(buffer, (size_t)(write_rows(start, snapshot, filter) - start));
    buffer_append_text(buffer, "]}\n");
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
