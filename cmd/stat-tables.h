/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the output of `perfcountd stat`: machine-wide counts in the format of perf-stat(1), or a table of cgroups. */
#ifndef CMD_STAT_TABLES_H
#define CMD_STAT_TABLES_H

#include <stdio.h>

#include "collectors/failures.h"
#include "collectors/rates.h"
#include "formats/query.h"

/*
 * Prints a block for each group and PMU. Each line shows an event with its count, a metric derived from it, and how
 * much of the time it was counted. `failures` says why events are not counted. Returns -ENOMEM.
 */
int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file);

/*
 * Prints a line for each cgroup, sorted and limited by `order`. Each line shows a cgroup's metrics, followed by the
 * rates of the events that none of them uses, and of the event to sort by. `totals` must have been made with
 * TOTALS_BY_CGROUP. Returns -ENOMEM.
 */
int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file);

#endif
