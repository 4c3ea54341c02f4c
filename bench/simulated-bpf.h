/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates the BPF program that counts cgroups at context switches (bpf/calls.h): it has maps of any size, and divides
 * the counts of the CPUs among the cgroups that have a slot.
 */
#ifndef BENCH_SIMULATED_BPF_H
#define BENCH_SIMULATED_BPF_H

#include "bench/simulated.h"

struct simulated_bpf;

/*
 * In each second a cgroup runs on one of every `each` CPUs, in the next second on others. Returns NULL when out of
 * memory.
 */
struct simulated_bpf *simulated_bpf_new(struct simulated *simulated, unsigned each);
/* Returns NULL if `bpf` is NULL. */
const struct bpf_calls *simulated_bpf_calls(const struct simulated_bpf *bpf);
/* All mappings must have been unmapped. `bpf` may be NULL. */
struct simulated_bpf *simulated_bpf_free(struct simulated_bpf *bpf);
/* Returns the bytes that a reader of all entries has mapped in addition to the maps. */
size_t simulated_bpf_size(const struct simulated_bpf *bpf);
/* Advances the time by a second, in which the cgroups run; the rest of the time goes to the root cgroup. */
void simulated_bpf_advance(struct simulated_bpf *bpf);

#endif
