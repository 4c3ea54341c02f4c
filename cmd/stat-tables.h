/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of the machine, as perf-stat(1) prints them. */
#ifndef CMD_STAT_TABLES_H
#define CMD_STAT_TABLES_H

#include <stdio.h>

#include "collectors/failures.h"
#include "collectors/totals.h"

/*
 * Prints a block for each group and PMU: a line for each event with its count, the metric that belongs to it, and the
 * share of the time in which it was counted. `failures` say why events are not counted. -ENOMEM.
 */
int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file);

#endif
