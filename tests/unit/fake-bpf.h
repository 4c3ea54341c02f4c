/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine to play that can have a BPF program: the calls of bpf/calls.h, and the program at the kernel's switches. A
 * cgroup is known to fake_cgroup_run() by its descriptor, or by its inode where it is a directory; between two runs a
 * CPU runs the root.
 */
#ifndef TESTS_UNIT_FAKE_BPF_H
#define TESTS_UNIT_FAKE_BPF_H

#include "tests/unit/fake-sys.h"

/* Groups that are opened on CPUs count for fake_cgroup_run() too from now on. */
void fake_bpf_add(struct fake_sys *fake);
/* How many programs were started, and how many cgroups have a slot in the last one. */
unsigned fake_bpf_starts(const struct fake_sys *fake);
size_t fake_bpf_assigned(const struct fake_sys *fake);

/* The record of a CPU is no longer one that a reader takes. */
void fake_bpf_spoil(struct fake_sys *fake, unsigned cpu);
/* A task moves the one that runs on a CPU to a cgroup, which the program does not notice until the CPU looks. */
void fake_bpf_move(struct fake_sys *fake, int cgroup, unsigned cpu);
/* A CPU runs for that time, and the program does not know whom. */
void fake_bpf_miss(struct fake_sys *fake, unsigned cpu, uint64_t ns);

#endif
