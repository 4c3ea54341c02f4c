/* SPDX-License-Identifier: Apache-2.0 */
/* bpf(2), a function for each command that a tally takes. All return 0, or a descriptor, or -errno. */
#ifndef BPF_BPF_CALL_H
#define BPF_BPF_CALL_H

#include <stdint.h>

/* Sets an element; removes it. */
int bpf_call_update(int map, const void *key, const void *value);
int bpf_call_delete(int map, const void *key);
/* From now on, no system call writes to the map, and nobody maps it for writing; programs go on writing to it. */
int bpf_call_freeze(int map);
/* The program runs at the tracepoint until the descriptor is closed. `name` is NULL where the program has it. */
int bpf_call_attach(int program, const char *name);
/* Runs a program of a raw tracepoint once, on a CPU, with arguments of 0; what it returns. -ENXIO: the CPU is offline.
 */
int bpf_call_run_on(int program, unsigned cpu);

#endif
