/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sys interface (perf/sys.h) of a simulated machine, whose calls are counted and fail as planned (faults.h). It may
 * be copied, as a session does. The machine identifies a cgroup by the inode of its directory.
 */
#ifndef TESTS_FAULTS_FAULTY_SYS_H
#define TESTS_FAULTS_FAULTY_SYS_H

#include "tests/faults/faults.h"
#include "tests/unit/fake-sys.h"

/* `fake` must outlive `sys`. */
void faulty_sys_init(struct sys *sys, struct fake_sys *fake);
/* The same for BPF programs, if `fake` already has them. `bpf` must be zeroed. */
void faulty_bpf_init(struct bpf_calls *bpf, struct fake_sys *fake);

/* The variants of a call's failure, from 0 on. */
const char *seam_call_name(enum seam_call call);
unsigned seam_count_variants(enum seam_call call);
const char *seam_variant_name(enum seam_call call, unsigned n);

#endif
