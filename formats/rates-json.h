/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and ratios as JSON: the body of /api/v1/rates, and of `perfcountd stat --json`. */
#ifndef FORMATS_RATES_JSON_H
#define FORMATS_RATES_JSON_H

#include "base/buffer.h"
#include "collectors/rates.h"
#include "formats/order.h"
#include "formats/query.h"

/*
 * Appends the rows that pass `filter` (NULL: all), from the baseline to the snapshot, in `order` (NULL: that of the
 * snapshot), with a line feed at the end. With `totals`, also the rows that pass, added up over the CPUs of each PMU;
 * the order does not concern them. A rate that is not known is null. -ENOMEM.
 */
int rates_json_write(struct buffer *out, const struct baseline *baseline, const struct snapshot *snapshot,
                     const struct filter *filter, const struct order *order, bool totals);

#endif
