/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds BPF to a simulated machine: the calls of bpf/calls.h, and a program that runs at each context switch.
 * fake_cgroup_run() identifies a cgroup by its descriptor, or by its inode if the descriptor is a directory. Between
 * two calls of fake_cgroup_run(), a CPU runs the root cgroup.
 */
#ifndef TESTS_UNIT_FAKE_BPF_H
#define TESTS_UNIT_FAKE_BPF_H

#include "tests/unit/fake-sys.h"

/* From now on fake_cgroup_run() also advances events that are opened on whole CPUs. */
void fake_bpf_add(struct fake_sys *fake);
/* Return how many programs were started, and how many cgroups have a slot in the last one. */
unsigned fake_bpf_starts(const struct fake_sys *fake);
size_t fake_bpf_assigned(const struct fake_sys *fake);

/* Damages the record of a CPU, so that readers refuse it. */
void fake_bpf_spoil(struct fake_sys *fake, unsigned cpu);
/*
 * Moves the task that runs on a CPU to another cgroup. The program notices the move only at the next switch or flush on
 * that CPU.
 */
void fake_bpf_move(struct fake_sys *fake, int cgroup, unsigned cpu);
/* Runs a CPU for `ns` in a cgroup that the program cannot identify. */
void fake_bpf_miss(struct fake_sys *fake, unsigned cpu, uint64_t ns);

#endif
