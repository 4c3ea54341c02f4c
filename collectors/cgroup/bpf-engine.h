/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine bpf: counts all cgroups with one set of perf groups on each CPU. A BPF program
 * (`bpf/layout.h`) divides their counts among slots, and each watched cgroup has a slot.
 *
 * What a slot accrues is attributed to the cgroup that owns it and to all watched cgroups above it. So a cgroup
 * includes the cgroups inside it, even after they are removed.
 *
 * If the collector `cpu` counts the same events on a CPU, its groups are shared; otherwise the engine opens its own.
 * When slots run out, or a reload asks for other events, a second BPF program replaces the first one. All cgroups keep
 * their slots. The first program counts until the second is ready, so only the change-over of each CPU is not counted.
 */
#ifndef COLLECTORS_CGROUP_BPF_ENGINE_H
#define COLLECTORS_CGROUP_BPF_ENGINE_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/cgroup/counts.h"

/*
 * CPU time that was charged to no known cgroup, in nanoseconds. `created_ns` is the CLOCK_REALTIME at which it was 0.
 */
struct unknown_time {
    uint64_t ns, created_ns;
};

struct bpf_engine;

/*
 * Opens the groups of env->config->cgroup.groups on each CPU, starts a BPF program, and checks that it agrees with
 * the counters. `namespaced`: "/" is not the kernel's root cgroup. Fills `error` and returns the errors of
 * bpf_calls.start(), -EBADE if the BPF program disagrees with the counters, or -ENOMEM.
 */
int bpf_engine_new(const struct collector_env *env, bool namespaced, struct bpf_engine **ret, struct error *error);
struct bpf_engine *bpf_engine_free(struct bpf_engine *bpf, const struct collector_env *env);

/*
 * Must be called after a reload, after CPUs came or went, and after the collector `cpu` opened other groups. The groups
 * continue or are replaced. Afterwards all counts must be resumed, and then bpf_engine_settle() called. Errors
 * as for bpf_engine_new(); after an error the engine can only be freed.
 */
int bpf_engine_resume(struct bpf_engine *bpf, const struct collector_env *env, struct error *error);

/*
 * Makes sure that there are slots for `n` cgroups, up to `max`; another BPF program may be started for that. If
 * bpf_calls.start() fails, nothing has changed. Any other error ends counting, and the next reading reports it.
 */
int bpf_engine_make_room(struct bpf_engine *bpf, uint64_t n, uint64_t max, struct error *error);
/*
 * Must be called after cgroups were watched or unwatched. Makes every CPU look up the slot of its current task again.
 */
void bpf_engine_settle(struct bpf_engine *bpf);
/*
 * Returns whether the BPF program is gone, because the process that loaded it has ended. Nothing can be read any more.
 */
bool bpf_engine_is_lost(const struct bpf_engine *bpf);
/*
 * Returns whether the engine must be opened again, because a group is stale (its CPU was offline) or the BPF program
 * has failed.
 */
bool bpf_engine_is_stale(const struct bpf_engine *bpf);
/* Returns the number of open descriptors, without those shared by the collector `cpu`. */
size_t bpf_engine_descriptors(const struct bpf_engine *bpf);
const struct unknown_time *bpf_engine_unknown(const struct bpf_engine *bpf);

extern const struct cgroup_engine_type cgroup_engine_bpf;

#endif
