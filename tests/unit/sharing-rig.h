/* SPDX-License-Identifier: Apache-2.0 */
/* A rig with the cpu collector and the perf groups of a BPF program, which may share groups. */
#ifndef TESTS_UNIT_SHARING_RIG_H
#define TESTS_UNIT_SHARING_RIG_H

#include "collectors/cgroup/bpf-groups.h"
#include "tests/unit/rig.h"

#define CONFIG(cpu, cgroup) "collectors: {cpu: {groups: " cpu "}, cgroup: {groups: " cgroup "}}"

struct sharing_rig {
    struct rig rig;
    void *cpu;
    struct bpf_groups groups;
};

/* Opens the collector and the groups; sharing_rig_done() closes them. */
void sharing_rig_init(struct sharing_rig *rig, struct fake_sys *fake, const char *config);
void sharing_rig_done(struct sharing_rig *rig);
/* Reopen everything after the configuration or the CPUs have changed: the cpu collector first, as in the registry. */
void sharing_rig_resume(struct sharing_rig *rig);
void sharing_rig_configure(struct sharing_rig *rig, const char *config);
void sharing_rig_rescan(struct sharing_rig *rig, const char *went_offline);

/*
 * Describes the events of a CPU in static text like "T0 R0+ S1 -": the source (T: running time of the group, R: read,
 * S: context switches), the group, and + if the event provides the times of its group.
 */
const char *sharing_rig_describe(const struct sharing_rig *rig, unsigned cpu);
/* Returns the number of descriptors that the BPF program has opened itself. */
size_t sharing_rig_descriptors(const struct sharing_rig *rig);
#endif
