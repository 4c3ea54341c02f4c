/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows and totals of one cgroup that the bpf engine counts. A cgroup has no descriptors of its own, because the
 * perf groups are opened once per CPU and belong to the engine.
 *
 * The counts that a cgroup's slot accrued on a CPU are scaled once, by the ratio of the slot's enabled time to its
 * running time on that CPU. The scaled counts are then added to the totals of the cgroup and of all watched cgroups
 * above it. The total of a cgroup is therefore never below the sum of the cgroups inside it, and does not drop when an
 * inner cgroup is removed.
 *
 * Enabled time in which a perf group did not run cannot be scaled yet. This pending time is kept for each CPU and perf
 * group until the group runs on that CPU again. If the cgroup is removed before that, the cgroup above inherits the
 * pending time.
 */
#ifndef COLLECTORS_CGROUP_BPF_COUNTS_H
#define COLLECTORS_CGROUP_BPF_COUNTS_H

#include "base/util.h"
#include "collectors/cgroup/bpf-rows.h"

struct bpf_counts;

/*
 * Creates the rows of the plan `rows` for the cgroup with this label. `rows` must stay valid until bpf_counts_end().
 * Returns -ENOMEM on failure.
 */
int bpf_counts_new(const struct bpf_rows *rows, const struct collector_env *env, const char *label,
                   const struct names *names, struct bpf_counts **ret);
/* Removes the rows. */
struct bpf_counts *bpf_counts_free(struct bpf_counts *counts, struct snapshot *snapshot);
/*
 * Brings the rows in line with a new plan. Must be called after bpf_rows_resume(). Unchanged rows continue to count;
 * other rows are created or removed. If the counts had ended, counting starts again. After -ENOMEM nothing is
 * attributed until a later call succeeds.
 */
int bpf_counts_resume(struct bpf_counts *counts, const struct bpf_rows *rows, const struct collector_env *env,
                      const char *label, const struct names *names);

/*
 * Attributes `delta`, the words that the slot of `chain[0]` accrued on `cpu` since the previous call. The other entries
 * of `chain` are the watched cgroups above `chain[0]`, nearest first.
 */
void bpf_counts_attribute(struct bpf_counts *const *chain, size_t n, unsigned cpu, const uint64_t *delta);
/* Updates the rows with the increments attributed, and the perf group states seen, since the previous update. */
void bpf_counts_update(struct bpf_counts *counts);
/*
 * Stops counting a cgroup: writes the last totals to the rows and passes pending enabled time to `parent`, which is
 * NULL if no cgroup above is watched. The rows remain until bpf_counts_free().
 */
void bpf_counts_end(struct bpf_counts *counts, struct bpf_counts *parent);

/* Adds the number of rows in each state to `states`. */
void bpf_counts_add_states(const struct bpf_counts *counts, size_t states[N_ROW_STATES]);

#endif
