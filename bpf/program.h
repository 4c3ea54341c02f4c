/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled BPF program: loaded by libbpf in a child process, and attached.
 *
 * bpf(2), a function for each command that a tally takes. All return 0, or a descriptor, or -errno.
 *
 * libbpf, which adapts a BPF program to the types of the running kernel. It is loaded when it is first needed, and its
 * functions are declared here, so that perfcountd is built the same with and without its headers. They are those that
 * libbpf 0.3 (Debian 11) and 1.x have in common.
 *
 * The compiled program of a tally, an ELF object that libbpf opens from memory. The same bytes serve all architectures.
 *
 * A loader sets the value of TALLY_MAP_SHAPE, which the program takes for constants, and the sizes of maps:
 *
 *     map               key                   value                 entries
 *     TALLY_MAP_EVENTS  cpu * events + event  descriptor            cpus * events
 *     TALLY_MAP_SLOTS   id of a cgroup        uint32_t, its slot    as many as slots: without the root, which has its
 * own TALLY_MAP_COUNTS  cpu * slots + slot    8 * tally_words()     cpus * slots      frozen, mapped TALLY_MAP_RECORDS
 * cpu                   struct tally_record   cpus              frozen, mapped TALLY_MAP_CONTROL cpu struct
 * tally_control  cpus TALLY_MAP_WORK    cpu                   the program's own     cpus
 *
 * An epoch is never 0, and is another each time that a CPU's counters stood still for the program: after attaching too.
 *
 * The program of a tally, as libbpf loads it into the kernel. Takes some 14 MB, which libbpf needs.
 *
 * Loads the program of a tally into the kernel, by a child that ends with it.
 */
#ifndef BPF_PROGRAM_H
#define BPF_PROGRAM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/calls.h"
#include "process/memory-limit.h"

/* Sets an element; removes it. */
int bpf_call_update(int map, const void *key, const void *value);
int bpf_call_delete(int map, const void *key);
/* The program runs at the tracepoint until the descriptor is closed. `name` is NULL where the program has it. */
int bpf_call_attach(int program, const char *name);
/* Runs a program of a raw tracepoint once, on a CPU, with arguments of 0; what it returns. -ENXIO: the CPU is offline.
 */
int bpf_call_run_on(int program, unsigned cpu);

struct bpf_map;
struct bpf_object;
struct bpf_program;

/* Of an object that is opened; the first fields of libbpf's own struct. */
struct libbpf_options {
    size_t size;             /* of this struct */
    const char *object_name; /* starts the names of the maps of constants and variables */
};

struct libbpf {
    /* The print function gets a level, 0 for a warning. */
    int (*(*set_print)(int (*print)(int level, const char *format, va_list arguments)))(int, const char *, va_list);
    long (*get_error)(const void *pointer); /* 0 or -errno: 0.x gives pointers that are errors */
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
/* Loads libbpf ahead of time, so that a later libbpf_load() maps no file. Reports nothing: libbpf_load() does. */
void libbpf_preload(void);

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
 * Errors and sentences as those of tally_calls.start(); the descriptors are the caller's. `memory` (NULL: none) is the
 * limit within which the child stays: beyond it the kernel would kill it, and systemd then stops the service
 * (OOMPolicy=).
 */
int load_process_run(const struct tally_shape *shape, const struct memory_limit *memory, int ret[N_KERNEL_PARTS],
                     struct error *error);

#endif
