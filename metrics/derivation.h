/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The derived metrics that a list of events has, which are counted together in one group. It is found once for the
 * events of a group; then each reading costs a few operations.
 */
#ifndef METRICS_DERIVATION_H
#define METRICS_DERIVATION_H

#include "metrics/derived.h"

/* The events of a group on a target. Borrowed; they must live as long as what is made of them. */
struct derivation_events {
    enum derived_target target;
    const char *pmu;
    unsigned slots; /* of a CPU of this PMU; 0 where they are not known */
    const char *const *events;
    size_t n;
};

struct derivation;

/* NULL when out of memory. It keeps a copy of the array, not of the texts. */
struct derivation *derivation_new(const struct derivation_events *events);
struct derivation *derivation_free(struct derivation *derivation);

/* Whether it was made of these. Texts are compared by their address: they are those of one intern set. */
bool derivation_is_of(const struct derivation *derivation, const struct derivation_events *events);

/* The most metrics that one list of events has. */
#define DERIVATION_METRICS_MAX 48

/* Seconds in the interval. */
struct derivation_times {
    double running, enabled;
};

/* The number of metrics, and each. */
size_t derivation_count(const struct derivation *derivation);
const struct derived_metric *derivation_metric(const struct derivation *derivation, size_t i);
/* The formula of that metric, of the table. */
const struct derived_formula *derivation_formula(const struct derivation *derivation, size_t i);
/* Whether it is made of two events or more. */
bool derivation_compares_events(const struct derivation *derivation, size_t i);
/* Its value; `rates` are per second, by event, NAN where one is not known. NAN where the metric has no value. */
double derivation_value(const struct derivation *derivation, size_t i, const double *rates,
                        const struct derivation_times *times);

#endif
