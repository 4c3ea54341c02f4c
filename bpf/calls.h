/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that control the BPF program (bpf/layout.h) and need privileges. A process either makes these calls itself
 * (bpf/loader.h) or asks its opener to make them (opener/client.h).
 *
 * There is one BPF program, or two while a new one replaces it: start() loads a program that does not count yet and
 * copies the cgroups' slots to it; set_cpu() and assign() apply to the program that was started last; attach() stops
 * the previous program. All calls return 0 or -errno.
 */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/layout.h"
#include "bpf/off-cpu.h"

/*
 * Descriptors of the BPF program's maps, for mmap(2) with PROT_READ; the caller closes them. The maps are frozen: only
 * BPF programs can write to them.
 */
struct bpf_maps {
    int counts;  /* entries of 8 * (events + 2 * groups) bytes, at index cpu * slots + slot */
    int records; /* one struct bpf_record for each CPU */
};

/* Parameters of a program that measures off-CPU time. */
struct off_cpu_shape {
    uint32_t cpus;         /* number of possible CPUs: the highest CPU number plus 1 */
    uint64_t threshold_ns; /* shorter waits are not sampled */
};

/* Maximum number of off-CPU programs that run at the same time. */
#define OFF_CPU_PROGRAMS_MAX 4

/* The error message of start() if there is no event to count. */
#define BPF_NO_EVENTS "none of the events of collectors.cgroup.groups can be opened"

/* Time limit of start() in seconds; long enough for a slow board. */
#define BPF_START_MAX_S 20

/* A zeroed struct means that this process cannot use BPF programs. */
struct bpf_calls {
    void *owner; /* the first argument of every call */
    /*
     * Loads the program. On failure *error gives the cause and the remedy. Returns -ENOSYS if libbpf is not installed
     * or perfcountd was built without it; -EPERM without the privilege or under lockdown; -ENOENT if the kernel lacks a
     * hook, or has no BTF and the offsets in its structs could not be found; -ENOMEM, on kernels before 5.11 also
     * because of RLIMIT_MEMLOCK; -E2BIG for too many events or slots, or no events; -ETIMEDOUT.
     */
    int (*start)(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error);
    /*
     * Sets the events of a CPU. Both arrays have shape.events elements; fds[i] is the counter of a SOURCE_READ event,
     * and -1 for any other. All events are SOURCE_NONE if the CPU has been removed. Unless the CPU is offline, the
     * counts of the previous events are first added to the slot that runs there.
     */
    int (*set_cpu)(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds);
    /*
     * With `attached`, attaches the program and makes every CPU look up the cgroup of its running task. If the program
     * replaces another one, the old program hands over CPU by CPU, so that each CPU is always counted by exactly one of
     * them. Afterwards the maps of the old program contain all its counts, so they can be read without the counters.
     * After an error, the old program may have stopped. Without `attached`, detaches the program while counting is
     * paused. The caller stops the counters before it detaches the program and starts them after it attaches it again,
     * so that nothing is counted in between.
     */
    int (*attach)(void *owner, bool attached);
    /*
     * Assigns a slot to the cgroup of an open directory; *ret_id is the cgroup's id. The slot is used from the next
     * flush() on. Returns -EOPNOTSUPP if the directory is not in cgroup v2.
     */
    int (*assign)(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id);
    /*
     * Withdraws the slot of the cgroup with this id, with effect from the next flush(). The counts of tasks that are
     * still in the cgroup then go to an ancestor. Returns -ENOENT if the id has no slot.
     */
    int (*withdraw)(void *owner, uint64_t id);
    /* Makes every CPU look up its running task and the task's slot again. */
    int (*flush)(void *owner);
    /* Stops all programs that count cgroups, attached or not. */
    void (*stop)(void *owner);
    /*
     * Whether the process that holds the program has exited. In that case the program is gone too, and the records no
     * longer change. The pointer is NULL if that cannot happen.
     */
    bool (*is_lost)(void *owner);

    /*
     * Loads and attaches a program that measures off-CPU time; the programs that count cgroups are not affected. No CPU
     * is sampled yet. Returns the errors of start(); -EBUSY if there are OFF_CPU_PROGRAMS_MAX already; -ENOENT if the
     * kernel lacks a tracepoint.
     */
    int (*off_cpu_start)(void *owner, const struct off_cpu_shape *shape, uint32_t *ret_number, struct error *error);
    /*
     * Starts to sample a CPU. `samples` and `alarm` are open and mapped "bpf-output" events of that CPU. The ring of
     * `alarm` must be overwritable, and each of its records must wake waiters (attr.wakeup_events 1).
     */
    int (*off_cpu_set_cpu)(void *owner, uint32_t number, unsigned cpu, int samples, int alarm);
    /* Reads the totals of all CPUs since the program was started. */
    int (*off_cpu_read)(void *owner, uint32_t number, struct off_cpu_totals *ret);
    /* Stops the program. */
    void (*off_cpu_stop)(void *owner, uint32_t number);
};

/* `bpf` may be NULL in both functions. */
static inline bool off_cpu_is_available(const struct bpf_calls *bpf)
{
    return bpf && bpf->off_cpu_start;
}

static inline bool bpf_is_available(const struct bpf_calls *bpf)
{
    return bpf && bpf->start;
}

static inline uint32_t bpf_words(const struct bpf_shape *shape)
{
    return shape->events + 2 * shape->groups;
}

#endif
