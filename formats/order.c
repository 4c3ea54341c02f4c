/* SPDX-License-Identifier: Apache-2.0 */
/* The order and the number of the rates that a client wants: see order.h. */
#include "formats/order.h"

#include <math.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"

/* Of names in a message: a longer list helps nobody. */
#define NAMES_MAX 32

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

/* Each name once: the ratios, then the events in the order of the rows. */
struct names {
    const char **items;
    size_t n;
};

static void names_done(struct names *names)
{
    free(names->items);
}

static int names_add(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (str_equal(names->items[i], name))
            return 0;
    if (array_grow(&names->items, names->n) < 0)
        return -ENOMEM;
    names->items[names->n++] = name;
    return 0;
}

static int names_add_events(struct names *names, const struct row *row)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < row->n_counters; i++)
        r = names_add(names, row->counters[i].event);
    return r;
}

static int names_collect(const struct snapshot *snapshot, struct names *names)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < derived_count(); i++)
        r = names_add(names, derived_at(i)->name);
    for (size_t i = 0; r == 0 && i < snapshot->n_rows; i++)
        r = names_add_events(names, snapshot->rows[i]);
    return r;
}

static int refuse_sort(const char *name, const struct names *names, struct error *error)
{
    _cleanup_(buffer_done) struct buffer known = {0};

    for (size_t i = 0; i < MIN(names->n, (size_t)NAMES_MAX); i++)
        buffer_appendf(&known, "%s%s", i ? ", " : "", names->items[i]);
    if (names->n > NAMES_MAX)
        buffer_append_text(&known, "...");
    buffer_append_char(&known, '\0');
    return error_set(error, -EINVAL, "parameter \"sort\": no row has \"%.64s\"; known are %s", name,
                     known.failed ? "" : known.data);
}

int order_check(const struct order *order, const struct snapshot *snapshot, struct error *error)
{
    _cleanup_(names_done) struct names names = {0};

    if (!order->sort)
        return order->given ? error_set(error, -EINVAL, "parameter \"order\" needs \"sort\"") : 0;
    if (names_collect(snapshot, &names) < 0)
        return error_oom(error);
    for (size_t i = 0; i < names.n; i++)
        if (str_equal(names.items[i], order->sort))
            return 0;
    return refuse_sort(order->sort, &names, error);
}

double order_value(const struct order *order, const struct rates *rates)
{
    for (size_t i = 0; i < rates->n_ratios; i++)
        if (str_equal(rates->ratios[i].name, order->sort))
            return rates->ratios[i].value;
    for (size_t i = 0; i < rates->row->n_counters; i++)
        if (str_equal(rates->row->counters[i].event, order->sort))
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
