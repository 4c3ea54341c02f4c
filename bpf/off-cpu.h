/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the off-CPU program (bpf/off-cpu.bpf.c) shares with its loader and with the sampler. This header uses only types
 * from kernel headers, because the program has no libc.
 */
#ifndef BPF_OFF_CPU_H
#define BPF_OFF_CPU_H

#include <linux/types.h>

/* Why a task left its CPU. */
enum off_cpu_state {
    OFF_CPU_RUNNABLE, /* the task was preempted, or it yielded */
    OFF_CPU_SLEEPING,
    OFF_CPU_UNINTERRUPTIBLE, /* mostly I/O: "D" of ps(1) */
    OFF_CPU_STOPPED,         /* the task was stopped by a signal or a debugger */
    N_OFF_CPU_STATES
};

/* The raw data of a sample. The sample belongs to the task that runs again. */
struct off_cpu_wait {
    __u64 ns;          /* time from leaving a CPU to running again */
    __u64 runnable_ns; /* the part of that time in which the task was runnable */
    __u32 state;       /* enum off_cpu_state */
    __u32 zero;
};

/* The constants of a loaded program. */
struct off_cpu_constants {
    __u64 threshold_ns; /* shorter waits are not sampled */
};

/* Counts of waits that were not sampled. The program keeps one per CPU; readers get the sum. */
struct off_cpu_totals {
    __u64 brief, brief_ns; /* number and total time of waits that were shorter than the threshold */
    __u64 missed;          /* number of waits whose stack could not be sampled or whose task was not in the map */
};

/* Maximum number of tasks in the program's map. */
#define OFF_CPU_TASKS_MAX 32768

#endif
