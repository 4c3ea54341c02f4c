/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine has the collector cpu and the perf groups of a tally. */
#ifndef TESTS_UNIT_LENDING_RIG_H
#define TESTS_UNIT_LENDING_RIG_H

#include "collectors/cgroup/bpf-groups.h"
#include "tests/unit/rig.h"

#define CONFIG(cpu, cgroup) "collectors: {cpu: {groups: " cpu "}, cgroup: {groups: " cgroup "}}"

struct lending_rig {
    struct rig rig;
    void *cpu;
    struct tally_groups groups;
};

/* Opens everything; lending_rig_done() closes it. */
void lending_rig_init(struct lending_rig *rig, struct fake_sys *fake, const char *config);
void lending_rig_done(struct lending_rig *rig);
/* Opens again, first the collector cpu as the registry does: with another configuration, or when CPUs came or went. */
void lending_rig_resume(struct lending_rig *rig);
void lending_rig_configure(struct lending_rig *rig, const char *config);
void lending_rig_rescan(struct lending_rig *rig, const char *left);

/* "T0 R0+ S1 -": where each event comes from on a CPU, and its times; + where it gives them. Static text. */
const char *lending_rig_describe(const struct lending_rig *rig, unsigned cpu);
/* The descriptors that the tally has opened itself. */
size_t lending_rig_descriptors(const struct lending_rig *rig);
#endif
