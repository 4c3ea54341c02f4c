/* SPDX-License-Identifier: Apache-2.0 */
/* The remains of a run in its process: memory, descriptors, mappings. */
#ifndef TESTS_FAULTS_RESIDUE_H
#define TESTS_FAULTS_RESIDUE_H

#include <stddef.h>
#include <stdint.h>

struct residue {
    long allocations;
    uint64_t descriptors;
    unsigned mappings; /* shared ones, as those of rings and tallies are */
};

struct residue residue_now(void);
/* Of all inotify descriptors of this process, as the kernel counts them: proc_pid_fdinfo(5). */
size_t residue_count_watches(void);
/*
 * Fails the point where more is there than before. `allowed` are allocations that stay in a run without faults: where
 * more do, the leak sanitizer says whether any of them is lost. NULL: this is that run.
 */
void residue_compare(const struct residue *before, const struct residue *after, const long *allowed);

#endif
