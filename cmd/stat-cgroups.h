/* SPDX-License-Identifier: Apache-2.0 */
/* A table of cgroups with their metrics. */
#ifndef CMD_STAT_CGROUPS_H
#define CMD_STAT_CGROUPS_H

#include <stdio.h>

#include "collectors/totals.h"
#include "formats/order.h"

/*
 * Prints a line for each cgroup, in `order`: its metrics, then the rates of the events that are in none of them, and of
 * the event to sort by. `totals` are by cgroup. -ENOMEM.
 */
int stat_cgroups_print(const struct totals *totals, const struct order *order, FILE *file);

#endif
