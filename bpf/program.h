/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a tally, as libbpf loads it into the kernel. Takes some 14 MB, which libbpf needs. */
#ifndef BPF_PROGRAM_H
#define BPF_PROGRAM_H

#include "bpf/calls.h"

/* The parts of the program in the kernel: maps, then programs. */
enum kernel_part {
    KERNEL_COUNTS,
    KERNEL_RECORDS,
    KERNEL_CONTROL,
    KERNEL_SLOTS,
    KERNEL_EVENTS,
    KERNEL_SWITCH,
    KERNEL_LOOK,
    N_KERNEL_PARTS
};

/* The sentence of -EMFILE. */
#define NO_ROOM_FOR_PROGRAM                                                                                            \
    "the limit of open files leaves no room for the program that counts cgroups: raise it (LimitNOFILE= of the unit, " \
    "ulimit -n)"

/*
 * Loads it for `shape`, with counts and records frozen. The descriptors last until this process ends. Errors and
 * sentences as those of tally_calls.start().
 */
int kernel_program_load(const struct tally_shape *shape, int ret[N_KERNEL_PARTS], struct error *error);

#endif
