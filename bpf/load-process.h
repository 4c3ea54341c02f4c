/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the program of a tally into the kernel, by a child that ends with it. */
#ifndef BPF_LOAD_PROCESS_H
#define BPF_LOAD_PROCESS_H

#include "bpf/program.h"
#include "process/memory-limit.h"

/*
 * Errors and sentences as those of tally_calls.start(); the descriptors are the caller's. `memory` (NULL: none) is the
 * limit within which the child stays: beyond it the kernel would kill it, and systemd then stops the service
 * (OOMPolicy=).
 */
int load_process_run(const struct tally_shape *shape, const struct memory_limit *memory, int ret[N_KERNEL_PARTS],
                     struct error *error);

#endif
