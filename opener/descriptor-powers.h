/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The powers of a stranger over a descriptor that the opener handed out: a daemon that was taken over passed it to
 * another process of the machine (unix(7), SCM_RIGHTS), which has neither a filter of system calls nor a capability.
 * One row for each kind of descriptor and each operation. tests/impostor/ tries every row on the running kernel.
 */
#ifndef OPENER_DESCRIPTOR_POWERS_H
#define OPENER_DESCRIPTOR_POWERS_H

#include <stddef.h>

enum descriptor_kind {
    DESCRIPTOR_COUNTER,    /* hardware, software, cache, raw and PMU events of a CPU or a cgroup, without samples */
    DESCRIPTOR_TRACEPOINT, /* tracepoints, kprobes and uprobes, without samples; sealed by the opener */
    DESCRIPTOR_BREAKPOINT, /* opener.breakpoints */
    DESCRIPTOR_SAMPLER,    /* a counter that samples */
    DESCRIPTOR_SAMPLED_TRACEPOINT, /* sampler.event or sampler.tracepoints; sealed as well */
    DESCRIPTOR_TALLY,              /* the maps of counts of cgroups (bpf/calls.h), which are frozen */
    N_DESCRIPTOR_KINDS
};

/* The operations of perf_event_open(2), of file descriptors, and of bpf(2). */
enum descriptor_operation {
    OPERATION_ENABLE,
    OPERATION_DISABLE,
    OPERATION_RESET,
    OPERATION_REFRESH,
    OPERATION_PERIOD,
    OPERATION_SET_OUTPUT,      /* to a ring of the stranger's */
    OPERATION_BE_OUTPUT,       /* of an event of the stranger's, which has no ring */
    OPERATION_SET_FILTER,      /* of numbers: common_pid == 1 */
    OPERATION_SET_TEXT_FILTER, /* of texts: filename ~ "*" */
    OPERATION_SET_ADDRESS_FILTER,
    OPERATION_ID,
    OPERATION_SET_BPF,        /* a descriptor that is none */
    OPERATION_SET_LOADED_BPF, /* a program of the stranger's */
    OPERATION_QUERY_BPF,
    OPERATION_PAUSE_OUTPUT,
    OPERATION_MODIFY,        /* as it is, but of another address */
    OPERATION_MODIFY_TYPE,   /* to another type of event */
    OPERATION_MODIFY_KERNEL, /* to an address of the kernel */
    OPERATION_MAP_PAGE,
    OPERATION_MAP_RING,
    OPERATION_MAP_AUX,
    OPERATION_READ,
    OPERATION_WRITE,
    OPERATION_POLL,
    OPERATION_SIGNAL, /* F_SETOWN, F_SETSIG and O_ASYNC towards a process of root's */
    OPERATION_REOPEN, /* /proc/self/fd/N */
    OPERATION_LEAD,   /* a task event of the stranger's joins its group */
    OPERATION_MAP_READABLE,
    OPERATION_MAP_PROTECT, /* mprotect(2) of that for writing */
    OPERATION_MAP_PRIVATE,
    OPERATION_ELEMENT_LOOK_UP,
    OPERATION_ELEMENT_UPDATE,
    OPERATION_ELEMENTS_UPDATE, /* several at once */
    OPERATION_ELEMENT_DELETE,
    OPERATION_FREEZE,
    OPERATION_INFORM,
    OPERATION_FIND, /* by the id of the map */
    OPERATION_PIN,
    OPERATION_PROGRAM, /* a program of the stranger's that writes to the map */
    N_DESCRIPTOR_OPERATIONS
};

#define DESCRIPTOR_ERRORS_MAX 5

struct descriptor_power {
    unsigned kinds; /* a bit each, 1 << enum descriptor_kind */
    enum descriptor_operation operation;
    /* One of these errno values, 0 where it works; kernels and their configurations differ. */
    size_t n_errors;
    int errors[DESCRIPTOR_ERRORS_MAX];
    const char *harmless; /* why the stranger gains nothing by it */
    const char *source;   /* where the kernel has it, Linux 5.10 to today */
};

const char *descriptor_kind_name(enum descriptor_kind kind);
const char *descriptor_operation_name(enum descriptor_operation operation);
/* The row; NULL where there is none, which a unit test rules out. */
const struct descriptor_power *descriptor_power_find(enum descriptor_kind kind, enum descriptor_operation operation);

#endif
