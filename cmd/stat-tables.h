/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of the machine, as perf-stat(1) prints them.
 *
 * A table of cgroups with their metrics.
 */
#ifndef CMD_STAT_TABLES_H
#define CMD_STAT_TABLES_H

#include <stdio.h>

#include "collectors/failures.h"
#include "collectors/rates.h"
#include "formats/query.h"

/*
 * Prints a block for each group and PMU: a line for each event with its count, the metric that belongs to it, and the
 * share of the time in which it was counted. `failures` say why events are not counted. -ENOMEM.
 */
int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file);

/*
 * Prints a line for each cgroup, in `order`: its metrics, then the rates of the events that are in none of them, and of
 * the event to sort by. `totals` are by cgroup. -ENOMEM.
 */
int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file);

#endif
