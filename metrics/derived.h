/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of derived metrics: ratios and rates that are made of events which were counted together.
 *
 * A formula's names are events as they are named in metrics ("branch_misses"), each standing for its rate per second in
 * its unit; besides, running_time and enabled_time of the group, and `slots`, the operations that a CPU can begin in a
 * cycle (caps/slots of its PMU in sysfs). Of `cycles` and `instructions`, the names that Arm gives them are as good.
 */
#ifndef METRICS_DERIVED_H
#define METRICS_DERIVED_H

#include "metrics/table.h"

size_t derived_count(void);
/* NULL past the last. */
const struct derived_metric *derived_at(size_t i);
/* By name; NULL where there is none. */
const struct derived_metric *derived_find(const char *name);

/* Whether a counter of this name is the event that a formula means: "inst_retired" is "instructions". */
bool derived_names_event(const char *name, const char *event);

/* The n-th name of the event that a formula means: at first `name` itself; NULL past the last. */
const char *derived_spelling(const char *name, size_t n);

#endif
