/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that counts cgroups at the kernel's switches (bpf/calls.h), on a simulated machine: it has maps of
 * any size, and divides what the CPUs count among the cgroups that have a slot.
 */
#ifndef BENCH_SIMULATED_BPF_H
#define BENCH_SIMULATED_BPF_H

#include "bench/simulated.h"

struct simulated_bpf;

/* Each cgroup runs on one of `each` CPUs in a second, on others in the next one. NULL: out of memory. */
struct simulated_bpf *simulated_bpf_new(struct simulated *simulated, unsigned each);
/* NULL for NULL. */
const struct bpf_calls *simulated_bpf_calls(const struct simulated_bpf *bpf);
/* All that was mapped must be unmapped. NULL is fine. */
struct simulated_bpf *simulated_bpf_free(struct simulated_bpf *bpf);
/* The bytes that a reader of all entries maps of its own. */
size_t simulated_bpf_size(const struct simulated_bpf *bpf);
/* A second passes, in which cgroups ran; the root had the rest. */
void simulated_bpf_advance(struct simulated_bpf *bpf);

#endif
