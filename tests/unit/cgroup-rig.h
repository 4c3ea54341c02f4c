/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a", and what its series show. */
#ifndef TESTS_UNIT_CGROUP_RIG_H
#define TESTS_UNIT_CGROUP_RIG_H

#include "collectors/cgroup/counts.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"

/* The descriptor of the cgroup that most tests have, and that of another. */
#define CGROUP 7
#define OTHER 8

/* A configuration of the collector cgroup alone. */
#define GROUPS(groups) "collectors: {cgroup: {groups: " groups "}}"
#define GROUPS_PER_CPU(groups) "collectors: {cgroup: {per_cpu: true, groups: " groups "}}"

/* Opens the cgroup "/a" as CGROUP; cgroup_rig_done() frees it, and the rig. */
struct cgroup_counts *cgroup_rig_init(struct rig *rig, struct fake_sys *fake, const char *config);
void cgroup_rig_done(struct rig *rig, struct cgroup_counts *counts);
struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd);

/* CPUs came or went. Returns what cgroup_counts_resume() does. */
int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *left);

/* The failures of `n` cgroups; the caller frees them. */
struct failures cgroup_rig_failures(const struct rig *rig, struct cgroup_counts *const *counts, size_t n);

/* CGROUP runs on the CPUs from `first` to `last`, and is read. Returns how many groups could be. */
size_t cgroup_rig_run(struct rig *rig, struct cgroup_counts *counts, unsigned first, unsigned last, uint64_t ns);

/* A value of "/a", on all CPUs or on one; NOT_SHOWN. */
uint64_t cgroup_value(const struct rig *rig, const char *metric, const char *pmu, const char *group);
uint64_t cgroup_value_on(const struct rig *rig, const char *metric, int cpu, const char *pmu, const char *group);

#endif
