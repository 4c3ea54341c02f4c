/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and ratios between two readings of a snapshot: a baseline remembers the first reading, and rates_row()
 * compares.
 *
 * There is a derived metric only where all of its events are in one group, and so were counted at the same time.
 */
#ifndef COLLECTORS_RATES_H
#define COLLECTORS_RATES_H

#include "collectors/snapshot.h"

struct baseline;

/* Remembers all rows. NULL when out of memory. */
struct baseline *baseline_new(const struct snapshot *snapshot);
struct baseline *baseline_free(struct baseline *baseline);

struct ratio {
    const char *name; /* of a derived metric: "ipc" */
    double value;     /* in its unit */
};

struct rates {
    const struct row *row;
    double *events; /* per second, in the counters' units, row->n_counters of them; NAN where the rate is not known */
    struct derivation_times times; /* of the group in the interval; NAN where they are not known */
    struct ratio ratios[DERIVATION_METRICS_MAX];
    size_t n_ratios;
};

/* Seconds from the baseline to the snapshot's reading. */
double rates_seconds(const struct baseline *baseline, const struct snapshot *snapshot);
/*
 * The rates of one row since the baseline. -ENODATA where the row was not there then, is absent or unavailable now.
 * `events` has room for row->n_counters.
 */
int rates_row(const struct baseline *baseline, const struct snapshot *snapshot, const struct row *row, double *events,
              struct rates *ret);

#endif
