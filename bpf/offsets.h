/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the offsets of the kernel struct fields that lead from a task to the id of its cgroup. The search is needed on
 * kernels without type information (BTF), such as those of many boards.
 *
 * The kernel itself gives the id of a running task's cgroup (bpf_get_current_cgroup_id()). The search follows all
 * pointers in task_struct that look as if they led to a css_set, a cgroup and a kernfs_node. A way is a chain of four
 * offsets that leads, pointer by pointer, from a task to an id. The search keeps the ways that also lead from other
 * tasks, in other cgroups, to the ids of their cgroups. Exactly one way must be left. The search relies on three facts,
 * which hold in Linux 5.10, 6.1 and 6.18 (include/linux/cgroup-defs.h): cgroup.self is the first field of a cgroup, and
 * its own first field, cgroup_subsys_state.cgroup, points to the cgroup; the root's id is 1 (fs/kernfs/dir.c); the root
 * has no parent.
 */
#ifndef BPF_OFFSETS_H
#define BPF_OFFSETS_H

#include <stdint.h>

#include "base/error.h"
#include "bpf/layout.h"

/* Number of 8-byte words that are read at a time. */
#define PEEK_WORDS 512

/* The running task of a CPU. */
struct peeked_task {
    uint64_t address, cgroup; /* address of its task_struct; id of its cgroup */
};

/* Functions with which the search reads kernel memory. Both functions return 0 or -errno. */
struct peek {
    void *userdata;
    unsigned n_cpus;
    /* Finds the running task of `cpu`, or this process if `cpu` is -1. -ENXIO: the CPU is offline. */
    int (*task)(void *userdata, int cpu, struct peeked_task *ret);
    /* Copies words of kernel memory; they are 0 if they cannot be read. */
    int (*words)(void *userdata, uint64_t address, size_t n, uint64_t *ret);
};

/*
 * Finds the offsets, which takes up to a second. Returns -ENOENT with a message if the kernel is not a 64-bit one, if
 * tasks of only one cgroup were seen, or if not exactly one way to the ids was found.
 */
int offsets_find(const struct peek *peek, struct bpf_offsets *ret, struct error *error);

#endif
