/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bpf engine: counts all cgroups with one set of perf groups on each CPU. A BPF program (`bpf/layout.h`) divides
 * the counts of the perf groups among slots, and each watched cgroup has a slot.
 *
 * The counts of a slot are attributed to the cgroup that owns it and to all watched cgroups above it. The counts of a
 * cgroup therefore include the counts of the cgroups inside it, even after an inner cgroup is removed.
 *
 * If the `cpu` collector counts the same events on a CPU, the engine shares the collector's groups; otherwise the
 * engine opens its own. When slots run out, or a reload changes the events, a second BPF program replaces the first
 * one, and all cgroups keep their slots. The first program counts until the second one is ready, so counts are lost
 * only while each CPU switches over.
 */
#ifndef COLLECTORS_CGROUP_BPF_ENGINE_H
#define COLLECTORS_CGROUP_BPF_ENGINE_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/cgroup/counts.h"

/*
 * The CPU time that was charged to no known cgroup, in nanoseconds. `created_ns` is the CLOCK_REALTIME at which it
 * started at 0.
 */
struct unknown_time {
    uint64_t ns, created_ns;
};

struct bpf_engine;

/*
 * Opens the groups of env->config->cgroup.groups on each CPU, starts a BPF program, and checks that the program agrees
 * with the counters. `namespaced` means that "/" is not the kernel's root cgroup. On failure fills `error` and returns
 * an error of bpf_calls.start(), -EBADE if the BPF program disagrees with the counters, or -ENOMEM.
 */
int bpf_engine_new(const struct collector_env *env, bool namespaced, struct bpf_engine **ret, struct error *error);
struct bpf_engine *bpf_engine_free(struct bpf_engine *bpf, const struct collector_env *env);

/*
 * Must be called after a reload, after CPUs went offline or came online, and after the `cpu` collector opened other
 * groups. The engine's groups continue to count or are replaced. After the call all counts must be resumed, and then
 * bpf_engine_settle() must be called. Returns the errors of bpf_engine_new(); after an error the engine can only be
 * freed.
 */
int bpf_engine_resume(struct bpf_engine *bpf, const struct collector_env *env, struct error *error);

/*
 * Makes sure that there are slots for `n` cgroups, but for at most `max`; this may start another BPF program. If
 * bpf_calls.start() fails, nothing has changed. Any other error ends counting, and the next reading reports it.
 */
int bpf_engine_make_room(struct bpf_engine *bpf, uint64_t n, uint64_t max, struct error *error);
/*
 * Must be called after cgroups were watched or unwatched. Makes every CPU look up the slot of its current task again.
 */
void bpf_engine_settle(struct bpf_engine *bpf);
/*
 * Returns whether the BPF program is gone because the process that loaded it has exited. The engine can then no longer
 * read any counts.
 */
bool bpf_engine_is_lost(const struct bpf_engine *bpf);
/*
 * Returns whether the engine must be opened again, because a group is stale (its CPU was offline) or the BPF program
 * has failed.
 */
bool bpf_engine_is_stale(const struct bpf_engine *bpf);
/* Returns the number of the engine's open descriptors, not counting those shared with the `cpu` collector. */
size_t bpf_engine_descriptors(const struct bpf_engine *bpf);
const struct unknown_time *bpf_engine_unknown(const struct bpf_engine *bpf);

extern const struct cgroup_engine_type cgroup_engine_bpf;

#endif
