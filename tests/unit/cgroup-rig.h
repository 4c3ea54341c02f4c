/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a", and what its series show. */
#ifndef TESTS_UNIT_CGROUP_RIG_H
#define TESTS_UNIT_CGROUP_RIG_H

#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/engine.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"

/* The descriptor of the cgroup that most tests have, and that of another. */
#define CGROUP 7
#define OTHER 8

/* The engine that counts; its type is NULL before the first cgroup is opened. */
extern struct cgroup_engine rig_engine;

/* Runs the tests of an array once with each engine; the machine can have a tally where it is bpf. */
#define cgroup_rig_run_tests(tests)                                                                                    \
    (cgroup_rig_use(ENGINE_PERF) + cmocka_run_group_tests_name("engine perf", tests, NULL, NULL) +                     \
     cgroup_rig_use(ENGINE_BPF) + cmocka_run_group_tests_name("engine bpf", tests, NULL, NULL))
/* Returns 0. */
int cgroup_rig_use(enum config_engine engine);
bool cgroup_rig_uses(enum config_engine engine);
/* How many descriptors a cgroup has of its own, where it has `n` with perf. */
size_t cgroup_rig_own(size_t n);

/* A configuration of the collector cgroup alone. */
#define GROUPS(groups) "collectors: {cgroup: {groups: " groups "}}"
#define GROUPS_PER_CPU(groups) "collectors: {cgroup: {per_cpu: true, groups: " groups "}}"

/* Opens the engine. */
void cgroup_rig_start(struct rig *rig, struct fake_sys *fake, const char *config);
/* The same, and opens the cgroup "/a" as CGROUP. */
struct cgroup_counts *cgroup_rig_init(struct rig *rig, struct fake_sys *fake, const char *config);
struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd);
/* Frees the counts, NULL for none, the engine and the rig. */
void cgroup_rig_done(struct rig *rig, struct cgroup_counts *counts);

/* Resumes the engine and the cgroup of a descriptor. Returns what cgroup_counts_resume() does. */
int cgroup_rig_resume(struct rig *rig, struct cgroup_counts *counts, int fd);
/* CPUs came or went; or the configuration is another. The same for CGROUP. */
int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *left);
int cgroup_rig_configure(struct rig *rig, struct cgroup_counts *counts, const char *config);
/* Whether a group is no longer the one that was opened. */
bool cgroup_rig_is_stale(const struct cgroup_counts *counts);

/* The failures of `n` cgroups; the caller frees them. */
struct failures cgroup_rig_failures(const struct rig *rig, struct cgroup_counts *const *counts, size_t n);

/* CGROUP runs on the CPUs from `first` to `last`, and is read. Returns how many groups could be. */
size_t cgroup_rig_run(struct rig *rig, struct cgroup_counts *counts, unsigned first, unsigned last, uint64_t ns);

/* A value of "/a", on all CPUs or on one; NOT_SHOWN. */
uint64_t cgroup_value(const struct rig *rig, const char *metric, const char *pmu, const char *group);
uint64_t cgroup_value_on(const struct rig *rig, const char *metric, int cpu, const char *pmu, const char *group);

#endif
