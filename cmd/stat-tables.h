/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `perfcountd stat`: the counts of the machine in the form of perf-stat(1), or a table of cgroups. */
#ifndef CMD_STAT_TABLES_H
#define CMD_STAT_TABLES_H

#include <stdio.h>

#include "collectors/failures.h"
#include "collectors/rates.h"
#include "formats/query.h"

/*
 * Prints a block per group and PMU. A line has an event with its count, a metric derived from it, and the share of the
 * time in which it was counted. `failures` tells why events are not counted. Returns -ENOMEM.
 */
int stat_counts_print(const struct totals *totals, const struct failures *failures, FILE *file);

/*
 * Prints a line per cgroup, sorted and limited by `order`: its metrics, then the rates of the events that are in none
 * of these metrics, and of the event to sort by. `totals` must have been made with TOTALS_BY_CGROUP. Returns -ENOMEM.
 */
int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file);

#endif
