/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates the system calls of a machine of any size, to measure how costs grow. A simulated read takes the same time
 * however many events are open. The simulation uses no heap, so mallinfo2(3) shows only the program under test.
 *
 * The machine has one core PMU "cpu", which counts all groups at the same time, software events, and a cgroup v2 tree.
 */
#ifndef BENCH_SIMULATED_H
#define BENCH_SIMULATED_H

#include "perf/sys.h"

struct simulated;

/* Creates the CPUs from 0 on and the cgroups /b00000, /b00001, ... Returns NULL and sets errno on failure. */
struct simulated *simulated_new(unsigned n_cpus, unsigned n_cgroups);
/* Removes the machine's directory; all descriptors must have been closed. */
struct simulated *simulated_free(struct simulated *simulated);

struct sys *simulated_sys(struct simulated *simulated);
/* Advances the time by a second, in which every event counts. */
void simulated_advance(struct simulated *simulated);
/* Returns how much an event counts in a second. */
uint64_t simulated_rate(const struct simulated *simulated, int fd);
/* Allocates zeroed pages outside the heap; release them with munmap(2). NULL: out of memory. */
void *simulated_map(size_t size);
/* Returns the number of group reads since the machine was created. */
size_t simulated_reads(const struct simulated *simulated);
/* Returns the number of open events. */
size_t simulated_open(const struct simulated *simulated);

#endif
