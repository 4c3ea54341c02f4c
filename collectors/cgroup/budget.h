/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the machine cgroups may take, and how much one of them takes: descriptors, and memory where it is
 * limited. */
#ifndef COLLECTORS_CGROUP_BUDGET_H
#define COLLECTORS_CGROUP_BUDGET_H

#include "cgroups/selection.h"
#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/engine.h"

/* Sets the numbers of the rules, by what there is now beside the `n` cgroups that are counted by this engine. */
void cgroup_budget_update(struct cgroup_rules *rules, const struct collector_context *context,
                          const struct cgroup_engine_type *type, struct cgroup_counts *const *counts, size_t n);

#endif
