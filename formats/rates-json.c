/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and ratios as JSON: see rates-json.h. */
#include "formats/rates-json.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"

static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int set_events(json_t *entry, const struct rates *rates, const struct filter *filter)
{
    json_t *events = json_object();

    if (json_object_set_new(entry, "events", events) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < rates->row->n_counters; i++) {
        const struct counter *counter = &rates->row->counters[i];
        if (!filter_counter(filter, counter))
            continue;
        if (json_object_set_new_nocheck(events, counter->event, json_number(rates->events[i])) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int set_ratios(json_t *entry, const struct rates *rates)
{
    json_t *ratios = json_object();

    if (json_object_set_new(entry, "ratios", ratios) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < rates->n_ratios; i++)
        if (json_object_set_new(ratios, rates->ratios[i].name, json_number(rates->ratios[i].value)) < 0)
            return -ENOMEM;
    return 0;
}

static int set_target(json_t *entry, const struct row *row)
{
    if (json_object_set_new(entry, "collector", json_text(row->collector_name)) < 0)
        return -ENOMEM;
    if (row->cgroup && json_object_set_new(entry, "cgroup", json_text(row->cgroup)) < 0)
        return -ENOMEM;
    if (row->cpu >= 0 && json_object_set_new(entry, "cpu", json_integer(row->cpu)) < 0)
        return -ENOMEM;
    if (json_object_set_new(entry, "pmu", json_text(row->pmu)) < 0 ||
        json_object_set_new(entry, "group", json_text(row->group)) < 0)
        return -ENOMEM;
    return 0;
}

static json_t *render_row(const struct rates *rates, const struct filter *filter)
{
    _cleanup_(json_decrefp) json_t *entry = json_object();

    if (!entry || set_target(entry, rates->row) < 0 || set_events(entry, rates, filter) < 0 ||
        set_ratios(entry, rates) < 0)
        return NULL;
    return steal(entry);
}

static bool passes(const struct row *row, const struct filter *filter)
{
    bool any = false;

    for (size_t i = 0; i < row->n_counters; i++)
        any |= filter_counter(filter, &row->counters[i]);
    return any && filter_row(filter, row);
}

/* The rates of a row, with the memory for them. */
struct computed {
    struct rates rates;
    double *events;
};

static void computed_done(struct computed *computed)
{
    free(computed->events);
}

/* Errors of rates_row(); -ENOMEM. */
static int compute(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                   struct computed *ret)
{
    ret->events = calloc(row->n_counters + 1, sizeof(*ret->events));
    return ret->events ? rates_row(baseline, snapshot, row, ret->events, &ret->rates) : -ENOMEM;
}

static int add_key(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row,
                   const struct order *order, struct order_key *keys, size_t *n)
{
    _cleanup_(computed_done) struct computed computed = {0};
    int r = compute(baseline, snapshot, row, &computed);

    if (r == 0)
        keys[(*n)++] = (struct order_key){row, order->sort ? order_value(order, &computed.rates) : NAN};
    return r == -ENODATA ? 0 : r;
}

static int append_row(json_t *list, const struct baseline *baseline, const struct snapshot *snapshot,
                      const struct row *row, const struct filter *filter)
{
    _cleanup_(computed_done) struct computed computed = {0};

    if (compute(baseline, snapshot, row, &computed) < 0)
        return -ENOMEM;
    return json_array_append_new(list, render_row(&computed.rates, filter)) < 0 ? -ENOMEM : 0;
}

static int append_rows(json_t *list, const struct baseline *baseline, const struct snapshot *snapshot,
                       const struct filter *filter, const struct order *order)
{
    _cleanup_(freep) struct order_key *keys = calloc(snapshot->n_rows + 1, sizeof(*keys));
    size_t n = 0;
    int r = keys ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < snapshot->n_rows; i++)
        if (passes(snapshot->rows[i], filter))
            r = add_key(baseline, snapshot, snapshot->rows[i], order, keys, &n);
    if (r == 0)
        n = order_apply(order, keys, n);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = append_row(list, baseline, snapshot, keys[i].row, filter);
    return r;
}

json_t *rates_json(const struct baseline *baseline, const struct snapshot *snapshot, const struct filter *filter,
                   const struct order *order)
{
    static const struct order as_they_are = {0};
    _cleanup_(json_decrefp) json_t *document = json_object();
    json_t *list = json_array();

    if (!document || json_object_set_new(document, "seconds", json_number(rates_seconds(baseline, snapshot))) < 0 ||
        json_object_set_new(document, "rates", list) < 0)
        return NULL;
    return append_rows(list, baseline, snapshot, filter, order ? order : &as_they_are) < 0 ? NULL : steal(document);
}
