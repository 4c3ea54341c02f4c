/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a". */
#ifndef TESTS_UNIT_CGROUP_RIG_H
#define TESTS_UNIT_CGROUP_RIG_H

#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/watched.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"

/* The descriptors of the cgroup in most tests, and of a second cgroup. */
#define CGROUP 7
#define OTHER 8

/* The engine under test; its type is NULL before the first cgroup is opened. */
extern struct cgroup_engine rig_engine;

/*
 * Runs all tests once with the perf engine and once with the bpf engine, on a simulated machine that can run BPF
 * programs.
 */
#define CGROUP_RIG_MAIN()                                                                                              \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        cgroup_rig_use(ENGINE_PERF);                                                                                   \
        int failed = run_all_tests("engine perf", NULL, NULL);                                                         \
        cgroup_rig_use(ENGINE_BPF);                                                                                    \
        return failed + run_all_tests("engine bpf", NULL, NULL);                                                       \
    }
void cgroup_rig_use(enum config_engine engine);
bool cgroup_rig_uses(enum config_engine engine);
/* Returns from a test that does not apply to the current engine. */
#define NEEDS_ENGINE(engine)                                                                                           \
    do {                                                                                                               \
        if (!cgroup_rig_uses(engine))                                                                                  \
            return;                                                                                                    \
    } while (0)
/* Returns the number of descriptors per cgroup: `n` with the perf engine, 0 with the bpf engine. */
size_t cgroup_rig_own(size_t n);

/* A configuration that enables only the cgroup collector. */
#define GROUPS(groups) "collectors: {cgroup: {groups: " groups "}}"
#define GROUPS_PER_CPU(groups) "collectors: {cgroup: {per_cpu: true, groups: " groups "}}"

/* Opens the engine. */
void cgroup_rig_start(struct rig *rig, struct fake_sys *fake, const char *config);
/* Opens the engine, and the cgroup "/a" with the descriptor CGROUP. */
struct cgroup_counts *cgroup_rig_init(struct rig *rig, struct fake_sys *fake, const char *config);
struct cgroup_counts *cgroup_rig_open(struct rig *rig, const char *path, int fd);
/* Frees the counts, which may be NULL, the engine and the rig. */
void cgroup_rig_done(struct rig *rig, struct cgroup_counts *counts);

/*
 * Resumes the engine, then the counts of the cgroup with this descriptor. Returns the result of cgroup_counts_resume().
 */
int cgroup_rig_resume(struct rig *rig, struct cgroup_counts *counts, int fd);
/* Rescans the CPUs after hotplug, then resumes the engine and the counts of CGROUP. */
int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *went_offline);

#endif
