/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled BPF programs: libbpf loads them in a child process, and bpf(2) calls attach them and fill their maps.
 *
 * The daemon contains each program as an ELF object, which libbpf opens from memory. The object has the same bytes on
 * all architectures.
 *
 * Two programs count cgroups, one for kernels with BTF and one for kernels without. For the latter, the loading child
 * first searches for the offsets of the fields that the program reads (bpf/offsets.h). The child sets the map
 * `cgroup.rodata` to a struct bpf_constants, whose values the program sees as constants, and the sizes of the other
 * maps (bpf/cgroup.bpf.c):
 *
 *     map        key                   value                            entries
 *     events     cpu * events + event  descriptor of a perf counter     cpus * events
 *     slots      id of a cgroup        __u32, its slot                  slots
 *     counts     cpu * slots + slot    bpf_words() words of 8 bytes     cpus * slots
 *     records    cpu                   struct bpf_record                cpus
 *     control    cpu                   struct bpf_control               cpus
 *     work       cpu                   struct work, the program's own   cpus
 *     successor  0                     program that takes over          1
 *
 * `counts` and `records` are frozen, and the reader maps them. `slots` has no element for the root, whose slot is
 * fixed. An epoch in `control` is never 0, so a zeroed record is outdated; each change of a CPU's events takes new
 * epochs.
 *
 * libbpf adapts the program to the types of the running kernel. libbpf is loaded with dlopen(3) when it is first
 * needed, and its functions are declared here, so that perfcountd builds with and without libbpf's headers. Only
 * functions that both libbpf 0.3 (Debian 11) and 1.x have are used.
 */
#ifndef BPF_PROGRAM_H
#define BPF_PROGRAM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/calls.h"
#include "process/memory-limit.h"

/*
 * These calls set, get and remove an element of a map. All return 0, or -errno of bpf(2). For a per-CPU map, `ret` has
 * room for the values of all possible CPUs, each a multiple of 8 bytes.
 */
int bpf_call_update(int map, const void *key, const void *value);
int bpf_call_lookup(int map, const void *key, void *ret);
int bpf_call_delete(int map, const void *key);
/*
 * Attaches a program to a raw tracepoint. Returns a descriptor, which keeps the program attached until it is closed, or
 * -errno. `name` is NULL if the program itself names the tracepoint.
 */
int bpf_call_attach(int program, const char *name);
/*
 * Runs a raw tracepoint program once on a CPU, with arguments of 0. Returns what the program returns, or -errno: -ENXIO
 * if the CPU is offline.
 */
int bpf_call_run_on(int program, unsigned cpu);

struct bpf_map;
struct bpf_object;
struct bpf_program;

/* Options for opening an object: the first fields of libbpf's struct bpf_object_open_opts. */
struct libbpf_options {
    size_t size;             /* size of this struct */
    const char *object_name; /* prefix of the .rodata, .data and .bss map names */
};

struct libbpf {
    /* `print` gets a level, which is 0 for a warning. */
    int (*(*set_print)(int (*print)(int level, const char *format, va_list arguments)))(int, const char *, va_list);
    long (*get_error)(const void *pointer); /* 0 or -errno; a pointer that libbpf 0.x returns may encode an error */
    struct bpf_object *(*open_mem)(const void *bytes, size_t size, const struct libbpf_options *options);
    int (*load)(struct bpf_object *object);
    void (*close)(struct bpf_object *object);
    struct bpf_map *(*find_map)(const struct bpf_object *object, const char *name);
    struct bpf_program *(*find_program)(const struct bpf_object *object, const char *name);
    int (*map_set_max_entries)(struct bpf_map *map, uint32_t n);
    int (*map_set_value_size)(struct bpf_map *map, uint32_t size);
    int (*map_set_initial_value)(struct bpf_map *map, const void *value, size_t size);
    int (*map_fd)(const struct bpf_map *map);
    int (*program_fd)(const struct bpf_program *program);
};
/* Loads libbpf ahead of time, so that a later load opens no file. An error is only reported by the later load. */
void libbpf_preload(void);

/* The parts of the loaded program: maps first, then programs. */
enum kernel_part {
    KERNEL_COUNTS,
    KERNEL_RECORDS,
    KERNEL_CONTROL,
    KERNEL_SLOTS,
    KERNEL_EVENTS,
    KERNEL_SUCCESSOR,
    KERNEL_SWITCH,
    KERNEL_LOOK,
    KERNEL_HAND_OVER,
    KERNEL_MADE, /* present only on kernels without BTF */
    N_KERNEL_PARTS
};

/* The parts of the program that measures off-CPU time (bpf/off-cpu.bpf.c): maps first, then programs. */
enum off_cpu_part {
    OFF_CPU_SAMPLES,
    OFF_CPU_ALARMS,
    OFF_CPU_TOTALS,
    OFF_CPU_SWITCH,
    OFF_CPU_WAKEUP,
    OFF_CPU_WORK,
    N_OFF_CPU_PARTS
};

/* The error message for -EMFILE. */
#define NO_ROOM_FOR_PROGRAM                                                                                            \
    "the limit of open files leaves no room for a BPF program: raise it (LimitNOFILE= of the unit, ulimit -n)"

/*
 * Loads the program in a child process, which has exited when the function returns. Returns how many parts it has; the
 * caller owns their descriptors. Errors and their messages are those of bpf_calls.start(). The child stays within
 * `memory`, unless it is NULL: if the child exceeded that limit, the kernel would kill it, and systemd would then stop
 * the service (OOMPolicy=).
 */
int load_process_run(const struct bpf_shape *shape, const struct memory_limit *memory, int ret[N_KERNEL_PARTS],
                     struct error *error);
/* Like load_process_run(), for the program that measures off-CPU time. Returns 0 or -errno. */
int load_process_run_off_cpu(const struct off_cpu_shape *shape, const struct memory_limit *memory,
                             int ret[N_OFF_CPU_PARTS], struct error *error);

#endif
