/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the machine cgroups may take, and how much one of them takes: descriptors, and memory where it is
 * limited. */
#ifndef COLLECTORS_CGROUP_BUDGET_H
#define COLLECTORS_CGROUP_BUDGET_H

#include "collectors/cgroup/set.h"

/* Sets the numbers of set->rules, by what there is now. */
void cgroup_budget_update(struct cgroup_set *set, const struct collector_context *context);

#endif
