/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows and totals of one cgroup that the engine bpf counts. They hold no descriptors: the perf groups are per CPU
 * and belong to the engine.
 *
 * What a cgroup's slot accrued on a CPU is scaled once, by the slot's own ratio of running to enabled time there, and
 * added to the totals of the cgroup and of all watched cgroups above it. So the total of a cgroup is never below the
 * sum of the cgroups inside it, and it does not drop when one of them is removed.
 *
 * Time in which a perf group was enabled but did not run cannot be scaled yet. It is kept for each CPU and perf group
 * until the group runs there again. When the cgroup is removed, the cgroup above inherits it.
 */
#ifndef COLLECTORS_CGROUP_BPF_COUNTS_H
#define COLLECTORS_CGROUP_BPF_COUNTS_H

#include "base/util.h"
#include "collectors/cgroup/bpf-rows.h"

struct bpf_counts;

/*
 * Makes the rows of the plan `rows` for the cgroup with this label. `rows` must stay valid until bpf_counts_end().
 * Returns -ENOMEM on failure.
 */
int bpf_counts_new(const struct bpf_rows *rows, const struct collector_env *env, const char *label,
                   const struct names *names, struct bpf_counts **ret);
/* Removes the rows. */
struct bpf_counts *bpf_counts_free(struct bpf_counts *counts, struct snapshot *snapshot);
/*
 * Must be called after bpf_rows_resume(); also restarts counts that have ended. Unchanged rows continue, others are
 * made or removed. On -ENOMEM nothing is attributed until a later call succeeds.
 */
int bpf_counts_resume(struct bpf_counts *counts, const struct bpf_rows *rows, const struct collector_env *env,
                      const char *label, const struct names *names);

/*
 * Attributes `delta`, the words that the slot of `chain[0]` accrued on `cpu` since the previous call. The rest of the
 * `n` entries are the watched cgroups above it, nearest first.
 */
void bpf_counts_attribute(struct bpf_counts *const *chain, size_t n, unsigned cpu, const uint64_t *delta);
/*
 * Updates the rows with what was attributed since the previous update, and whether the perf groups counted or starved
 * since then.
 */
void bpf_counts_update(struct bpf_counts *counts);
/*
 * Ends the counts of a cgroup: writes the last totals to the rows and passes pending enabled time to `parent`, which is
 * NULL if no cgroup above is watched. The rows stay until bpf_counts_free().
 */
void bpf_counts_end(struct bpf_counts *counts, struct bpf_counts *parent);

/* Adds the rows to the number of groups in each state. */
void bpf_counts_add_states(const struct bpf_counts *counts, size_t states[N_ROW_STATES]);

#endif
