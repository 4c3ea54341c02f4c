/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a cgroup that is counted by a tally: its totals over all CPUs, and what a perf group adds to them.
 *
 * Perf groups on CPUs that did not run for a cgroup when they were enabled last, and the time enabled that waits until
 * they do: few at a time. The time is that of the cgroup's own slot; for tasks of a cgroup inside it waits there.
 *
 * The counts of one cgroup that is counted by a tally: rows and totals, and nothing that is open.
 *
 * What the cgroup's own slot had on a CPU is scaled once, by its own ratio there, and added to the totals of the cgroup
 * and of all watched cgroups above it: so a cgroup never has less than those inside of it, and loses nothing when one
 * of them goes. Time in which a perf group was enabled and did not run waits for the next time that it runs there; when
 * the cgroup goes, it waits in the one above.
 */
#ifndef COLLECTORS_CGROUP_BPF_COUNTS_H
#define COLLECTORS_CGROUP_BPF_COUNTS_H

#include "base/util.h"
#include "collectors/cgroup/bpf-rows.h"

struct tallied_counts;

/* Makes `rows` for the cgroup of this label; they must be there until tallied_counts_end(). -ENOMEM. */
int tallied_counts_new(const struct tally_rows *rows, const struct collector_context *context, const char *label,
                       const struct names *names, struct tallied_counts **ret);
/* Removes the rows. */
struct tallied_counts *tallied_counts_free(struct tallied_counts *counts, struct snapshot *snapshot);
/*
 * After tally_rows_resume(), also of counts that had ended: rows that are as before go on, others are made or removed.
 * -ENOMEM, and then nothing is credited until it is called again.
 */
int tallied_counts_resume(struct tallied_counts *counts, const struct tally_rows *rows,
                          const struct collector_context *context, const char *label, const struct names *names);

/*
 * `delta` are the words that the slot of `chain[0]` had on `cpu` since the call before; chain[1] to chain[n - 1] are
 * the watched cgroups above it, nearest first.
 */
void tallied_counts_credit(struct tallied_counts *const *chain, size_t n, unsigned cpu, const uint64_t *delta);
/* Shows what was credited, and whether it was counted or starved since the update before. */
void tallied_counts_update(struct tallied_counts *counts);
/*
 * The cgroup goes: shows the last totals, and leaves what waits to `heir`, NULL where no cgroup above is watched. The
 * rows stay.
 */
void tallied_counts_end(struct tallied_counts *counts, struct tallied_counts *heir);

/* Adds its rows to the number of groups in each state. */
void tallied_counts_add_states(const struct tallied_counts *counts, size_t states[N_ROW_STATES]);

#endif
