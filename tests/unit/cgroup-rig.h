/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine counts the cgroup "/a", and what its series show. */
#ifndef TESTS_UNIT_CGROUP_RIG_H
#define TESTS_UNIT_CGROUP_RIG_H

#include "collectors/cgroup/counts.h"
#include "collectors/cgroup/watched.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"

/* The descriptor of the cgroup that most tests have, and that of another. */
#define CGROUP 7
#define OTHER 8

/* The engine that counts; its type is NULL before the first cgroup is opened. */
extern struct cgroup_engine rig_engine;

/* Runs the tests of a program once with each engine; the machine can have a BPF program where it is bpf. */
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
/* A test is for one engine. */
#define NEEDS_ENGINE(engine)                                                                                           \
    do {                                                                                                               \
        if (!cgroup_rig_uses(engine))                                                                                  \
            return;                                                                                                    \
    } while (0)
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
/* The same for CGROUP, when CPUs came or went. */
int cgroup_rig_rescan(struct rig *rig, struct cgroup_counts *counts, const char *went_offline);

#endif
