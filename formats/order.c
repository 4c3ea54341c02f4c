/* SPDX-License-Identifier: Apache-2.0 */
/* The order and the number of the rates that a client wants: see order.h. */
#include "formats/order.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/unknown.h"
#include "collectors/known.h"

static int parse_limit(const char *value, size_t *ret, struct error *error)
{
    uint64_t limit;

    if (number_parse_u64(value, &limit) < 0 || limit < 1 || limit > ORDER_LIMIT_MAX)
        return error_set(error, -EINVAL, "parameter \"limit\": expected a number from 1 to %d, found \"%.64s\"",
                         ORDER_LIMIT_MAX, value);
    *ret = (size_t)limit;
    return 0;
}

int order_add(struct order *order, const char *name, const char *value, struct error *error)
{
    if (str_equal(name, "limit"))
        return parse_limit(value, &order->limit, error);
    if (str_equal(name, "sort")) {
        order->sort = value;
        return 0;
    }
    if (!str_equal(name, "order"))
        return -ENOENT;
    if (!str_equal(value, "asc") && !str_equal(value, "desc"))
        return error_set(error, -EINVAL, "parameter \"order\": expected \"asc\" or \"desc\", found \"%.64s\"", value);
    order->given = true;
    order->ascending = str_equal(value, "asc");
    return 0;
}

static bool row_has_metric(const struct row *row, const char *name)
{
    for (size_t i = 0; row->derivation && i < derivation_count(row->derivation); i++)
        if (filter_event_matches(name, derivation_metric(row->derivation, i)->name))
            return true;
    return false;
}

static bool is_metric(const char *name)
{
    for (size_t i = 0; i < derived_count(); i++)
        if (filter_event_matches(name, derived_at(i)->name))
            return true;
    return false;
}

/* The name that was given, and those that can be: derived metrics of the rows, and events. */
struct choice {
    struct unknown unknown;
    bool found;
};

static void choice_done(struct choice *choice)
{
    unknown_done(&choice->unknown);
}

static void choice_take(void *userdata, const char *name)
{
    struct choice *choice = userdata;

    choice->found = choice->found || filter_event_matches(choice->unknown.suggest.wrong, name);
    unknown_consider(&choice->unknown, name);
}

/* -EINVAL where nothing here ever has the name. */
static int check_name(const char *name, const struct snapshot *snapshot, struct error *error)
{
    _cleanup_(choice_done) struct choice choice = {.unknown.suggest.wrong = name};

    if (is_metric(name))
        return 0;
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct derivation *derivation = snapshot->rows[i]->derivation;
        for (size_t k = 0; derivation && k < derivation_count(derivation); k++)
            choice_take(&choice, derivation_metric(derivation, k)->name);
    }
    known_each(snapshot, KNOWN_EVENTS, choice_take, &choice);
    if (choice.found)
        return 0;
    return unknown_error(&choice.unknown, error,
                         "parameter \"sort\": there is no event or derived metric \"%.64s\" here", name);
}

static bool row_has_event(const struct row *row, const char *name)
{
    for (size_t i = 0; i < row->n_counters; i++)
        if (filter_event_matches(name, row->counters[i].event))
            return true;
    return false;
}

/* Why no row has an event: the failure of a row that would have it; NULL: there is none. */
static const char *find_failure(const struct snapshot *snapshot, const struct filter *filter, const char *name)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->state == ROW_UNAVAILABLE && filter_passes_some(filter, row) && row_has_event(row, name))
            return row->error;
    }
    return NULL;
}

/* -EINVAL where there are rows, and none of them has the name. */
static int check_rows(const char *name, const struct filter *filter, const struct snapshot *snapshot,
                      struct error *error)
{
    bool any = false;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->absent || row->state == ROW_UNAVAILABLE || !filter_passes_some(filter, row))
            continue;
        if (row_has_event(row, name) || row_has_metric(row, name))
            return 0;
        any = true;
    }
    if (!any)
        return 0;
    const char *failure = find_failure(snapshot, filter, name);
    return error_set(error, -EINVAL, "parameter \"sort\": no row has \"%.64s\"%s%.384s", name,
                     failure ? ": "
                             : "; /api/v1/metrics and \"perfcountd plan\" say what there is, and why not the others",
                     failure ? failure : "");
}

int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error)
{
    if (!order->sort)
        return order->given ? error_set(error, -EINVAL, "parameter \"order\" needs \"sort\"") : 0;
    int r = check_name(order->sort, snapshot, error);
    return r < 0 ? r : check_rows(order->sort, filter, snapshot, error);
}

double order_value(const struct order *order, const struct rates *rates)
{
    for (size_t i = 0; i < rates->n_ratios; i++)
        if (filter_event_matches(order->sort, rates->ratios[i].name))
            return rates->ratios[i].value;
    for (size_t i = 0; i < rates->row->n_counters; i++)
        if (filter_event_matches(order->sort, rates->row->counters[i].event))
            return rates->events[i];
    return NAN;
}

/* Known values stand before unknown values. Equal rows keep the order of the snapshot, in which ids ascend. */
static int compare_ascending(const void *a, const void *b)
{
    const struct order_key *one = a, *other = b;

    if (isnan(one->value) != isnan(other->value))
        return isnan(one->value) ? 1 : -1;
    if (one->value < other->value || one->value > other->value)
        return one->value < other->value ? -1 : 1;
    return (one->row->id > other->row->id) - (one->row->id < other->row->id);
}

static int compare_descending(const void *a, const void *b)
{
    const struct order_key *one = a, *other = b;
    int order = compare_ascending(a, b);

    return one->value < other->value || one->value > other->value ? -order : order;
}

size_t order_apply(const struct order *order, struct order_key *keys, size_t n)
{
    if (order->sort && n)
        qsort(keys, n, sizeof(*keys), order->ascending ? compare_ascending : compare_descending);
    return order->limit ? MIN(order->limit, n) : n;
}
