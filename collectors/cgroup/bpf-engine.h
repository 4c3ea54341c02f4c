/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine bpf: counts all cgroups with one set of perf groups on each CPU. A BPF program, the tally
 * (`bpf/layout.h`), divides their counts among slots, and each watched cgroup has a slot.
 *
 * What a slot accrues is credited to the cgroup that owns it and to all watched cgroups above it. So a cgroup includes
 * the cgroups inside it, even after they are removed.
 *
 * If the collector `cpu` counts the same events on a CPU, its groups are shared; otherwise the engine opens its own.
 * When slots run out, or a reload asks for other events, a second tally is started. It takes over in
 * cgroup_tally_settle(), once all cgroups have slots in it.
 */
#ifndef COLLECTORS_CGROUP_BPF_ENGINE_H
#define COLLECTORS_CGROUP_BPF_ENGINE_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/cgroup/counts.h"

/* CPU time that was charged to no known cgroup, in nanoseconds. `created_ns` is CLOCK_REALTIME when it was 0. */
struct unknown_time {
    uint64_t ns, created_ns;
};

struct cgroup_tally;

/*
 * Opens the groups of context->config->cgroup.groups on each CPU, starts a tally, and checks that it agrees with the
 * counters. `namespaced`: "/" is not the kernel's root cgroup. Fills `error` and returns the errors of
 * tally_calls.start(), -EBADE if the tally disagrees with the counters, or -ENOMEM.
 */
int cgroup_tally_new(const struct collector_context *context, bool namespaced, struct cgroup_tally **ret,
                     struct error *error);
struct cgroup_tally *cgroup_tally_free(struct cgroup_tally *tally, const struct collector_context *context);

/*
 * Must be called after a reload, after CPUs came or went, and after the collector `cpu` opened other groups. The groups
 * continue or are replaced. Afterwards all cgroups must be watched again, and then cgroup_tally_settle() called. Errors
 * as for cgroup_tally_new(); after an error the tally can only be freed.
 */
int cgroup_tally_resume(struct cgroup_tally *tally, const struct collector_context *context, struct error *error);

/*
 * Makes sure that there are slots for `n` cgroups, up to `max`. Returns 0, or 1 if another tally was started for that,
 * so that all cgroups must be watched again. On errors of tally_calls.start() the tally is unchanged.
 */
int cgroup_tally_make_room(struct cgroup_tally *tally, uint64_t n, uint64_t max, struct error *error);
/*
 * Must be called after cgroups were watched or unwatched. Makes every CPU look up the slot of its current task again.
 */
void cgroup_tally_settle(struct cgroup_tally *tally);
/*
 * Returns whether the BPF program is gone, because the process that loaded it has ended. Nothing can be read any more.
 */
bool cgroup_tally_is_lost(const struct cgroup_tally *tally);
/*
 * Returns whether the engine must be opened again, because a group is no longer the one that was opened or the tally
 * has failed.
 */
bool cgroup_tally_is_stale(const struct cgroup_tally *tally);
/* Returns the number of open descriptors, without those shared by the collector `cpu`. */
size_t cgroup_tally_descriptors(const struct cgroup_tally *tally);
const struct unknown_time *cgroup_tally_unknown(const struct cgroup_tally *tally);

extern const struct cgroup_engine_type cgroup_engine_bpf;

#endif
