/* SPDX-License-Identifier: Apache-2.0 */
/* The part of `perfcountd plan` that says which derived metrics there are. */
#ifndef CMD_PLAN_METRICS_H
#define CMD_PLAN_METRICS_H

#include <jansson.h>

/* Prints the member "metrics" of a plan. -ENOMEM. */
int plan_print_metrics(const json_t *metrics);

#endif
