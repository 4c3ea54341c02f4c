/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the program of a tally into the kernel, by a child that ends with it. */
#ifndef PERF_TALLY_LOAD_PROCESS_H
#define PERF_TALLY_LOAD_PROCESS_H

#include "perf/tally/kernel-program.h"

/* Errors and sentences as those of tally_calls.start(); the descriptors are the caller's. */
int load_process_run(const struct tally_shape *shape, int ret[N_KERNEL_PARTS], struct error *error);

#endif
