/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stranger can do with a descriptor from the opener. An attacker who has taken over the daemon may pass a
 * descriptor to another process on the machine (unix(7), SCM_RIGHTS), which has neither a system call filter nor
 * capabilities.
 *
 * The table has one row for each kind of descriptor and each operation on it. tests/impostor/ tries every row on the
 * running kernel.
 */
#ifndef TESTS_IMPOSTOR_DESCRIPTOR_POWERS_H
#define TESTS_IMPOSTOR_DESCRIPTOR_POWERS_H

#include <stddef.h>

enum descriptor_kind {
    DESCRIPTOR_COUNTER,    /* hardware, software, cache, raw and PMU events of a CPU or a cgroup, not sampling */
    DESCRIPTOR_TRACEPOINT, /* tracepoints, kprobes and uprobes, not sampling; sealed by the opener */
    DESCRIPTOR_BREAKPOINT, /* only with opener.breakpoints */
    DESCRIPTOR_SAMPLER,    /* a counter that samples */
    DESCRIPTOR_SAMPLED_TRACEPOINT, /* a tracepoint of sampler.event or sampler.tracepoints; sealed by the opener */
    DESCRIPTOR_BPF,                /* the frozen maps with the cgroups' counts (bpf/calls.h) */
    N_DESCRIPTOR_KINDS
};

/* Operations on perf events, on any file descriptor, and on BPF maps. */
enum descriptor_operation {
    OPERATION_ENABLE,
    OPERATION_DISABLE,
    OPERATION_RESET,
    OPERATION_REFRESH,
    OPERATION_PERIOD,
    OPERATION_SET_OUTPUT, /* the event's output goes to the stranger's ring buffer */
    OPERATION_BE_OUTPUT,  /* the output of the stranger's event, which has no ring buffer, goes to the descriptor */
    OPERATION_SET_FILTER, /* a filter on a number: common_pid == 1 */
    OPERATION_SET_TEXT_FILTER, /* a filter on a string: filename ~ "*" */
    OPERATION_SET_ADDRESS_FILTER,
    OPERATION_ID,
    OPERATION_SET_BPF,        /* attaches an invalid program descriptor */
    OPERATION_SET_LOADED_BPF, /* attaches the stranger's BPF program */
    OPERATION_QUERY_BPF,
    OPERATION_PAUSE_OUTPUT,
    OPERATION_MODIFY,        /* changes the event's address */
    OPERATION_MODIFY_TYPE,   /* changes the event's type */
    OPERATION_MODIFY_KERNEL, /* changes the event's address to one in the kernel */
    OPERATION_MAP_PAGE,
    OPERATION_MAP_RING,
    OPERATION_MAP_AUX,
    OPERATION_READ,
    OPERATION_WRITE,
    OPERATION_POLL,
    OPERATION_SIGNAL, /* F_SETOWN, F_SETSIG and O_ASYNC, aimed at a root process */
    OPERATION_REOPEN, /* /proc/self/fd/N */
    OPERATION_LEAD,   /* the stranger's task event joins the descriptor's group */
    OPERATION_MAP_READABLE,
    OPERATION_MAP_PROTECT, /* mprotect(2) of the readable mapping, for writing */
    OPERATION_MAP_PRIVATE,
    OPERATION_ELEMENT_LOOK_UP,
    OPERATION_ELEMENT_UPDATE,
    OPERATION_ELEMENTS_UPDATE, /* updates several elements at once */
    OPERATION_ELEMENT_DELETE,
    OPERATION_FREEZE,
    OPERATION_INFORM,
    OPERATION_FIND, /* opens the map by its id */
    OPERATION_PIN,
    OPERATION_PROGRAM, /* the stranger's program writes to the map */
    N_DESCRIPTOR_OPERATIONS
};

#define DESCRIPTOR_ERRORS_MAX 5

struct descriptor_power {
    unsigned kinds; /* bit mask: 1 << enum descriptor_kind */
    enum descriptor_operation operation;
    /* The possible errno values, 0 for success; kernels and their configurations differ. */
    size_t n_errors;
    int errors[DESCRIPTOR_ERRORS_MAX];
    const char *harmless; /* why the stranger gains nothing */
    const char *source;   /* place in the kernel's source, from Linux 5.10 to today */
};

const char *descriptor_kind_name(enum descriptor_kind kind);
const char *descriptor_operation_name(enum descriptor_operation operation);
/* Returns NULL if the table has no such row, which a unit test rules out. */
const struct descriptor_power *descriptor_power_find(enum descriptor_kind kind, enum descriptor_operation operation);

#endif
