/* SPDX-License-Identifier: Apache-2.0 */
/* The order and the number of the rates that a client wants: parameters `sort`, `order` and `limit`. */
#ifndef FORMATS_ORDER_H
#define FORMATS_ORDER_H

#include "base/error.h"
#include "collectors/rates.h"
#include "formats/query.h"

#define ORDER_LIMIT_MAX 10000

struct order {
    const char
        *sort; /* an event or a ratio, as filter_event_matches() takes it; borrowed; NULL leaves the rows as they are */
    bool given; /* the parameter `order` was given */
    bool ascending;
    size_t limit; /* 0 for all */
};

/* Takes one parameter, as filter_add() does. */
int order_add(struct order *order, const char *name, const char *value, struct error *error);
/*
 * Checks the order against the rows of the snapshot that pass `filter` (NULL: all). -EINVAL with a sentence that lists
 * the names to sort by, or says why no row has the one that was given. Where no row passes, any known name will do.
 */
int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error);

/* A row with the value that it is sorted by. */
struct order_key {
    const struct row *row;
    double value; /* NAN if it is not known: these rows come last */
};

/* The value to sort the rates of a row by; NAN if the row has none. */
double order_value(const struct order *order, const struct rates *rates);
/* Sorts `n` rows. Returns the number of rows that the client wants, from the first. */
size_t order_apply(const struct order *order, struct order_key *keys, size_t n);

#endif
