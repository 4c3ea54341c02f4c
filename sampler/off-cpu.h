/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Off-CPU time: the event "off-cpu" samples a task when it runs again after a wait, with its stack during the wait and
 * the duration (bpf/off-cpu.bpf.c).
 *
 * Each sampled CPU has two "bpf-output" events. The BPF program writes samples to the ring of the first event. The
 * second event is an alarm, whose ring nobody reads. The records in the ring are converted to ordinary samples, whose
 * period is the duration of the wait in nanoseconds. The converted samples lack the raw data from the BPF program, and
 * the kernel functions that __schedule() has called, because these functions run between the wait and the sample.
 */
#ifndef SAMPLER_OFF_CPU_H
#define SAMPLER_OFF_CPU_H

#include "bpf/calls.h"
#include "sampler/rings.h"

/* Returns the sample_type of the records that off_cpu_translate() makes from records with the given sample_type. */
uint64_t off_cpu_shown_type(uint64_t sample_type);

/* State that all captures share, initially zeroed except for `calls`. */
struct off_cpu_kernel {
    const struct bpf_calls *calls;
    bool looked;         /* /proc/kallsyms has been read, so `start` and `end` are final */
    uint64_t start, end; /* address range of __schedule(), in which tasks wait; 0 if unknown */
};

struct off_cpu;

/*
 * Starts to measure off-CPU time, but on no CPU yet. `kernel` and `sys` must outlive the result. Returns these errors
 * with a message: the errors from bpf_calls.off_cpu_start(), -EOPNOTSUPP if this process cannot use BPF programs,
 * -ENOMEM.
 */
int off_cpu_open(struct sys *sys, struct off_cpu_kernel *kernel, const struct machine *machine,
                 const struct record_options *options, struct off_cpu **ret, struct error *error);
struct off_cpu *off_cpu_free(struct off_cpu *off_cpu);
/* Measures off-CPU time on the CPUs of these rings and on no others. Sets a message on failure. */
int off_cpu_set_rings(struct off_cpu *off_cpu, const struct rings *rings, struct error *error);
/* Returns how many waits since off_cpu_open() have no sample, or zeros if the BPF program's counts cannot be read. */
struct off_cpu_totals off_cpu_totals(struct off_cpu *off_cpu);
/*
 * Converts a sample from the BPF program to an ordinary sample, which is valid until the next call. Other records are
 * returned unchanged. Returns NULL if the options exclude the wait, or if the record is not from the BPF program.
 */
const struct record *off_cpu_translate(struct off_cpu *off_cpu, const struct record *record);

#endif
