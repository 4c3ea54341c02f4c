/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Off-CPU time: the event "off-cpu" samples a task when it runs again after a wait, with its stack during the wait and
 * the duration (bpf/off-cpu.bpf.c).
 *
 * On each sampled CPU there are two events "bpf-output": that of the capture's ring, to which the BPF program writes
 * samples, and an alarm, whose ring nobody reads. The records of the ring are turned into samples like those of other
 * events. Their period is the duration in nanoseconds. The program's data is left out, and so are the kernel's
 * functions that __schedule() has called: they run between the wait and the sample.
 */
#ifndef SAMPLER_OFF_CPU_H
#define SAMPLER_OFF_CPU_H

#include "bpf/calls.h"
#include "sampler/rings.h"

/* Returns the sample_type of the records of off_cpu_translate(), for the sample_type of the ring. */
uint64_t off_cpu_shown_type(uint64_t sample_type);

/* State that all captures share; zeroed at first, except for `calls`. */
struct off_cpu_kernel {
    const struct bpf_calls *calls;
    bool looked;         /* /proc/kallsyms was read, so `start` and `end` are final */
    uint64_t start, end; /* address range of __schedule(), in which tasks wait; 0: unknown */
};

struct off_cpu;

/*
 * Starts measuring, on no CPU yet. `kernel` and `sys` must outlive it. Returns the errors of bpf_calls.off_cpu_start()
 * with a sentence, -EOPNOTSUPP if this process has no BPF programs, -ENOMEM.
 */
int off_cpu_open(struct sys *sys, struct off_cpu_kernel *kernel, const struct machine *machine,
                 const struct record_options *options, struct off_cpu **ret, struct error *error);
struct off_cpu *off_cpu_free(struct off_cpu *off_cpu);
/* Measures on the CPUs of these rings, and no others. Errors have a sentence. */
int off_cpu_set_rings(struct off_cpu *off_cpu, const struct rings *rings, struct error *error);
/* Returns the counts of waits without a sample since off_cpu_open(), or zeros if they cannot be read. */
struct off_cpu_totals off_cpu_totals(struct off_cpu *off_cpu);
/*
 * Turns a sample of the ring into one that other events could have, which is valid until the next call. Other records
 * are returned as they are. Returns NULL if the options exclude the wait, or if the record is not from the BPF program.
 */
const struct record *off_cpu_translate(struct off_cpu *off_cpu, const struct record *record);

#endif
