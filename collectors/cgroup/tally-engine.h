/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting cgroups by BPF: one set of perf groups on each CPU, a tally (bpf/layout.h) that divides what they
 * count among cgroups, and a slot for each cgroup that is watched.
 *
 * The groups are those of the collector cpu where it counts the same events on that CPU; else they are opened here.
 * When slots run out, or a reload wants other events, another tally is started. It takes over once all cgroups have
 * their slots in it: cgroup_tally_settle().
 */
#ifndef COLLECTORS_CGROUP_TALLY_ENGINE_H
#define COLLECTORS_CGROUP_TALLY_ENGINE_H

#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/crediting.h"

struct cgroup_tally;
struct tally_rows;

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
/* As the collector's: counts stand still, or go on. */
int cgroup_tally_pause(struct cgroup_tally *tally, const struct collector_context *context);

/*
 * There are slots for `n` cgroups, never more than `max`: 1 where another tally had to be started
 * for that, so that all cgroups must be watched again. Errors of tally_calls.start(), and then the tally is as it was.
 */
int cgroup_tally_make_room(struct cgroup_tally *tally, uint64_t n, uint64_t max, struct error *error);
/*
 * The cgroup of the directory `fd` has a slot from now on, and `counts` is credited; nothing is new where it has one.
 * -ENOSPC where none is free; errors of tally_calls.assign(); -ENOMEM.
 */
int cgroup_tally_watch(struct cgroup_tally *tally, struct cgroup_counts *counts, int fd);
/*
 * After its last reading: it has none any more; its tasks, if there still are any, count for its nearest ancestor that
 * has a slot.
 */
void cgroup_tally_unwatch(struct cgroup_tally *tally, struct cgroup_counts *counts);
/* The counts are freed. */
void cgroup_tally_forget(struct cgroup_tally *tally, const struct cgroup_counts *counts);
/* After cgroups were watched, or watched no more: tasks that run now count as that says. */
void cgroup_tally_settle(struct cgroup_tally *tally);

/*
 * Reads all CPUs, and credits each cgroup that had something since the last reading, and the cgroups above it that are
 * watched: tallied_counts_credit(). Returns how many CPUs could be read.
 */
size_t cgroup_tally_read(struct cgroup_tally *tally);
/* The same for one cgroup, without those inside of it. */
size_t cgroup_tally_read_one(struct cgroup_tally *tally, const struct cgroup_counts *counts);
/* The program is gone, with the process that had loaded it: nothing can be read any more. */
bool cgroup_tally_is_lost(const struct cgroup_tally *tally);
/* Returns -EBADE and the sentence of an earlier error, after which nothing was counted any more; 0 if there was none.
 */
int cgroup_tally_check(const struct cgroup_tally *tally, struct error *error);
/* Whether a group is no longer the one that was opened, or the tally is of no use any more. */
bool cgroup_tally_is_stale(const struct cgroup_tally *tally);

/* The rows that each cgroup has. */
const struct tally_rows *cgroup_tally_rows(const struct cgroup_tally *tally);
/* Adds the events that could not be opened. -ENOMEM. */
int cgroup_tally_report(const struct cgroup_tally *tally, const struct collector_context *context,
                        struct failures *failures);
/* Open descriptors, without those that the collector cpu lends. */
size_t cgroup_tally_descriptors(const struct cgroup_tally *tally);
const struct unknown_time *cgroup_tally_unknown(const struct cgroup_tally *tally);

#endif
