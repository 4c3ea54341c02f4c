/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One group over several PMUs or CPUs: rates of events are added up, and derived metrics are made of the sums. A ratio
 * is never a mean of ratios.
 */
#ifndef DAEMON_TOP_TOP_SUM_H
#define DAEMON_TOP_TOP_SUM_H

#include <jansson.h>

#include "derived/derived.h"

/* Zeroed at first. */
struct top_sum {
    json_t *events, *ratios; /* as a row of /api/v1/rates has them; null: not known */
    const char *pmu;         /* NULL where it has several */
    double counted;          /* the smallest share of the time that any row was counted; 1 where none says it */
    size_t n;
};

void top_sum_done(struct top_sum *sum);
/* Adds a row of /api/v1/rates, whose texts last longer than the sum. */
void top_sum_add(struct top_sum *sum, const char *pmu, const json_t *row);
/* Makes the derived metrics. Of one row they are its own. */
void top_sum_finish(struct top_sum *sum, enum derived_target target);

#endif
