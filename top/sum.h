/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One group over several PMUs or CPUs: rates of events are added up, and derived metrics are made of the sums. A ratio
 * is never a mean of ratios. An event or a metric that only some of the rows have is left out: its sum would not be
 * that of the target.
 */
#ifndef TOP_SUM_H
#define TOP_SUM_H

#include <jansson.h>

#include "metrics/derived.h"

/* Zeroed at first. */
struct top_sum {
    json_t *events, *ratios;               /* as a row of /api/v1/rates has them; null: not known */
    json_t *common_events, *common_ratios; /* those that all rows have in which anything happened; NULL: no such row */
    const char *pmu;                       /* NULL where it has several */
    double counted; /* the smallest share of the time that any row was counted; 1 where none says it */
    size_t n;
};

void top_sum_done(struct top_sum *sum);
/* Adds a row of /api/v1/rates, whose texts last longer than the sum. */
void top_sum_add(struct top_sum *sum, const char *pmu, const json_t *row);
/* Makes the derived metrics. Of one row they are its own. */
void top_sum_finish(struct top_sum *sum, enum derived_target target);

#endif
