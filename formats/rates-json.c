/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and ratios as JSON: see rates-json.h. */
#include "formats/rates-json.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "collectors/totals.h"

/* The two readings that rates are computed from. */
struct interval {
    const struct baseline *baseline;
    const struct snapshot *snapshot;
    double *events; /* room for the rates of the largest row */
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

/* Errors of rates_row(). `ret` is valid until the next row's. */
static int interval_rates(struct interval *interval, const struct row *row, struct rates *ret)
{
    return rates_row(interval->baseline, interval->snapshot, row, interval->events, ret);
}

/* Puts the rows to write into `keys`, in their order. Returns their number. */
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

static void write_events(struct json_document *document, const struct row *row, const double *events,
                         const struct filter *filter)
{
    json_document_open(document, "events", '{');
    for (size_t i = 0; i < row->n_counters; i++)
        if (filter_passes_counter(filter, &row->counters[i]))
            json_document_add_real(document, row->counters[i].event, events[i]);
    json_document_close(document);
}

/* Why all is null. */
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
    write_events(document, row, rates->events, filter);
    json_document_open(document, "ratios", '{');
    for (size_t i = 0; i < rates->n_ratios; i++)
        json_document_add_real(document, rates->ratios[i].name, rates->ratios[i].value);
    json_document_close(document);
    json_document_close(document);
}

/* --- the rows of each PMU, added up */

static bool is_added_up(const void *filter, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && filter_passes_some(filter, row);
}

static int write_total(struct json_document *document, const struct snapshot *snapshot, const struct total *total,
                       const struct filter *filter)
{
    const struct row *row = total->row;
    _cleanup_(freep) char *cpus = cpuset_format(&total->cpus);

    if (!cpus)
        return -ENOMEM;
    json_document_open(document, NULL, '{');
    json_document_add_string(document, "collector", row->collector_name);
    if (row->cgroup)
        json_document_add_string(document, "cgroup", row->cgroup);
    json_document_add_string(document, "pmu", row->pmu);
    if (*cpus)
        json_document_add_string(document, "cpus", cpus);
    json_document_add_string(document, "group", row->group);
    write_failed(document, snapshot, row);
    write_events(document, row, total->rates, filter);
    json_document_open(document, "ratios", '{');
    for (size_t i = 0; total->derivation && i < derivation_count(total->derivation); i++) {
        double value = total_metric(total, i);
        if (!isnan(value))
            json_document_add_real(document, derivation_metric(total->derivation, i)->name, value);
    }
    json_document_close(document);
    json_document_close(document);
    return 0;
}

static int write_totals(struct json_document *document, const struct interval *interval, const struct filter *filter)
{
    _cleanup_(totals_done) struct totals totals = {0};
    int r = totals_make(interval->baseline, interval->snapshot, TOTALS_BY_PMU, is_added_up, filter, &totals);

    json_document_open(document, "totals", '[');
    for (size_t i = 0; r == 0 && i < totals.n; i++)
        r = write_total(document, interval->snapshot, &totals.items[i], filter);
    json_document_close(document);
    return r;
}

int rates_json_write(struct buffer *out, const struct baseline *baseline, const struct snapshot *snapshot,
                     const struct filter *filter, const struct order *order, bool totals)
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
    if (totals && write_totals(&document, &interval, filter) < 0)
        return -ENOMEM;
    json_document_close(&document);
    buffer_append_char(out, '\n');
    return out->failed ? -ENOMEM : 0;
}
