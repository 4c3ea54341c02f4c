/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the output of `perfcountd stat`: the counts of the machine in the form of perf-stat(1), or a table of cgroups.
 */
#ifndef CMD_STAT_TABLES_H
#define CMD_STAT_TABLES_H

#include <stdio.h>

#include "collectors/failures.h"
#include "collectors/rates.h"
#include "formats/query.h"

/*
 * Prints a block for each group and PMU. Each line shows an event with its count, a metric derived from the event, and
 * the share of the time in which the event was counted. `failures` tells why events are not counted. Returns -ENOMEM.
 */
int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file);

/*
 * Prints a line for each cgroup, sorted and limited by `order`. Each line shows the metrics of a cgroup, followed by
 * the rates of events that none of these metrics uses, and of the event to sort by. `totals` must have been made with
 * TOTALS_BY_CGROUP. Returns -ENOMEM.
 */
int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file);

#endif
