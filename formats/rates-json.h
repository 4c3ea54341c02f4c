/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and ratios as JSON: the body of /api/v1/rates, and of `perfcountd stat --json`. */
#ifndef FORMATS_RATES_JSON_H
#define FORMATS_RATES_JSON_H

#include <jansson.h>

#include "collectors/rates.h"
#include "formats/filter.h"
#include "formats/order.h"

/*
 * The rows that pass `filter` (NULL: all), from the baseline to the snapshot, in `order` (NULL: that of the snapshot).
 * A rate of which nothing is known is null. NULL when out of memory; the caller owns it.
 */
json_t *rates_json(const struct baseline *baseline, const struct snapshot *snapshot, const struct filter *filter,
                   const struct order *order);

#endif
