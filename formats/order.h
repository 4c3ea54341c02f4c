/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a client wants the rates, and how many: parameters `sort`, `order` and `limit`. */
#ifndef FORMATS_ORDER_H
#define FORMATS_ORDER_H

#include "base/error.h"
#include "collectors/rates.h"

#define ORDER_LIMIT_MAX 10000

struct order {
    const char *sort; /* an event or a ratio; borrowed; NULL leaves the rows as they are */
    bool given;       /* `order` was */
    bool ascending;
    size_t limit; /* 0 for all */
};

/* Takes one parameter, as filter_add() does. */
int order_add(struct order *order, const char *name, const char *value, struct error *error);
/* Whether there can be such an order. -EINVAL with what can be sorted by. */
int order_check(const struct order *order, const struct snapshot *snapshot, struct error *error);

/* What a row is sorted by. */
struct order_key {
    const struct row *row;
    double value; /* NAN where nothing is known: such rows come last */
};

/* The value that the rates are sorted by. */
double order_value(const struct order *order, const struct rates *rates);
/* Sorts, equal ones as they were, and returns how many of the `n` are wanted. */
size_t order_apply(const struct order *order, struct order_key *keys, size_t n);

#endif
