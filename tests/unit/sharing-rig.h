/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine has the collector cpu and the perf groups of a BPF program. */
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

/* Opens everything; sharing_rig_done() closes it. */
void sharing_rig_init(struct sharing_rig *rig, struct fake_sys *fake, const char *config);
void sharing_rig_done(struct sharing_rig *rig);
/* Opens again, first the collector cpu as the registry does: with another configuration, or when CPUs came or went. */
void sharing_rig_resume(struct sharing_rig *rig);
void sharing_rig_configure(struct sharing_rig *rig, const char *config);
void sharing_rig_rescan(struct sharing_rig *rig, const char *went_offline);

/* "T0 R0+ S1 -": where each event comes from on a CPU, and its times; + where it gives them. Static text. */
const char *sharing_rig_describe(const struct sharing_rig *rig, unsigned cpu);
/* The descriptors that the BPF program has opened itself. */
size_t sharing_rig_descriptors(const struct sharing_rig *rig);
#endif
