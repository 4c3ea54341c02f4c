/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of any size over the syscall seam, for measuring growth: its reads take the same time however much is
 * open, and nothing of it is on the heap, so that mallinfo2(3) has the program under test alone.
 *
 * It has one core PMU "cpu" whose groups all count at once, software events, and a cgroup v2 tree of directories.
 */
#ifndef BENCH_SIMULATED_H
#define BENCH_SIMULATED_H

#include "perf/sys.h"

struct simulated;

/* CPUs 0 to `n_cpus` - 1, and as many cgroups /b00000, /b00001, ... NULL with the reason in errno. */
struct simulated *simulated_new(unsigned n_cpus, unsigned n_cgroups);
/* Removes its directory; all descriptors must be closed. */
struct simulated *simulated_free(struct simulated *simulated);

struct sys *simulated_sys(struct simulated *simulated);
/* A second passes, and every event counts something. */
void simulated_advance(struct simulated *simulated);
/* How much an event counts in a second. */
uint64_t simulated_rate(const struct simulated *simulated, int fd);
/* Pages of zero that are not on the heap; munmap(2). NULL: out of memory. */
void *simulated_map(size_t size);
/* How often groups were read. */
size_t simulated_reads(const struct simulated *simulated);
/* How many events are open. */
size_t simulated_open(const struct simulated *simulated);

#endif
