/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam (perf/sys.h) of a machine that is played, whose calls are counted and fail as planned (faults.h). It may be
 * copied, as a session does. A cgroup is known to the machine by the inode of its directory.
 */
#ifndef TESTS_FAULTS_FAULTY_SYS_H
#define TESTS_FAULTS_FAULTY_SYS_H

#include "tests/faults/faults.h"
#include "tests/unit/fake-sys.h"

/* `fake` must outlive it. */
void faulty_sys_init(struct sys *sys, struct fake_sys *fake);
/* The same for BPF programs, if `fake` can have them by now. `bpf` is zeroed before. */
void faulty_bpf_init(struct bpf_calls *bpf, struct fake_sys *fake);

/* How a call of the seam may fail: its variants, from 0 on. */
const char *seam_call_name(enum seam_call call);
unsigned seam_count_variants(enum seam_call call);
const char *seam_variant_name(enum seam_call call, unsigned n);

#endif
