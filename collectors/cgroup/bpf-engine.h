/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are the same as long as a tally can go on: another one needs another tally.
 *
 * A slot's counts are those of the cgroup that has the slot, and of all cgroups above it that are watched. So a cgroup
 * has what is inside of it, also once that is gone.
 *
 * Counting cgroups by BPF: one set of perf groups on each CPU, a tally (bpf/layout.h) that divides what they
 * count among cgroups, and a slot for each cgroup that is watched.
 *
 * The groups are those of the collector cpu where it counts the same events on that CPU; else they are opened here.
 * When slots run out, or a reload wants other events, another tally is started. It takes over once all cgroups have
 * their slots in it: cgroup_tally_settle().
 *
 * The engine bpf: the configured groups on each CPU, divided among the cgroups by a tally.
 */
#ifndef COLLECTORS_CGROUP_BPF_ENGINE_H
#define COLLECTORS_CGROUP_BPF_ENGINE_H

#include "collectors/cgroup/bpf-groups.h"
#include "collectors/cgroup/counts.h"

/* The time of CPUs, in nanoseconds, that no cgroup had, since CLOCK_REALTIME was `created_ns`. */
struct unknown_time {
    uint64_t ns, created_ns;
};

struct cgroup_tally;

/*
 * Opens the groups of context->config->cgroup.groups on each CPU, starts the tally, and tests that it agrees with the
 * counters. `namespaced`: "/" is not the root that the kernel has. Errors of tally_calls.start(), with a sentence;
 * -EBADE where the tally does not agree; -ENOMEM.
 */
int cgroup_tally_new(const struct collector_context *context, bool namespaced, struct cgroup_tally **ret,
                     struct error *error);
struct cgroup_tally *cgroup_tally_free(struct cgroup_tally *tally, const struct collector_context *context);

/*
 * After a reload, when CPUs came or went, and when the collector cpu opened other groups: the groups go on, or
 * others take their place. All cgroups must be watched again afterwards, and settled. Errors as those of
 * cgroup_tally_new(), and then the tally is of no use any more.
 */
int cgroup_tally_resume(struct cgroup_tally *tally, const struct collector_context *context, struct error *error);

/*
 * There are slots for `n` cgroups, never more than `max`: 1 where another tally had to be started
 * for that, so that all cgroups must be watched again. Errors of tally_calls.start(), and then the tally is as it was.
 */
int cgroup_tally_make_room(struct cgroup_tally *tally, uint64_t n, uint64_t max, struct error *error);
/* After cgroups were watched, or watched no more: tasks that run now count as that says. */
void cgroup_tally_settle(struct cgroup_tally *tally);
/* The program is gone, with the process that had loaded it: nothing can be read any more. */
bool cgroup_tally_is_lost(const struct cgroup_tally *tally);
/* Whether a group is no longer the one that was opened, or the tally is of no use any more. */
bool cgroup_tally_is_stale(const struct cgroup_tally *tally);
/* Open descriptors, without those that the collector cpu lends. */
size_t cgroup_tally_descriptors(const struct cgroup_tally *tally);
const struct unknown_time *cgroup_tally_unknown(const struct cgroup_tally *tally);

extern const struct cgroup_engine_type cgroup_engine_bpf;

#endif
