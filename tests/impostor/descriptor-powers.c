/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/impostor/descriptor-powers.h"

#include "base/util.h"

#define COUNTER (1U << DESCRIPTOR_COUNTER)
#define TRACEPOINT (1U << DESCRIPTOR_TRACEPOINT)
#define BREAKPOINT (1U << DESCRIPTOR_BREAKPOINT)
#define SAMPLER (1U << DESCRIPTOR_SAMPLER)
#define SAMPLED_TRACEPOINT (1U << DESCRIPTOR_SAMPLED_TRACEPOINT)
#define SAMPLING (SAMPLER | SAMPLED_TRACEPOINT)
#define SEALED (TRACEPOINT | SAMPLED_TRACEPOINT)
#define EVENTS (COUNTER | TRACEPOINT | BREAKPOINT | SAMPLING)
#define OF_BPF (1U << DESCRIPTOR_BPF)
#define ALL (EVENTS | OF_BPF)

#define ERRORS(...) .n_errors = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .errors = {__VA_ARGS__}
#define CORE "kernel/events/core.c: "
#define BPF "kernel/bpf/syscall.c: "
/* A row for a perf event's ioctl(2) request, tried on a BPF map. */
#define NO_REQUEST(operation, ...)                                                                                     \
    {                                                                                                                  \
        OF_BPF, operation, ERRORS(ENOTTY, __VA_ARGS__), "A map does not support ioctl(2).", BPF "bpf_map_fops"         \
    }
/* A row for mapping a BPF map writably. */
#define NO_WRITING(operation)                                                                                          \
    {                                                                                                                  \
        OF_BPF, operation, ERRORS(EPERM), "The map is frozen, so the kernel only allows read-only mappings.",          \
            BPF "bpf_map_mmap()"                                                                                       \
    }
/* NO_MAP is a row for a bpf(2) map command, tried on an event. NO_CHANGE is a row for a command that would change a
 * map. */
#define NO_MAP(operation, ...)                                                                                         \
    {                                                                                                                  \
        EVENTS, operation, ERRORS(EINVAL, EPERM, ENOSYS, __VA_ARGS__), "An event is not a map.", BPF "__bpf_map_get()" \
    }
#define NO_CHANGE(operation, ...)                                                                                      \
    {                                                                                                                  \
        OF_BPF, operation, ERRORS(EPERM, ENOSYS, __VA_ARGS__),                                                         \
            "The opener has frozen the map: no system call by any process can change it any more.",                    \
            BPF "map_get_sys_perms()"                                                                                  \
    }

static const struct descriptor_power powers[] = {
    {EVENTS, OPERATION_ENABLE, ERRORS(0), "The event is the daemon's own; it counts what it was opened for.",
     CORE "_perf_ioctl()"},
    {EVENTS, OPERATION_DISABLE, ERRORS(0), "The daemon counts less, which it can do by itself.", CORE "_perf_ioctl()"},
    {EVENTS, OPERATION_RESET, ERRORS(0), "The daemon's own count restarts at 0.", CORE "_perf_event_reset()"},
    {EVENTS & ~SAMPLING, OPERATION_REFRESH, ERRORS(EINVAL), "The kernel refuses it for an event without samples.",
     CORE "_perf_event_refresh()"},
    {SAMPLING, OPERATION_REFRESH, ERRORS(0, EINVAL),
     "The event stops after that many samples. The kernel refuses this if children inherit the event.",
     CORE "_perf_event_refresh()"},
    {EVENTS & ~SAMPLING, OPERATION_PERIOD, ERRORS(EINVAL), "The kernel refuses it for an event without samples.",
     CORE "_perf_event_period()"},
    {SAMPLING, OPERATION_PERIOD, ERRORS(0),
     "More samples cost CPU time, up to kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent, at "
     "which the kernel throttles the event.",
     CORE "_perf_event_period(), __perf_event_account_interrupt()"},
    {EVENTS, OPERATION_SET_OUTPUT, ERRORS(0, EINVAL, EACCES),
     "Any records go to the stranger's ring buffer: the same records that mapping the descriptor shows. The kernel "
     "refuses ring buffers of other CPUs and clocks.",
     CORE "perf_event_set_output()"},
    {EVENTS, OPERATION_BE_OUTPUT, ERRORS(EINVAL, EACCES),
     "Without a ring buffer, the event cannot be an output. If the daemon has mapped one, it receives the stranger's "
     "own records, whose id the daemon does not know, so it skips them.",
     CORE "perf_event_set_output()"},
    {EVENTS & ~SEALED, OPERATION_SET_FILTER, ERRORS(EINVAL), "These events have no field filter.",
     CORE "perf_event_set_filter()"},
    {SEALED, OPERATION_SET_FILTER, ERRORS(EEXIST),
     "The opener has set a filter that is always true, and the kernel accepts no second filter.",
     "kernel/trace/trace_events_filter.c: ftrace_profile_set_filter()"},
    {EVENTS & ~SEALED, OPERATION_SET_TEXT_FILTER, ERRORS(EINVAL), "These events have no field filter.",
     CORE "perf_event_set_filter()"},
    {SEALED, OPERATION_SET_TEXT_FILTER, ERRORS(EEXIST),
     "The same. With such a filter the kernel would read memory at addresses that any program chooses, and the count "
     "would reveal the contents.",
     "kernel/trace/trace_events_filter.c: ftrace_profile_set_filter(), filter_pred_pchar()"},
    {EVENTS & ~SEALED, OPERATION_SET_ADDRESS_FILTER, ERRORS(EINVAL),
     "Only tracing PMUs have address filters, and the opener opens none of their events.", CORE "has_addr_filter()"},
    {SEALED, OPERATION_SET_ADDRESS_FILTER, ERRORS(EEXIST), "It is sealed against this filter too.",
     CORE "perf_event_set_filter()"},
    {EVENTS, OPERATION_ID, ERRORS(0), "The number reveals nothing.", CORE "primary_event_id()"},
    {EVENTS, OPERATION_SET_BPF, ERRORS(EBADF, EINVAL, EOPNOTSUPP), "No BPF program is supplied.", CORE "_perf_ioctl()"},
    {EVENTS, OPERATION_SET_LOADED_BPF, ERRORS(EPERM, EINVAL, ENOSYS),
     "The kernel loads programs for events only with CAP_PERFMON and CAP_BPF; a socket filter, which it may load for "
     "anybody, has the wrong type.",
     "kernel/bpf/syscall.c: bpf_prog_load(); " CORE "perf_event_set_bpf_prog()"},
    {EVENTS, OPERATION_QUERY_BPF, ERRORS(EPERM, EOPNOTSUPP, EINVAL), "The kernel requires CAP_PERFMON.",
     "kernel/trace/bpf_trace.c: perf_event_query_prog_array()"},
    {EVENTS, OPERATION_PAUSE_OUTPUT, ERRORS(0), "The daemon misses records from its own ring buffer.",
     CORE "_perf_ioctl(), rb_toggle_paused()"},
    {EVENTS & ~BREAKPOINT, OPERATION_MODIFY, ERRORS(EOPNOTSUPP, EINVAL),
     "The kernel modifies breakpoints and nothing else.", CORE "perf_event_modify_attr()"},
    {BREAKPOINT, OPERATION_MODIFY, ERRORS(0),
     "This is not harmless: the stranger can move the breakpoint to any user-space address, and learns how often "
     "others' programs reach it. This is why breakpoints require opener.breakpoints.",
     CORE "perf_event_modify_breakpoint()"},
    {EVENTS, OPERATION_MODIFY_TYPE, ERRORS(EINVAL), "The kernel keeps the type.", CORE "perf_event_modify_attr()"},
    {EVENTS & ~BREAKPOINT, OPERATION_MODIFY_KERNEL, ERRORS(EOPNOTSUPP, EINVAL),
     "The kernel modifies breakpoints and nothing else.", CORE "perf_event_modify_attr()"},
    {BREAKPOINT, OPERATION_MODIFY_KERNEL, ERRORS(EPERM, EINVAL),
     "The kernel requires CAP_SYS_ADMIN to move a breakpoint to one of its own addresses.",
     "kernel/events/hw_breakpoint.c: hw_breakpoint_parse()"},
    {EVENTS, OPERATION_MAP_PAGE, ERRORS(0),
     "The page has the count and its times. On x86, the process may then execute rdpmc, as any process with an event "
     "of its own may.",
     CORE "perf_mmap()"},
    {EVENTS & ~SAMPLING, OPERATION_MAP_RING, ERRORS(0), "The ring buffer stays empty, since nothing is sampled.",
     CORE "perf_mmap()"},
    {SAMPLING, OPERATION_MAP_RING, ERRORS(0, EINVAL),
     "The stranger reads the samples that the operator allowed the daemon to take: what a CPU executes, in the kernel "
     "too, in which process, and the mappings of processes; but no registers, stacks, data or data addresses. This is "
     "the price of sampler.enabled, and it lasts as long as the descriptor, even after the service has stopped.",
     CORE "perf_mmap(), perf_output_sample()"},
    {EVENTS, OPERATION_MAP_AUX, ERRORS(EOPNOTSUPP, EINVAL, EACCES),
     "Only tracing PMUs have an AUX area, and the opener opens none of their events.",
     "kernel/events/ring_buffer.c: rb_alloc_aux()"},
    {EVENTS, OPERATION_READ, ERRORS(0), "This is the count.", CORE "perf_read()"},
    {ALL, OPERATION_WRITE, ERRORS(EINVAL, EBADF), "Neither events nor maps can be written to.", CORE "perf_fops"},
    {ALL, OPERATION_POLL, ERRORS(0), "It reveals only whether there are records.", CORE "perf_poll()"},
    {ALL, OPERATION_SIGNAL, ERRORS(0),
     "Signals are sent with the ids of the process that set the owner, so they reach only its own processes.",
     "fs/fcntl.c: sigio_perm()"},
    {ALL, OPERATION_REOPEN, ERRORS(ENXIO, EACCES), "The descriptor has no file that could be opened again.",
     "fs/anon_inodes.c, fs/inode.c: no_open()"},
    {EVENTS, OPERATION_LEAD, ERRORS(EINVAL, EACCES, EPERM),
     "The kernel refuses members of another task or CPU, and events of a CPU where the stranger may not open any.",
     CORE "perf_event_open()"},
    NO_REQUEST(OPERATION_ENABLE),
    NO_REQUEST(OPERATION_DISABLE),
    NO_REQUEST(OPERATION_RESET),
    NO_REQUEST(OPERATION_REFRESH),
    NO_REQUEST(OPERATION_PERIOD),
    NO_REQUEST(OPERATION_SET_OUTPUT, EACCES, EPERM),
    NO_REQUEST(OPERATION_SET_FILTER),
    NO_REQUEST(OPERATION_SET_TEXT_FILTER),
    NO_REQUEST(OPERATION_SET_ADDRESS_FILTER),
    NO_REQUEST(OPERATION_ID),
    NO_REQUEST(OPERATION_SET_BPF),
    NO_REQUEST(OPERATION_SET_LOADED_BPF, EPERM, ENOSYS),
    NO_REQUEST(OPERATION_QUERY_BPF),
    NO_REQUEST(OPERATION_MODIFY),
    NO_REQUEST(OPERATION_MODIFY_TYPE),
    NO_REQUEST(OPERATION_MODIFY_KERNEL),
    NO_WRITING(OPERATION_PAUSE_OUTPUT),
    NO_WRITING(OPERATION_MAP_PAGE),
    NO_WRITING(OPERATION_MAP_RING),
    NO_WRITING(OPERATION_MAP_AUX),
    {OF_BPF, OPERATION_BE_OUTPUT, ERRORS(EBADF, EINVAL, EACCES, EPERM), "A map is not an event.",
     CORE "perf_fget_light()"},
    {OF_BPF, OPERATION_LEAD, ERRORS(EBADF, EACCES, EPERM), "A map is not an event.", CORE "perf_fget_light()"},
    {OF_BPF, OPERATION_READ, ERRORS(EINVAL, EBADF), "A map cannot be read like a file.", BPF "bpf_dummy_read()"},
    {EVENTS, OPERATION_MAP_READABLE, ERRORS(0), "This is the page that anyone who has the descriptor may map.",
     CORE "perf_mmap()"},
    {OF_BPF, OPERATION_MAP_READABLE, ERRORS(0),
     "The stranger reads the counts of every watched cgroup and, as long as the service counts, which of them runs on "
     "a CPU and since when, by cgroup id. This is the price of the BPF engine, and the memory lasts as long as the "
     "descriptor.",
     BPF "bpf_map_mmap()"},
    {EVENTS, OPERATION_MAP_PROTECT, ERRORS(0), "The same as mapping the page for writing.", CORE "perf_mmap()"},
    {OF_BPF, OPERATION_MAP_PROTECT, ERRORS(EACCES), "A mapping of a frozen map stays read-only.",
     BPF "bpf_map_mmap(), which clears VM_MAYWRITE"},
    {ALL, OPERATION_MAP_PRIVATE, ERRORS(EINVAL), "The kernel allows private mappings of neither.",
     BPF "bpf_map_mmap(); " CORE "perf_mmap()"},
    NO_MAP(OPERATION_ELEMENT_LOOK_UP),
    {OF_BPF, OPERATION_ELEMENT_LOOK_UP, ERRORS(0, EPERM, ENOSYS), "The mapping shows the same.",
     BPF "map_lookup_elem()"},
    NO_MAP(OPERATION_ELEMENT_UPDATE),
    NO_CHANGE(OPERATION_ELEMENT_UPDATE),
    NO_MAP(OPERATION_ELEMENTS_UPDATE),
    NO_CHANGE(OPERATION_ELEMENTS_UPDATE),
    NO_MAP(OPERATION_ELEMENT_DELETE),
    NO_CHANGE(OPERATION_ELEMENT_DELETE),
    NO_MAP(OPERATION_FREEZE),
    NO_CHANGE(OPERATION_FREEZE, EBUSY),
    NO_MAP(OPERATION_INFORM),
    {OF_BPF, OPERATION_INFORM, ERRORS(0, EPERM, ENOSYS), "This is the map's size, name and id.",
     BPF "bpf_map_get_info_by_fd()"},
    {ALL, OPERATION_FIND, ERRORS(EPERM, ENOSYS), "The kernel requires CAP_SYS_ADMIN to find maps by their ids.",
     BPF "bpf_map_get_fd_by_id()"},
    NO_MAP(OPERATION_PIN, EACCES, ENOENT),
    {OF_BPF, OPERATION_PIN, ERRORS(0, EPERM, EACCES, ENOENT, ENOSYS),
     "If the stranger has a directory in a BPF file system, a pin keeps the map's memory, as the descriptor does, and "
     "the opener does not count it. Newer kernels let only root mount a BPF file system.",
     "kernel/bpf/inode.c: bpf_obj_do_pin()"},
    NO_MAP(OPERATION_PROGRAM, EACCES),
    {OF_BPF, OPERATION_PROGRAM, ERRORS(EPERM, ENOSYS, 0),
     "If kernel.unprivileged_bpf_disabled is 0, anybody may load a socket filter, and freezing does not affect "
     "programs. The filter can falsify this BPF program's counts, as the compromised daemon can itself; the BPF "
     "program checks each number that it takes from the map, and the next one has maps of its own.",
     "kernel/bpf/verifier.c: check_map_access_type()"},
};

const char *descriptor_kind_name(enum descriptor_kind kind)
{
    static const char *const names[N_DESCRIPTOR_KINDS] = {
        [DESCRIPTOR_COUNTER] = "counter",
        [DESCRIPTOR_TRACEPOINT] = "tracepoint",
        [DESCRIPTOR_BREAKPOINT] = "breakpoint",
        [DESCRIPTOR_SAMPLER] = "sampler",
        [DESCRIPTOR_SAMPLED_TRACEPOINT] = "sampled tracepoint",
        [DESCRIPTOR_BPF] = "bpf",
    };

    return names[kind];
}

static const char *const operation_names[N_DESCRIPTOR_OPERATIONS] = {
    [OPERATION_ENABLE] = "ENABLE",
    [OPERATION_DISABLE] = "DISABLE",
    [OPERATION_RESET] = "RESET",
    [OPERATION_REFRESH] = "REFRESH",
    [OPERATION_PERIOD] = "PERIOD",
    [OPERATION_SET_OUTPUT] = "SET_OUTPUT to a stranger's ring",
    [OPERATION_BE_OUTPUT] = "SET_OUTPUT of a stranger's event to it",
    [OPERATION_SET_FILTER] = "SET_FILTER of numbers",
    [OPERATION_SET_TEXT_FILTER] = "SET_FILTER of texts",
    [OPERATION_SET_ADDRESS_FILTER] = "SET_FILTER of addresses",
    [OPERATION_ID] = "ID",
    [OPERATION_SET_BPF] = "SET_BPF without a program",
    [OPERATION_SET_LOADED_BPF] = "SET_BPF with a stranger's program",
    [OPERATION_QUERY_BPF] = "QUERY_BPF",
    [OPERATION_PAUSE_OUTPUT] = "PAUSE_OUTPUT",
    [OPERATION_MODIFY] = "MODIFY_ATTRIBUTES, another address",
    [OPERATION_MODIFY_TYPE] = "MODIFY_ATTRIBUTES, another type",
    [OPERATION_MODIFY_KERNEL] = "MODIFY_ATTRIBUTES, a kernel address",
    [OPERATION_MAP_PAGE] = "mmap of the page",
    [OPERATION_MAP_RING] = "mmap of a ring",
    [OPERATION_MAP_AUX] = "mmap of an AUX area",
    [OPERATION_READ] = "read",
    [OPERATION_WRITE] = "write",
    [OPERATION_POLL] = "poll",
    [OPERATION_SIGNAL] = "F_SETOWN, F_SETSIG and O_ASYNC towards root's process",
    [OPERATION_REOPEN] = "opening /proc/self/fd/N",
    [OPERATION_LEAD] = "leading a stranger's event",
    [OPERATION_MAP_READABLE] = "mmap for reading",
    [OPERATION_MAP_PROTECT] = "mprotect for writing",
    [OPERATION_MAP_PRIVATE] = "private mmap",
    [OPERATION_ELEMENT_LOOK_UP] = "BPF_MAP_LOOKUP_ELEM",
    [OPERATION_ELEMENT_UPDATE] = "BPF_MAP_UPDATE_ELEM",
    [OPERATION_ELEMENTS_UPDATE] = "BPF_MAP_UPDATE_BATCH",
    [OPERATION_ELEMENT_DELETE] = "BPF_MAP_DELETE_ELEM",
    [OPERATION_FREEZE] = "BPF_MAP_FREEZE",
    [OPERATION_INFORM] = "BPF_OBJ_GET_INFO_BY_FD",
    [OPERATION_FIND] = "BPF_MAP_GET_FD_BY_ID",
    [OPERATION_PIN] = "BPF_OBJ_PIN",
    [OPERATION_PROGRAM] = "a stranger's program that writes to it",
};

const char *descriptor_operation_name(enum descriptor_operation operation)
{
    return operation_names[operation];
}

const struct descriptor_power *descriptor_power_find(enum descriptor_kind kind, enum descriptor_operation operation)
{
    for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
        if (powers[i].kinds >> kind & 1 && powers[i].operation == operation)
            return &powers[i];
    return NULL;
}
