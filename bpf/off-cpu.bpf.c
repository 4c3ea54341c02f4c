/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Measures how long tasks wait off CPU, and samples the stacks of long waits.
 *
 * A task keeps its stack while it waits, so the stack is walked when the task runs again, and only if the wait was
 * long. Walking it at each of 50,000 switches a second would take a quarter of a CPU.
 *
 * The kernel samples only the current task, and at the switch the next task is not the current one yet. So the program
 * that runs at the switch writes a record to a ring that nobody reads. The record's wakeup raises an interrupt on this
 * CPU (irq_work), which is handled right after the switch, on the stack of the task that now runs. The program that
 * runs at that interrupt writes the sample. This needs neither kprobes, which many kernels lack, nor kernel type
 * information (BTF).
 *
 * The fields of the tracepoints are at the same offsets in Linux 5.10, 6.1 and 6.18.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "bpf/off-cpu.h"

/* A single struct, because the compiler may reorder separate constants. */
const volatile struct off_cpu_constants constants = {.threshold_ns = 1};

/* When the task left the CPU and when it was woken, in ns of CLOCK_MONOTONIC. `left_ns` is 0 while the task runs. */
struct task {
    __u64 left_ns, woken_ns;
    __u32 state;
    __u32 zero;
};

/* The wait of the task that was just switched to, until its stack is sampled. `tid` is 0 if there is none. */
struct arrival {
    struct off_cpu_wait wait;
    __u32 tid;
    __u32 zero;
};

/* Key: thread id. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, __u32);
    __type(value, struct task);
    __uint(max_entries, OFF_CPU_TASKS_MAX);
} tasks SEC(".maps");

/* Keyed by CPU: the event that receives the samples, and the event whose records only raise the interrupt. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __uint(max_entries, 1);
} samples SEC(".maps"), alarms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, __u32);
    __type(value, struct arrival);
    __uint(max_entries, 1);
} arrivals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, __u32);
    __type(value, struct off_cpu_totals);
    __uint(max_entries, 1);
} totals SEC(".maps");

/* --- tasks --- */

/* prev_state of sched_switch: bits of TASK_REPORT (include/linux/sched.h), and one more if the task was preempted. */
#define STATE_SLEEPING 0x01
#define STATE_UNINTERRUPTIBLE 0x02
#define STATE_STOPPED (0x04 | 0x08)
#define STATE_ENDED (0x10 | 0x20)
#define STATE_UNUSED (0x40 | 0x80) /* parked and idle kernel threads */

static enum off_cpu_state state_of(__s64 bits)
{
    return bits & STATE_SLEEPING          ? OFF_CPU_SLEEPING
           : bits & STATE_UNINTERRUPTIBLE ? OFF_CPU_UNINTERRUPTIBLE
           : bits & STATE_STOPPED         ? OFF_CPU_STOPPED
                                          : OFF_CPU_RUNNABLE;
}

static void leave(__u32 tid, __s64 bits, __u64 now, struct off_cpu_totals *total)
{
    struct task *task = bpf_map_lookup_elem(&tasks, &tid);

    if (bits & STATE_ENDED) {
        if (task)
            bpf_map_delete_elem(&tasks, &tid);
        return;
    }
    if (task) {
        task->left_ns = bits & STATE_UNUSED ? 0 : now;
        task->state = state_of(bits);
    } else if (!(bits & STATE_UNUSED)) {
        const struct task new = {.left_ns = now, .state = state_of(bits)};
        if (bpf_map_update_elem(&tasks, &tid, &new, BPF_ANY) < 0)
            total->missed++;
    }
}

/* Returns whether the wait was longer than the threshold. */
static bool arrive(__u32 tid, __u64 now, struct off_cpu_totals *total, struct off_cpu_wait *ret)
{
    struct task *task = bpf_map_lookup_elem(&tasks, &tid);

    if (!task || !task->left_ns)
        return false;
    __u64 left = task->left_ns, woken = task->woken_ns;
    task->left_ns = 0;
    ret->ns = now - left;
    ret->state = task->state;
    ret->runnable_ns = ret->state == OFF_CPU_RUNNABLE ? ret->ns : woken > left && woken < now ? now - woken : 0;
    if (ret->ns >= constants.threshold_ns)
        return true;
    total->brief++;
    total->brief_ns += ret->ns;
    return false;
}

#define ENOENT 2

/* --- programs --- */

/* Programs return this, so that other users of the tracepoint, such as perf, still get their records. */
#define PASS 1

struct switch_fields {
    __u64 common;
    char prev_comm[16];
    __s32 prev_pid, prev_prio;
    __s64 prev_state;
    char next_comm[16];
    __s32 next_pid, next_prio;
};

struct wakeup_fields {
    __u64 common;
    char comm[16];
    __s32 pid;
};

SEC("tracepoint/sched/sched_switch")
int off_cpu_switch(struct switch_fields *fields)
{
    const __u32 key = 0;
    struct off_cpu_totals *total = bpf_map_lookup_elem(&totals, &key);
    struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);
    struct off_cpu_wait wait = {0};
    __u64 now = bpf_ktime_get_ns();

    if (!total || !arrival)
        return PASS;
    if (fields->prev_pid) /* the idle task never waits */
        leave((__u32)fields->prev_pid, fields->prev_state, now, total);
    if (!fields->next_pid || !arrive((__u32)fields->next_pid, now, total, &wait))
        return PASS;
    total->missed += arrival->tid != 0;
    arrival->wait = wait;
    arrival->tid = (__u32)fields->next_pid;
    long r = bpf_perf_event_output(fields, &alarms, BPF_F_CURRENT_CPU, &now, sizeof(now));
    if (r < 0)
        arrival->tid = 0;
    if (r < 0 && r != -ENOENT) /* -ENOENT means that this CPU is not sampled */
        total->missed++;
    return PASS;
}

SEC("tracepoint/sched/sched_wakeup")
int off_cpu_wakeup(struct wakeup_fields *fields)
{
    __u32 tid = (__u32)fields->pid;
    struct task *task = bpf_map_lookup_elem(&tasks, &tid);

    if (task)
        task->woken_ns = bpf_ktime_get_ns();
    return PASS;
}

/* Each architecture has its own irq_work tracepoint (bpf/loader.c). */
SEC("tracepoint/irq/work")
int off_cpu_sample(void *fields)
{
    const __u32 key = 0;
    struct off_cpu_totals *total = bpf_map_lookup_elem(&totals, &key);
    struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);

    if (!total || !arrival || !arrival->tid)
        return PASS;
    struct off_cpu_wait wait = arrival->wait;
    bool is_current = arrival->tid == (__u32)bpf_get_current_pid_tgid();
    arrival->tid = 0;
    if (!is_current || bpf_perf_event_output(fields, &samples, BPF_F_CURRENT_CPU, &wait, sizeof(wait)) < 0)
        total->missed++;
    return PASS;
}

char licence[] SEC("license") = "GPL";
