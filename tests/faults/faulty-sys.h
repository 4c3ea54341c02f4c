/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sys interface (perf/sys.h) of a simulated machine, whose calls are counted and fail as planned (faults.h). A
 * struct sys may be copied. The machine identifies a cgroup by the inode of its directory.
 */
#ifndef TESTS_FAULTS_FAULTY_SYS_H
#define TESTS_FAULTS_FAULTY_SYS_H

#include "tests/faults/faults.h"
#include "tests/unit/fake-sys.h"

/* `fake` must outlive `sys`. */
void faulty_sys_init(struct sys *sys, struct fake_sys *fake);
/* Initialises the calls for BPF programs likewise, if `fake` has such programs. `bpf` must be zeroed. */
void faulty_bpf_init(struct bpf_calls *bpf, struct fake_sys *fake);

/* The variants of a call are the ways in which it can fail, numbered from 0. */
const char *seam_call_name(enum seam_call call);
unsigned seam_count_variants(enum seam_call call);
const char *seam_variant_name(enum seam_call call, unsigned n);

#endif
