/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How cgroups are counted: by one of two engines, which show the same rows.
 *
 * "perf" opens the configured groups on each cgroup and CPU: exact, and each switch between two cgroups takes all
 * events off the CPU and puts them back. "bpf" opens them once on each CPU, and a tally (tally.h) divides what they
 * count among the cgroups.
 */
#ifndef COLLECTORS_CGROUP_ENGINE_H
#define COLLECTORS_CGROUP_ENGINE_H

#include "cgroups/cgroupfs.h"
#include "collectors/cgroup/engine-type.h"

/*
 * Chooses as the configuration says. Where it says bpf and that is not possible: the error, with a sentence. -EPIPE
 * where the opener is gone, also with `auto`. -ENOMEM.
 */
int cgroup_engine_open(struct cgroup_engine *engine, const struct collector_context *context,
                       const struct hierarchy *hierarchy, struct error *error);
void cgroup_engine_done(struct cgroup_engine *engine, const struct collector_context *context);

/*
 * After a reload, and when CPUs came or went: before the counts are resumed. On failure the engine is of no use any
 * more, and must be opened again with counts that begin at 0: another is configured (-ESTALE), or errors of
 * cgroup_engine_open().
 */
int cgroup_engine_resume(struct cgroup_engine *engine, const struct collector_context *context, struct error *error);
/*
 * There is room for `n` cgroups, never more than `max`; 1: all counts must be resumed. On failure nothing
 * has changed, and engine->no_room says why.
 */
int cgroup_engine_make_room(struct cgroup_engine *engine, uint64_t n, uint64_t max);
/* After cgroups were opened or ended. */
void cgroup_engine_settle(struct cgroup_engine *engine);

#endif
